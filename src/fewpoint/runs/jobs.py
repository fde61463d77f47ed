"""A job from its plain values to a run: the one way for the command line, a batch, the page and Python."""

import json
import logging
import time
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from fewpoint.core import ImageSequence, Listener, Message, PointSet, Result, ignore
from fewpoint.core.doubts import doubt_clicks, refuse_blank_frames
from fewpoint.core.given import need, need_path
from fewpoint.core.job import EVERY, Job, PlainPoints
from fewpoint.core.progress import Event, WorkGoesOn, logging_events
from fewpoint.core.stopping import stoppable
from fewpoint.errors import InputError
from fewpoint.io.formats import Outputs
from fewpoint.io.images import read_sequence
from fewpoint.io.jobs import settle_job
from fewpoint.io.points import describe_files, read_point_files
from fewpoint.io.runs import FOUND_FILE, LOOK_FILE, STAGES_FOLDER, RunFolder, RunIdentity
from fewpoint.methods.registry import is_own
from fewpoint.methods.resolve import depends_on_device, resolve_settings
from fewpoint.pipeline.model import load_model
from fewpoint.pipeline.task import Task
from fewpoint.runs.previous import load_previous
from fewpoint.runs.provenance import ASKED, describe_job
from fewpoint.runs.words import read_words

if TYPE_CHECKING:
    from fewpoint.runs.partial import LastLook


logger = logging.getLogger(__name__)


class StoppedError(Exception):
    """Raised by a listener to stop a run early."""


OpenFolder = Callable[[Path, RunIdentity], RunFolder]


def run_job(job: Job, out: str | Path, listener: Listener = ignore, open_folder: OpenFolder = RunFolder.open) -> Result:
    """Segment into a run folder; an unfinished run of the same job in it is continued.

    job: what the command line, a row of a batch and the page are turned into; Job.from_table reads one from JSON.
    out: the folder. listener: gets every event, such as StepsTaken; it may raise to stop.
    open_folder: takes the folder and the run's identity, for callers that wait for one or replace another run in it.
    """
    began, folder_path = time.perf_counter(), need_path(out, "out")
    task = read_job(need(job, Job, "job", "a Job"))
    with open_folder(folder_path, task.identity()) as folder:
        _note_asked(job, folder)
        return _run_in(job, task, folder, listener, began)


def run_until_stopped(job: Job, out: Path, listener: Listener, look: "LastLook") -> tuple[Result | None, bool]:
    """run_job with a listener that may raise StoppedError: the result, and whether the run was stopped.

    look: gets every event before the listener does; what it last saw, and what groups of objects had found by then, is
    the result of a run that was stopped, None if there is nothing.
    """
    from fewpoint.runs.partial import finish_early  # loads torch

    def hear(event: Event) -> None:
        look(event)
        listener(event)

    began, is_stopped = time.perf_counter(), False
    try:
        with stoppable(lambda: listener(WorkGoesOn())):
            task = read_job(job)
            task.sequence_hash  # noqa: B018 - reads all frames, once
    except StoppedError:
        if not holds_looks(out):
            return None, True
        is_stopped, task = True, read_job(job)
    with RunFolder.open(out, task.identity()) as folder:
        _note_asked(job, folder)
        try:
            if is_stopped:
                raise StoppedError
            return _run_in(job, task, folder, hear, began), False
        except StoppedError:
            look.recall(folder, task.sequence.size)
            return (finish_early(task, folder, look) if look.saw_something else None), True


def holds_looks(out: Path) -> bool:
    """Whether a run that was begun in a folder has seen anything that is worth keeping if it is stopped."""
    return any(next(out.glob(f"{STAGES_FOLDER}/**/{name}"), None) for name in (LOOK_FILE, FOUND_FILE))


def _note_asked(job: Job, folder: RunFolder) -> None:
    """Write into the manifest what a run that begins was asked."""
    if ASKED not in folder.manifest and not folder.finished:
        folder.write_manifest("running", {ASKED: describe_job(settle_job(job), folder.path)})


def _run_in(job: Job, task: Task, folder: RunFolder, listener: Listener, began: float) -> Result:
    from fewpoint.runs.runner import run_task  # loads torch

    listener = logging_events(listener, logger)
    tell_notes(task.sequence, listener)
    if isinstance(job.points, tuple):
        listener(Message(describe_files(job.point_files)))
    for doubt in doubt_clicks(task.sequence, task.points):
        listener(Message(doubt, warning=True))
    result = run_task(task, folder, listener, began)
    for each in result.objects:
        if each.history.selected_by:
            selected, by = each.history.selected_epoch, each.history.selected_by
            logger.info("priors%s: epoch %d was selected by %s", f" of {each.name}" if each.name else "", selected, by)
    return result


def read_job(job: Job, sequence: ImageSequence | None = None) -> Task:
    """Read everything that a job names and check that it fits together.

    sequence: the frames, if the job names no input.
    """
    job = settle_job(job)
    if depends_on_device(job):
        resolve_settings(job)  # what makes no sense is told before torch is loaded
    previous = None if job.refine is None else load_previous(job.refine)
    settings = resolve_settings(job, find_kind(job), previous and previous.settings)
    sequence = _read_frames(job) if sequence is None else sequence
    bounds = {name: bound.measure(len(sequence), sequence.size) for name, bound in job.bounds}
    points, words = read_words(job, _read_points(job, sequence), previous, sequence)
    refuse_blank_frames(sequence, points)
    task = Task(
        sequence,
        points,
        bounds.pop(EVERY, None),
        settings,
        job.seed or 0,
        job.device,
        Outputs(**vars(job.outputs)),
        previous,
        None if job.warm_start is None else load_model(job.warm_start),
        tuple(sorted(bounds.items())),
        "" if is_own(job.method) else str(job.method),
        words=words,
        witness=job.witness or "",
    )
    task.check_previous()
    logger.info(
        "read %s: %d frames of %d x %d, %d points on %s; method %s, seed %d",
        job.input or "frames in memory",
        len(sequence),
        *sequence.size,
        len(points),
        ", ".join(filter(None, points.object_names)) or "one object",
        task.method,
        task.seed,
    )
    logger.debug("settings: %s", json.dumps(task.settings_table()))
    return task


def find_kind(job: Job) -> str:
    """The kind of device that a job runs on here; torch is loaded only if the settings depend on it."""
    if not depends_on_device(job):
        return job.device
    from fewpoint.learning.devices import choose_device

    return choose_device(job.device).type


def tell_notes(sequence: ImageSequence, listener: Listener) -> None:
    """Pass on what a user should know about the input."""
    for note in sequence.notes:
        listener(Message(note, warning=True))


def _read_points(job: Job, sequence: ImageSequence) -> PointSet | None:
    """The points that a job names or holds; None if outlined frames say where its objects are."""
    if isinstance(job.points, PlainPoints):
        return job.points.to_points()
    return read_point_files(job.point_files, sequence) if job.points else None


def _read_frames(job: Job) -> ImageSequence:
    if not job.input:
        raise InputError("a job must name its input, this one does not; pass the frames with it")
    reading = job.reading
    return read_sequence(
        job.input, axis=reading.axis, channels=reading.channels, added=reading.added, window=reading.window
    )
