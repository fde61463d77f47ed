"""Runs wait for the device, one goes at a time, each in a process of its own."""

import json
import os
import signal
import subprocess
import sys
import threading
import time
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from fewpoint.core.project import Project
from fewpoint.errors import FewpointError, InputError
from fewpoint.io.atomic import explaining_write_errors, read_json, write_json
from fewpoint.io.projects import RunRecord
from fewpoint.web import messages
from fewpoint.web.events import Ended, Noted, Previewed, PriorsSeen, Progressed, WorkerEvent, read_event
from fewpoint.web.orders import LOG_FILE, ORDER_FILE, Order, shown_folder
from fewpoint.web.sessions import Session
from fewpoint.web.shown import MASKS

COMMAND = (sys.executable, "-m", "fewpoint.web.worker")
MOST_WAITING = 100
STOP_SECONDS = 600.0  # within which a stopped run must have written what it has; large volumes take long
LOG_TAIL = 4000


@dataclass(eq=False)
class Entry:
    """A run in the queue, with its latest standing."""

    session: Session
    order: Order
    record: RunRecord
    shown: messages.RunMessage
    process: subprocess.Popen | None = None
    began: float = 0.0
    stopped: bool = False
    ended: Ended | None = None

    @property
    def folder(self) -> Path:
        return Path(self.order.folder)

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
    """All runs that wait or go. device, changes, config: given to every run, as `segment` has them.

    Whoever holds both locks has taken the queue's first, then the session's.
    """

    def __init__(self, device: str, changes: tuple[str, ...] = (), config: str | None = None) -> None:
        self._device, self._changes, self._config = device, changes, config
        self._waiting: list[Entry] = []
        self._current: Entry | None = None
        self._closed = False
        self._changed = threading.Condition()
        self._thread = threading.Thread(target=self._work, daemon=True)

    def start(self) -> None:
        self._thread.start()

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

    def add(self, session: Session, refine: bool) -> messages.RunMessage:
        """Begin a run of a project as it now is; refine: go on from the last run that has masks."""
        with self._changed, session.lock:
            project, version = session.project, session.log.history.version
            check_ready(project)
            number = max(session.log.runs, default=0) + 1
            basis = find_basis(session) if refine else None
            objects = tuple(each.id for each in project.clicked)
            order = Order(
                project=str(session.log.path),
                version=version,
                objects=objects,
                input=session.sequence.source.path,
                folder=str(session.runs_folder / str(number)),
                refined_from=None if basis is None else str(session.runs_folder / str(basis)),
                device=self._device,
                changes=self._changes,
                config=self._config,
            )
            _write_order(order)
            return self._enter(session, order, RunRecord(number, version, objects, refined_from=basis))

    def resume(self, session: Session, number: int) -> messages.RunMessage:
        """Go on with a run that was interrupted, or that failed."""
        with self._changed, session.lock:
            record = session.find_run(number)
            if record.state not in ("interrupted", "failed"):
                raise InputError(f"run {number} is {record.state}; only one that was interrupted or failed can go on")
            folder = session.runs_folder / str(number)
            try:
                order = Order.from_table(read_json(folder / ORDER_FILE))
            except (KeyError, TypeError):
                raise InputError(f"run {number} does not say what it was to do; start a new one") from None
            # The folder may have been moved since, and what it names is taken from the open project alone.
            basis = None if record.refined_from is None else str(session.runs_folder / str(record.refined_from))
            order = replace(
                order,
                project=str(session.log.path),
                input=session.sequence.source.path,
                folder=str(folder),
                refined_from=basis,
                device=self._device,
                config=self._config,
            )
            return self._enter(session, order, replace(record, state="waiting", message="", error=""))

    def cancel(self, session: Session, number: int) -> messages.RunMessage:
        """Stop a run; what it has found so far is its result."""
        session.find_run(number)
        with self._changed:
            for entry in self._waiting:
                if entry.session is session and entry.record.id == number:
                    self._waiting.remove(entry)
                    entry.update(replace(entry.record, state="cancelled", message="stopped before it began"), ahead=0)
                    self._show_places()
                    return entry.shown
            current = self._current
            if current is not None and current.session is session and current.record.id == number:
                self._stop(current)
                return current.shown
        raise InputError(f"run {number} is over; there is nothing to stop")

    def _enter(self, session: Session, order: Order, record: RunRecord) -> messages.RunMessage:
        with self._changed:
            if self._closed or len(self._waiting) >= MOST_WAITING:
                raise InputError(f"{len(self._waiting)} runs are waiting already; stop one first")
            entry = Entry(session, order, record, session.describe_record(record))
            ahead = len(self._waiting) + (self._current is not None)
            entry.update(record, ahead=ahead, message=_word_place(ahead))
            self._waiting.append(entry)
            self._changed.notify_all()
        return entry.shown

    def _work(self) -> None:
        while True:
            with self._changed:
                while not self._waiting and not self._closed:
                    self._changed.wait()
                if self._closed:
                    return
                entry = self._current = self._waiting.pop(0)
                self._show_places()
            try:
                self._run(entry)
            except Exception as error:  # nothing that one run does may end the queue
                _fail(entry, error)
            with self._changed:
                self._current = None
                self._show_places()

    def _run(self, entry: Entry) -> None:
        """Start the process, pass on what it tells, and write down how it ended."""
        began_at = entry.record.started_at or datetime.now(UTC).isoformat(timespec="seconds")
        entry.began = time.monotonic() - entry.record.seconds
        entry.update(replace(entry.record, state="running", started_at=began_at), ahead=0, message="", phase="starting")
        with self._changed:
            if self._closed:
                _interrupt(entry)
                return
            entry.process = _start_process(entry.folder / LOG_FILE)
        with suppress(BrokenPipeError):
            entry.process.stdin.write(json.dumps(entry.order.as_table()) + "\n")
            entry.process.stdin.flush()
        if entry.stopped:
            self._stop(entry)
        for line in entry.process.stdout:
            _take(entry, read_event(line))
        code = entry.process.wait()
        with suppress(BrokenPipeError):
            entry.process.stdin.close()
        entry.process.stdout.close()
        self._conclude(entry, code)

    def _stop(self, entry: Entry) -> None:
        """Ask the process to stop, and end it where it does not; called again it does no harm."""
        entry.stopped = True
        entry.update(message="stopping; what was found so far is kept")
        if entry.process is not None:
            with suppress(BrokenPipeError, ValueError, OSError):
                entry.process.stdin.write("stop\n")
                entry.process.stdin.flush()
            timer = threading.Timer(STOP_SECONDS, entry.process.kill)
            timer.daemon = True
            timer.start()

    def _conclude(self, entry: Entry, code: int) -> None:
        best = any((shown_folder(entry.folder, number) / MASKS).exists() for number in entry.order.objects)
        record = replace(entry.record, seconds=time.monotonic() - entry.began, best=best, message="")
        ended = entry.ended
        if ended is None and self._closed:
            _interrupt(entry)
        elif ended is None and entry.stopped:
            entry.update(replace(record, state="cancelled", message=_word_stop(best)), seconds_left=None)
        elif ended is None:
            entry.update(replace(record, state="failed", error=explain_death(code, entry.folder)), seconds_left=None)
        else:
            message = _word_stop(best) if ended.state == "cancelled" else entry.shown.message
            record = replace(record, state=ended.state, error=ended.error, message=message)
            entry.update(record, seconds_left=None, phase="")

    def _show_places(self) -> None:
        """Tell those who wait how many go before them; called under the lock."""
        for place, entry in enumerate(self._waiting):
            ahead = place + (self._current is not None)
            if entry.shown.ahead != ahead:
                entry.update(ahead=ahead, message=_word_place(ahead))


def check_ready(project: Project) -> None:
    """Raise InputError where there is nothing to segment."""
    if not project.clicked:
        raise InputError("no object has a point yet; click on one at least once, then run")
    for target in project.clicked:
        project.bound_of(target.name)
        target.to_points()


def find_basis(session: Session) -> int:
    """The last run that came to its end, whose networks are there."""
    finished = [record.id for record in session.log.runs.values() if record.state == "finished"]
    if not finished:
        raise InputError("there is no finished run to refine yet; run once first")
    return max(finished)


def explain_death(code: int, folder: Path) -> str:
    """Why a process ended without a word of its own, from its exit code and the last line that it left."""
    if code < 0:
        name = signal.Signals(-code).name
        hint = "; the machine may have run out of memory" if name == "SIGKILL" else ""
        return f"the training was killed by {name}{hint}; go on, or start a new run"
    try:
        lines = (folder / LOG_FILE).read_text(encoding="utf-8", errors="replace")[-LOG_TAIL:].strip().splitlines()
    except OSError:
        lines = []
    last = lines[-1] if lines else f"it left with code {code} and without a word"
    return f"the training ended early: {last[:500]}"


def _start_process(log: Path) -> subprocess.Popen:
    with explaining_write_errors(log), open(log, "wb") as errors:
        return subprocess.Popen(
            COMMAND,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=errors,
            env={"OMP_WAIT_POLICY": "PASSIVE", **os.environ},
            start_new_session=True,  # Ctrl-C reaches the server only, which then ends it
            text=True,
            encoding="utf-8",
        )


def _take(entry: Entry, event: WorkerEvent) -> None:
    if isinstance(event, Progressed):
        shown = event.model_dump(exclude={"kind"})
        entry.update(**shown)
    elif isinstance(event, PriorsSeen):
        entry.update(priors=event.priors)
    elif isinstance(event, Previewed):
        entry.session.broadcast.tell(messages.PreviewEvent(run=entry.record.id))
    elif isinstance(event, Noted):
        entry.update(message=event.text)
    elif isinstance(event, Ended):
        entry.ended = event


def _fail(entry: Entry, error: Exception) -> None:
    """End a run that the server itself cannot go on with, as where the disk is full; told even if not written down."""
    if entry.process is not None:
        entry.process.kill()
        entry.process.wait()
    told = " ".join(f"the run could not go on: {error}".split())[:500]
    try:
        entry.update(replace(entry.record, state="failed", error=told), seconds_left=None)
    except (FewpointError, ValueError):
        entry.update(state="failed", error=told, seconds_left=None)


def _interrupt(entry: Entry) -> None:
    with suppress(FewpointError, ValueError):  # the disk may be full, and the log closed
        entry.update(replace(entry.record, state="interrupted", message="the server was stopped during this run"))


def _write_order(order: Order) -> None:
    folder = Path(order.folder)
    with explaining_write_errors(folder):
        folder.mkdir(parents=True, exist_ok=True)
    write_json(folder / ORDER_FILE, order.as_table())


def _word_place(ahead: int) -> str:
    if not ahead:
        return ""
    return f"waiting for {ahead} other {'run' if ahead == 1 else 'runs'} on this machine"


def _word_stop(best: bool) -> str:
    return "stopped; these are the masks found so far" if best else "stopped before there was anything to keep"
