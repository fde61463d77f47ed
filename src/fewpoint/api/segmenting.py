"""Frames and points to masks, and corrections of them: the two calls that train."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from fewpoint.api.given import Bound, Frames, GivenWords, Points, as_bounds, as_points, as_sequence, as_words
from fewpoint.api.watching import Cancel, ProgressCallback, watch
from fewpoint.core import ImageSequence, Listener, PointSet, Result, Words, ignore
from fewpoint.core.doubts import doubt_clicks, refuse_blank_frames
from fewpoint.core.given import need, need_path, need_whole
from fewpoint.core.job import DEVICES, OutputChoice, Value
from fewpoint.core.progress import Message
from fewpoint.core.saying import EVERY, add_words, name_objects, settle_words, spread_words
from fewpoint.errors import InputError, SettingsError
from fewpoint.io.formats import FILES, Outputs
from fewpoint.io.runs import RunFolder
from fewpoint.methods.default import DefaultSettings
from fewpoint.methods.paper import PaperSettings
from fewpoint.methods.registry import OwnSettings, find_settings, is_own, preset
from fewpoint.methods.resolve import change_settings
from fewpoint.pipeline.previous import PreviousRun

if TYPE_CHECKING:
    from fewpoint.pipeline.task import Task

FILM = "mp4"
Told = tuple[tuple[str, Words], ...]  # words by object


@dataclass(frozen=True)
class Saving:
    """What is written into a run folder.

    formats: of the masks, names of `fewpoint info`, "auto" for the input's own, "mp4" for a film.
    probabilities: written too, in the same grid. report: whether a page about the run is written.

    >>> Saving(formats=("nifti", "mp4"))
    Saving(formats=('nifti', 'mp4'), probabilities=False, report=True)
    """

    formats: tuple[str, ...] = ()
    probabilities: bool = False
    report: bool = True

    def __post_init__(self) -> None:
        known = ("auto", *FILES, FILM)
        for name in need(self.formats, (tuple, list), "formats", "a tuple of names"):
            if name not in known:
                raise InputError(f"a format must be one of {', '.join(known)}, got {name!r}")
        need(self.probabilities, bool, "probabilities", "True or False")
        need(self.report, bool, "report", "True or False")

    def to_outputs(self) -> Outputs:
        """The same as the runner takes it."""
        chosen = OutputChoice.of(self.formats, probabilities=self.probabilities)
        return Outputs(**vars(replace(chosen, report=self.report)))


@dataclass(frozen=True, eq=False)
class _Manner:
    """How a run goes and what it leaves, whatever it is to find; arguments of segment and refine."""

    seed: int
    device: str
    witness: str
    out: str | Path | None
    saving: Saving
    listener: Listener

    def __post_init__(self) -> None:
        if need_whole(self.seed, "seed") < 0:
            raise InputError(f"seed must be 0 or above, got {self.seed}")
        if self.device not in DEVICES:
            raise InputError(f"device must be one of {', '.join(DEVICES)}, got {self.device!r}")
        need(self.witness, str, "witness", "the name of a model")
        need(self.saving, Saving, "saving", "a Saving")
        if self.out is not None:
            need_path(self.out, "out")

    def make_task(
        self, sequence: ImageSequence, points: PointSet, settings: Any, words: Told, method: str = ""
    ) -> "Task":
        """A task that says no more than this of what is to be found."""
        from fewpoint.pipeline.task import Task

        given = sequence, points, None, settings, int(self.seed), self.device, self.saving.to_outputs()
        return Task(*given, method=method, words=words, witness=self.witness)

    def run(self, task: "Task") -> Result:
        from fewpoint.runs.runner import run_task  # loads torch

        for note in task.sequence.notes:
            self.listener(Message(note, warning=True))
        for doubt in doubt_clicks(task.sequence, task.points):
            self.listener(Message(doubt, warning=True))
        if self.out is None:
            return run_task(task, listener=self.listener)
        with RunFolder.open(Path(self.out), task.identity()) as run:
            return replace(run_task(task, run, self.listener), sequence=task.sequence)


def segment(  # noqa: PLR0913 - what a user may say
    frames: Frames,
    points: Points | None = None,
    bound: Bound | Mapping[str, Bound] | None = None,
    *,
    words: GivenWords | None = None,
    settings: OwnSettings | str = "auto",
    changes: Mapping[str, Value] | None = None,
    method: str | None = None,
    seed: int = 0,
    device: str = "auto",
    warm_start: str | Path | None = None,
    witness: str = "",
    out: str | Path | None = None,
    saving: Saving = Saving(),
    progress: ProgressCallback | bool | None = None,
    cancel: Cancel | None = None,
    listener: Listener = ignore,
) -> Result:
    """Masks of the clicked object on every frame, or of several objects if the points name several.

    frames: an array (T, H, W) or (T, H, W, C), a file or folder of any format, or an ImageSequence, which read_sequence
    returns for files that need more saying.
    points: rows of frame, y, x; rows by the name of their object; a points file; or a PointSet, which can hold
    negatives and absent frames too. None if outlined frames say where the objects are, or if they come with the frames.
    bound: largest share of a frame that the object covers, a generous guess; or a Box round it where it is largest;
    estimated if it is None. With several objects it applies to each, or by name to some.
    words: what else is known, such as outlined frames; of several objects by name.
    settings: the name of a preset, DefaultSettings or PaperSettings. changes: single settings, such as
    {"warmup.epochs": 20}. method: instead, the name of a method other than fewpoint's own.
    seed: the same seed gives the same masks on a CPU. device: auto, cpu, cuda or mps.
    warm_start: folder or model.npz of a finished run on another sequence of the same kind. witness: an installed
    pretrained model that has a say where it is believed, such as "sam2-tiny".
    out: a run folder, as the command line makes it, which an unfinished run goes on in and refine takes; None for no
    files. saving: what is written there.
    progress: called with a Progress as the run goes; True shows it, None shows it in a notebook. cancel: the run ends
    with CancelledError soon after its is_set() is true, such as that of a threading.Event. listener: gets every event.
    """
    manner = _Manner(seed, device, witness, out, saving, watch(progress, cancel, listener))
    sequence = as_sequence(frames)
    chosen = _choose_settings(settings, method, changes, device)
    bounds, boxes = as_bounds(bound, sequence)
    clicked, said = _settle(as_points(points, frames, sequence), as_words(words), boxes, sequence)
    from fewpoint.pipeline.model import load_model

    task = replace(
        manner.make_task(sequence, clicked, chosen, said, "" if is_own(method) else str(method)),
        bound=bounds.pop(EVERY, None),
        warm_start=None if warm_start is None else load_model(need_path(warm_start, "warm_start")),
        own_bounds=tuple(sorted(bounds.items())),
    )
    return manner.run(task)


def refine(  # noqa: PLR0913 - what a user may say
    previous: str | Path | PreviousRun,
    frames: Frames | None,
    points: Points | None,
    *,
    words: GivenWords | None = None,
    changes: Mapping[str, Value] | None = None,
    seed: int = 0,
    device: str = "auto",
    witness: str = "",
    out: str | Path | None = None,
    saving: Saving = Saving(),
    progress: ProgressCallback | bool | None = None,
    cancel: Cancel | None = None,
    listener: Listener = ignore,
) -> Result:
    """Masks of a finished run, corrected by changed points or words in a fraction of its time.

    previous: the run's folder, such as the out of segment, or what run_and_keep returned with its result. frames: those
    of the run; None to read them from where they were. points: all of them, not only new ones; None if there are none.
    words: likewise, as for segment; None for those that the run was told. changes: to the settings of that run.
    seed, device, witness, out, saving, progress, cancel, listener: as for segment; out can itself be refined.
    """
    from fewpoint.runs.previous import load_previous

    manner = _Manner(seed, device, witness, out, saving, watch(progress, cancel, listener))
    if not isinstance(previous, PreviousRun):
        previous = load_previous(need_path(previous, "previous"))
    sequence = _read_again(previous) if frames is None else as_sequence(frames)
    given = as_points(points, "", sequence)
    said = dict(previous.words_about(given)) if words is None else as_words(words)
    clicked, told = _settle(given, said, {}, sequence)
    settings = change_settings("", previous.settings, _as_changes(changes))
    task = replace(manner.make_task(sequence, clicked, settings, told), previous=previous)
    task.check_previous()
    return manner.run(task)


def _settle(
    points: PointSet | None, said: dict[str, Words], boxes: Mapping[str, Any], sequence: ImageSequence
) -> tuple[PointSet, Told]:
    """Points and words about them that agree; a box that bounds an object is a word about its frame, too."""
    if boxes:
        names = name_objects(points, said)
        said = spread_words(said, names)
        for name, box in boxes.items():
            own = names[0] if name == EVERY and len(names) == 1 else name
            if own in said:
                said[own] = add_words(said[own], boxes=(box,))
    clicked, told = settle_words(points, said, len(sequence), sequence.size)
    refuse_blank_frames(sequence, clicked)
    return clicked, told


def _choose_settings(
    settings: OwnSettings | str, method: str | None, changes: Mapping[str, Value] | None, device: str
) -> Any:
    """The settings of a run; None for a method that has none."""
    asked = _as_changes(changes)
    if method is not None:
        if settings != "auto":
            raise SettingsError("give a method or settings, not both: the settings are those of fewpoint's own method")
        return change_settings(method, find_settings(need(method, str, "method", "a name")), asked)
    if isinstance(settings, DefaultSettings | PaperSettings):
        return change_settings("", settings, asked)
    name = need(settings, str, "settings", "the name of a preset, DefaultSettings or PaperSettings")
    if name != "auto":
        return change_settings("", preset(name, "cpu"), asked)
    change_settings("", preset("auto", "cpu"), asked)  # what makes no sense is told before torch is loaded
    from fewpoint.learning.devices import choose_device

    return change_settings("", preset(name, choose_device(device).type), asked)


def _as_changes(changes: Mapping[str, Value] | None) -> tuple[tuple[str, Value], ...]:
    given = need({} if changes is None else changes, Mapping, "changes", "values by section.key")
    return tuple((need(key, str, "a setting", "section.key"), value) for key, value in given.items())


def _read_again(previous: PreviousRun) -> ImageSequence:
    from fewpoint.io.runs import load_result
    from fewpoint.runs.exports import read_input

    if not previous.name:
        raise InputError("frames are needed to refine a run that is in no folder; give those that it was made on")
    return read_input(Path(previous.name), load_result(previous.name))
