"""Runs wait for the device, one goes at a time, each in its own process."""

import json
import subprocess
import threading
import time
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Literal

from fewpoint.core.job import Job, PlainPoints
from fewpoint.core.project import Project
from fewpoint.core.source import Reading
from fewpoint.core.workers import python_module
from fewpoint.errors import FewpointError, InputError
from fewpoint.io.atomic import explaining_write_errors
from fewpoint.io.jobs import honour_project, write_job
from fewpoint.io.projects import SUFFIX, RunRecord, name_person, read_project, runs_folder, write_seconds
from fewpoint.pipeline.model import MODEL_FILE
from fewpoint.web import messages
from fewpoint.web.events import Ended, Noted, Previewed, PriorsSeen, Progressed, WorkerEvent, read_event
from fewpoint.web.figures import count_words, gather_figures
from fewpoint.web.keeping import keep_answers
from fewpoint.web.orders import JOB_FILE, LOG_FILE, Order, find_job, result_folder, shown_folder
from fewpoint.web.processes import close_pipes, explain_death, send_line, start_process
from fewpoint.web.sessions import Session, Workspace
from fewpoint.web.shown import MASKS, PROBABILITIES, keep_preview

# A run is ended to go on later, once somebody looks again or in its turn; or for good, and nothing of it is kept.
Leaving = Literal["", "pause", "yield", "drop"]

COMMAND = python_module("fewpoint.web.worker")
MOST_WAITING = 100  # of one person
MOST_OWNERS = 1000  # whose last turn is remembered
PAUSED = "the live preview or the last page that showed it was closed; it continues with them"
STOP_SECONDS = 1.5  # after which a stopped run that has not written what it has is ended; its preview is then kept
BEAT_SECONDS = 2.0


@dataclass(frozen=True)
class Asked:
    """What a person asks of one run.

    warm_start: the run folder whose networks it begins with. added: files whose channels are learnt from, too.
    by_itself: live mode asks, and nobody else.
    """

    warm_start: str | None = None
    added: tuple[str, ...] = ()
    by_itself: bool = False


def find_asked(workspace: Workspace, session: Session, request: messages.RunRequest) -> Asked:
    """What is asked of a run, with the last finished run of another project if it is to begin with its networks."""
    added = tuple(str(workspace.root.resolve(path)) for path in request.added)
    if added and request.refine:
        raise InputError("a refinement has the channels of the run that it refines; start a new run for others")
    if not request.warm_start:
        return Asked(added=added)
    if request.refine:
        raise InputError("a refinement continues its own run; start a new run to use another patient's networks")
    for entry in workspace.list_projects():
        if entry.id == session.id:
            continue
        path = workspace.find_file(entry.id)
        for number in sorted(
            (number for number, run in read_project(path).runs.items() if run.state == "finished"), reverse=True
        ):
            folder = result_folder(runs_folder(path) / str(number))
            if (folder / MODEL_FILE).exists():
                return Asked(str(folder), added)
    raise InputError("no other project has a finished run to start from; leave that out")


@dataclass(eq=False)
class Entry:
    """A run in the queue, with its latest standing."""

    session: Session
    order: Order
    record: RunRecord
    shown: messages.RunMessage
    owner: str = ""
    process: subprocess.Popen[str] | None = None
    began: float = 0.0
    stopped: bool = False
    leaving: Leaving = ""
    ended: Ended | None = None
    warnings: list[str] = field(default_factory=list)

    @property
    def folder(self) -> Path:
        return Path(self.order.folder)

    @property
    def seconds(self) -> float:
        """How long it has gone on, in all its starts."""
        return time.monotonic() - self.began if self.began else self.record.seconds

    def name_of(self, number: int) -> str:
        """What an object of the run is called now."""
        names = {each.id: each.name for each in self.session.project.objects}
        return names.get(number, f"removed object {number}")

    def update(self, record: RunRecord | None = None, **shown: Any) -> None:
        """Show the run as it now stands; a new record is written down too."""
        if self.began:
            shown.setdefault("seconds", time.monotonic() - self.began)
        if record is not None:
            self.record = record
            described = self.session.describe_record(record)
            kept = {name: getattr(self.shown, name) for name in ("phase", "epoch", "epochs", "priors")}
            self.shown = described.model_copy(update={**kept, **shown})
            self.session.record_run(record, self.shown)
        else:
            self.shown = self.shown.model_copy(update=shown)
            self.session.show_run(self.shown)


class RunQueue:
    """All runs that wait or go. job: what every run is given: the device, changes of settings, outputs.

    People take turns: whoever asks for many runs waits for the first run of everybody else.

    on_end: called, in another thread and without a lock, with the project of each run that has ended.

    Whoever holds both locks has taken the queue's first, then the session's.
    """

    def __init__(self, job: Job, on_end: Callable[[Session], None] = lambda session: None) -> None:
        # The page shows all that a report would, and a person waits for it.
        self._job = replace(job, outputs=replace(job.outputs, report=False))
        self._on_end = on_end
        self._waiting: list[Entry] = []
        self._current: Entry | None = None
        self._served: dict[str, int] = {}
        self._closed = False
        self._changed = threading.Condition()
        self._thread = threading.Thread(target=self._work, daemon=True)

    def start(self) -> None:
        self._thread.start()
        threading.Thread(target=self._beat, daemon=True).start()

    def _beat(self) -> None:
        """Write down now and then how long the run has gone on."""
        while not self._closed:
            time.sleep(BEAT_SECONDS)
            with self._changed, suppress(FewpointError):
                entry = self._current
                if entry is not None and entry.began and entry.process is not None:
                    write_seconds(time.monotonic() - entry.began, entry.folder)

    def close(self) -> None:
        """End what is going on; it can be taken up again after the next start."""
        with self._changed:
            self._closed = True
            waiting, self._waiting = self._waiting, []
            current = self._current
            self._changed.notify_all()
        for entry in waiting:
            _interrupt(entry)
        if current is not None and current.process is not None:
            current.process.kill()
        if self._thread.is_alive():
            self._thread.join()

    def add(self, session: Session, refine: bool, asked: Asked = Asked()) -> messages.RunMessage:
        """Begin a run of a project as it now is; refine: go on from the run whose masks are shown."""
        with self._changed, session.lock:
            project, version = session.project, session.log.history.version
            check_ready(project)
            number = max(session.log.results, default=0) + 1
            basis = find_basis(session) if refine else None
            if basis is not None:
                _refuse_renamed(session, session.find_run(basis))
            objects = {each.name: each.id for each in project.clicked}
            job = honour_project(
                replace(
                    self._job,
                    name=f"run {number}",
                    refine=_find_refined(session, basis),
                    warm_start=asked.warm_start,
                    reading=_find_reading(session, basis, asked),
                ),
                project,
                session.source.path,
            )
            order = Order(job, str(session.runs_folder / str(number)), objects)
            _write_job(order)
            record = RunRecord(
                number,
                version,
                tuple(objects.values()),
                refined_from=basis,
                words=count_words(project),
                by_itself=asked.by_itself,
            )
            return self._enter(session, order, record)

    def resume(self, session: Session, number: int) -> messages.RunMessage:
        """Go on with a run that was interrupted, or that failed."""
        with self._changed, session.lock:
            record = session.find_run(number)
            if record.state not in ("interrupted", "failed"):
                raise InputError(
                    f"run {number} is {record.state}; only one that was interrupted or failed can continue"
                )
            folder = session.runs_folder / str(number)
            objects = _name_objects(session, record)
            order = Order(self._take_up(session, record, find_job(folder), objects), str(folder), objects)
            return self._enter(session, order, replace(record, state="waiting", message="", error=""))

    def _take_up(self, session: Session, record: RunRecord, job: Job, objects: dict[str, int]) -> Job:
        """A job from a folder that may have been moved since: what it reads of its own project is taken from there."""
        if not isinstance(job.points, PlainPoints) or set(job.points.objects) != set(objects):
            raise InputError(f"run {record.id} has no job file; start a new one")
        if job.warm_start is not None and not (Path(job.warm_start) / MODEL_FILE).exists():
            raise InputError(f"the run that run {record.id} began with is gone from {job.warm_start}; start a new one")
        return replace(
            job,
            input=session.source.path,
            reading=Reading(added=job.reading.added),
            refine=_find_refined(session, record.refined_from),
            device=self._job.device,
        )

    def cancel(self, session: Session, number: int) -> messages.RunMessage:
        """Stop a run; what it has found so far is its result."""
        session.find_run(number)
        with self._changed:
            for entry in self._waiting:
                if entry.session is session and entry.record.id == number:
                    self._waiting.remove(entry)
                    if entry.record.seconds:  # it had gone on, and made way
                        entry.stopped = True
                        self._conclude(entry, 0)
                        return entry.shown
                    entry.update(replace(entry.record, state="cancelled", message="stopped before it began"), ahead=0)
                    self._show_places()
                    return entry.shown
            current = self._current
            if current is not None and current.session is session and current.record.id == number:
                self._stop(current)
                return current.shown
        raise InputError(f"run {number} has already ended")

    def pause(self, session: Session) -> None:
        """End runs of a project that began by themselves; they can go on later."""
        with self._changed:
            for entry in [each for each in self._waiting if each.session is session and each.record.by_itself]:
                self._waiting.remove(entry)
                _interrupt(entry, PAUSED)
            current = self._current
            if current is not None and current.session is session and current.record.by_itself:
                self._let_go(current, "pause")
            self._show_places()

    def look_again(self) -> None:
        """Somebody has opened a project: its runs come before those at whose projects nobody looks."""
        with self._changed:
            self._show_places()

    def _let_go(self, entry: Entry, leaving: Leaving) -> None:
        """End the process of a run, which goes on from its last checkpoint later; called under the lock."""
        if not entry.leaving and not entry.stopped and entry.ended is None:
            entry.leaving = leaving
            if entry.process is not None:
                entry.process.kill()

    def abandon(self, session: Session) -> None:
        """End all runs of a project at once; nothing of them is kept."""
        with self._changed:
            for entry in [each for each in self._waiting if each.session is session]:
                self._waiting.remove(entry)
                entry.update(replace(entry.record, state="cancelled", message="stopped before it began"), ahead=0)
            self._show_places()
            current = self._current
            if current is not None and current.session is session:
                current.stopped, current.leaving = True, "drop"
                if current.process is not None:
                    current.process.kill()

    def is_busy_with(self, session: Session) -> bool:
        """Whether a run of a project goes on or waits."""
        with self._changed:
            current = self._current
            return any(each.session is session for each in (*self._waiting, *([current] if current else [])))

    def list_entries(self) -> list[messages.QueueEntry]:
        """All runs that go or wait, in the order in which they come."""
        with self._changed:
            entries = [*([self._current] if self._current is not None else []), *self._waiting]
        return [
            messages.QueueEntry(
                project=entry.session.id,
                name=entry.session.log.path.name.removesuffix(SUFFIX),
                run=entry.record.id,
                state=entry.shown.state,
                ahead=entry.shown.ahead,
                epoch=entry.shown.epoch,
                epochs=entry.shown.epochs,
            )
            for entry in entries
        ]

    def _enter(self, session: Session, order: Order, record: RunRecord) -> messages.RunMessage:
        with self._changed:
            owner = name_person(session.log.history.last_by)
            own = sum(entry.owner == owner for entry in self._waiting)
            if self._closed or own >= MOST_WAITING:
                raise InputError(f"{own} runs are waiting already; stop one first")
            entry = Entry(session, order, record, session.describe_record(record), owner)
            waiting = take_turns([*self._waiting, entry], self._served)
            ahead = waiting.index(entry) + (self._current is not None)
            entry.update(record, ahead=ahead, message=_word_place(ahead))
            self._waiting = waiting
            self._show_places()
            self._changed.notify_all()
        return entry.shown

    def _take_next(self) -> Entry:
        """The run whose turn it is; called under the lock."""
        self._sort()
        entry = self._current = self._waiting.pop(0)
        self._served = {**self._served, entry.owner: max(self._served.values(), default=0) + 1}
        waiting = {each.owner for each in self._waiting}
        if len(self._served) > MOST_OWNERS:
            self._served = {name: turn for name, turn in self._served.items() if name in {*waiting, entry.owner}}
        self._show_places()
        return entry

    def _work(self) -> None:
        while True:
            with self._changed:
                while not self._waiting and not self._closed:
                    self._changed.wait()
                if self._closed:
                    return
                entry = self._take_next()
            try:
                self._run(entry)
            except Exception as error:  # nothing that one run does may end the queue
                _fail(entry, error)
            with self._changed:
                self._current = None
                goes_on = entry.leaving == "yield" and entry.record.state == "waiting"
                if goes_on and self._closed:
                    _interrupt(entry)
                elif goes_on:
                    entry.process, entry.leaving, entry.began = None, "", 0.0
                    self._waiting.insert(0, entry)
                self._show_places()
                closed = self._closed
            if not closed and not goes_on:
                self._on_end(entry.session)

    def _run(self, entry: Entry) -> None:
        """Start the process, pass on what it reports, and write down how it ended."""
        began_at = entry.record.started_at or datetime.now(UTC).isoformat(timespec="seconds")
        entry.began = time.monotonic() - entry.record.seconds
        entry.update(replace(entry.record, state="running", started_at=began_at), ahead=0, message="", phase="starting")
        with self._changed:
            if self._closed:
                _interrupt(entry)
                return
            process = entry.process = start_process(COMMAND, entry.folder / LOG_FILE)
        with suppress(BrokenPipeError):
            send_line(process, json.dumps(entry.order.as_table()))
        if entry.stopped:
            self._stop(entry)
        if entry.leaving:
            process.kill()
        for line in process.stdout or ():
            _take(entry, read_event(line))
        code = process.wait()
        close_pipes(process)
        self._conclude(entry, code)

    def _stop(self, entry: Entry) -> None:
        """Ask the process to stop, and end it if it does not; calling it again does no harm."""
        entry.stopped = True
        entry.update(message="stopping; the masks so far are kept")
        if entry.process is not None:
            with suppress(BrokenPipeError, ValueError, OSError):
                send_line(entry.process, "stop")
            timer = threading.Timer(STOP_SECONDS, entry.process.kill)
            timer.daemon = True
            timer.start()

    def _conclude(self, entry: Entry, code: int) -> None:
        if entry.stopped and entry.ended is None and entry.leaving != "drop":
            _keep_previews(entry)
        best = any((shown_folder(entry.folder, number) / MASKS).exists() for number in entry.order.objects.values())
        figures, notes = gather_figures(entry.folder, entry.order.objects)
        record = replace(
            entry.record,
            seconds=entry.seconds,
            best=best,
            message="",
            figures=figures,
            notes=tuple(dict.fromkeys((*entry.warnings, *notes))),
        )
        ended = entry.ended
        if best:  # which may be shown from now on
            keep_answers(entry.session)
        if ended is None and self._closed:
            _interrupt(entry)
        elif ended is None and entry.leaving == "pause":
            _interrupt(entry, PAUSED)
        elif ended is None and entry.leaving == "yield" and not entry.stopped:
            record = replace(entry.record, state="waiting", seconds=entry.seconds)
            entry.update(record, seconds_left=None)
        elif ended is None and entry.stopped:
            entry.update(replace(record, state="cancelled", message=_word_stop(entry, best)), seconds_left=None)
        elif ended is None:
            entry.update(
                replace(record, state="failed", error=explain_end(code, entry.folder / LOG_FILE)), seconds_left=None
            )
        else:
            message = _word_stop(entry, best) if ended.state == "cancelled" else ""
            record = replace(record, state=ended.state, error=ended.error, message=message)
            entry.update(record, seconds_left=None, phase="")

    def _show_places(self) -> None:
        """Tell those who wait how many go before them, and let a run that nobody looks at make way; called under the
        lock."""
        self._sort()
        current = self._current
        if current is not None and not _is_looked_at(current) and any(map(_is_looked_at, self._waiting)):
            self._let_go(current, "yield")
        for place, entry in enumerate(self._waiting):
            ahead = place + (self._current is not None)
            if entry.shown.ahead != ahead:
                entry.update(ahead=ahead, message=_word_place(ahead))

    def _sort(self) -> None:
        """Let runs of projects that somebody looks at come first."""
        self._waiting.sort(key=lambda entry: not _is_looked_at(entry))


def take_turns(waiting: Sequence[Entry], served: Mapping[str, int]) -> list[Entry]:
    """Runs in the order in which they go: everybody's first, then everybody's second; who was served last comes last.

    served: by owner, a number that is larger the later their last run began.
    """
    rounds: Counter[str] = Counter()
    places = []
    for entry in waiting:
        places.append((rounds[entry.owner], served.get(entry.owner, 0)))
        rounds[entry.owner] += 1
    return [entry for _, entry in sorted(zip(places, waiting, strict=True), key=lambda pair: pair[0])]


def check_ready(project: Project) -> None:
    """Raise InputError if there is nothing to segment."""
    if not project.clicked:
        raise InputError("no object has a point yet; click on one at least once, then run")
    for target in project.clicked:
        project.bound_of(target.name)
    project.to_points()


def find_finished(session: Session) -> RunRecord | None:
    """The run to go on from, whose networks are there: the one shown, else the last that came to its end."""
    finished = [
        record
        for record in session.log.runs.values()
        if record.state == "finished"
        and record.id > session.past
        and (result_folder(session.runs_folder / str(record.id)) / MODEL_FILE).exists()
    ]
    shown = session.find_shown()
    if shown is not None and shown.id in {record.id for record in finished}:
        return shown
    return max(finished, key=lambda record: record.id, default=None)


def find_stopped(session: Session) -> RunRecord | None:
    """The run that was stopped and whose masks are shown, since none has finished; None if it left no probabilities."""
    shown = session.find_shown()
    if shown is None or shown.id not in session.log.runs or find_finished(session) is not None:
        return None
    folder = session.runs_folder / str(shown.id)
    left = any((shown_folder(folder, number) / PROBABILITIES).exists() for number in shown.objects)
    return shown if left else None


def find_basis(session: Session) -> int:
    """The number of the run that a refinement goes on from."""
    finished = find_finished(session)
    if finished is None:
        raise InputError("there is no finished run to refine yet; run once first")
    return finished.id


def explain_end(code: int, log: Path) -> str:
    """Why the training ended without saying so."""
    reason = explain_death(code, log, "the training")
    return f"{reason}; continue, or start a new run" if code < 0 else reason


def _take(entry: Entry, event: WorkerEvent) -> None:
    if isinstance(event, Progressed):
        shown = event.model_dump(exclude={"kind"})
        entry.update(**shown)
    elif isinstance(event, PriorsSeen):
        entry.update(priors={**(entry.shown.priors or {}), entry.name_of(event.object): event.priors})
    elif isinstance(event, Previewed):
        entry.session.note_preview(entry.record.id, entry.shown.epoch / max(1, entry.shown.epochs))
    elif isinstance(event, Noted) and event.warning:
        entry.warnings.append(event.text)
        entry.update(notes=list(dict.fromkeys(entry.warnings)))
    elif isinstance(event, Noted):
        entry.update(message=event.text)
    elif isinstance(event, Ended):
        entry.ended = event


def _keep_previews(entry: Entry) -> None:
    """What a run that was ended had previewed becomes its result."""
    points = entry.order.job.points
    if not isinstance(points, PlainPoints):
        return
    for name, number in entry.order.objects.items():
        own = points.to_points()
        own = own.of_object(name) if name in own.object_names else own
        with suppress(FewpointError, OSError):
            keep_preview(shown_folder(entry.folder, number), own)


def _fail(entry: Entry, error: Exception) -> None:
    """End a run that the server itself cannot go on with, such as on a full disk; reported even if not written down."""
    if entry.process is not None:
        entry.process.kill()
        entry.process.wait()
    reason = " ".join(f"the run could not continue: {error}".split())[:500]
    try:
        entry.update(replace(entry.record, state="failed", error=reason), seconds_left=None)
    except (FewpointError, ValueError):
        entry.update(state="failed", error=reason, seconds_left=None)


def _interrupt(entry: Entry, message: str = "the server was stopped during this run") -> None:
    with suppress(FewpointError, ValueError):  # the disk may be full, and the log closed
        record = replace(entry.record, state="interrupted", message=message, seconds=entry.seconds)
        entry.update(record, seconds_left=None)


def _is_looked_at(entry: Entry) -> bool:
    return entry.session.broadcast.is_heard


def _name_objects(session: Session, record: RunRecord) -> dict[str, int]:
    """The numbers of the objects of a run by the names that they had in it."""
    before = read_project(session.log.path, record.version).project
    return {each.name: each.id for each in before.objects if each.id in record.objects}


def _refuse_renamed(session: Session, record: RunRecord) -> None:
    """Raise InputError if one of several objects has another name than in the run, which knows them by their names."""
    then = {number: name for name, number in _name_objects(session, record).items()}
    clicked = session.project.clicked
    for each in clicked if len(then) > 1 or len(clicked) > 1 else ():
        if then.get(each.id, each.name) != each.name:
            raise InputError(
                f"{each.name} was called {then[each.id]} in run {record.id}, which cannot be refined for that; "
                "start a new run, or give it its name back"
            )


def _find_reading(session: Session, basis: int | None, asked: Asked) -> Reading:
    """How a run reads its input: with the channels of the run that it refines, or with those asked for."""
    if basis is None:
        return Reading(added=asked.added)
    return Reading(added=find_job(session.runs_folder / str(basis)).reading.added)


def _find_refined(session: Session, basis: int | None) -> str | None:
    return None if basis is None else str(result_folder(session.runs_folder / str(basis)))


def _write_job(order: Order) -> None:
    folder = Path(order.folder)
    with explaining_write_errors(folder):
        folder.mkdir(parents=True, exist_ok=True)
    write_job(order.job, folder / JOB_FILE)


def _word_place(ahead: int) -> str:
    if not ahead:
        return ""
    return f"{ahead} {'run' if ahead == 1 else 'runs'} ahead of this one"


def _word_stop(entry: Entry, best: bool) -> str:
    if not best:
        return "stopped before there were masks"
    others = (each for each in entry.session.log.runs.values() if each.state == "finished" and each.best)
    if any(each.id != entry.record.id for each in others):
        return "stopped; the earlier masks are still shown, the new ones are in the history"
    return "stopped; these are the masks found so far"
