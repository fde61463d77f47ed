"""A batch from its checked rows to its folder, continued where it stopped."""

import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path

from fewpoint.batch.checks import Checked, CheckedItem, write_checks
from fewpoint.batch.folder import BatchFolder, open_batch
from fewpoint.batch.page import write_index
from fewpoint.batch.status import FINISHED, RUNNING, STOPPED, write_status
from fewpoint.batch.summary import Entry, State, read_finished, write_summary
from fewpoint.batch.worker import WORK, ItemOrder
from fewpoint.core import Message
from fewpoint.engines.jobs import Engine, Job, Outcome, Standing, run_jobs, summarise_error
from fewpoint.errors import InputError
from fewpoint.io.runs import find_run
from fewpoint.pipeline.model import MODEL_FILE

KIND = "item"
SECONDS_BETWEEN_WRITES = 2.0
WRITING_SHARE = 0.05  # of the driver's time, at most

BatchListener = Callable[[Standing | Message], None]


@dataclass(frozen=True)
class BatchResult:
    """What is known once a batch has been run.

    entries: all rows, worst health first. kept: names of those found finished.
    """

    entries: tuple[Entry, ...]
    kept: tuple[str, ...]

    @property
    def failures(self) -> tuple[Entry, ...]:
        """The rows that were tried and failed."""
        return tuple(entry for entry in self.entries if entry.state == State.FAILED)


def run_batch(checked: Checked, out: Path, engine: Engine, listener: BatchListener, retries: int = 0) -> BatchResult:
    """Segment every item that is not finished, each in its own process, and keep the folder current."""
    with open_batch(out) as folder:
        write_checks(checked.items, folder.checks)
        kept, jobs = _sort(checked.items, folder, listener)
        recorder = Recorder(folder, checked, kept)
        try:
            run_jobs(jobs, engine, recorder.recording(listener), retries)
        except BaseException:  # also Ctrl-C: what is finished can be read, and nothing half-written lies about
            recorder.close(STOPPED)
            raise
        recorder.close(FINISHED)
    return BatchResult(tuple(sorted(recorder.entries, key=lambda entry: entry.rank)), kept)


def run_after_first(
    checked: Checked,
    recheck: Callable[[Path], Checked],
    out: Path,
    engine: Engine,
    listener: BatchListener,
    retries: int = 0,
) -> BatchResult:
    """run_batch, in which all items start from the networks of the first, which goes ahead alone.

    recheck: checks all rows again, given the model that they start from. If the first leaves no networks, having
    failed or been on several objects, the next goes ahead. An item with its own start, or that can have none,
    stays as it was checked.
    """
    folder = BatchFolder(out)
    for first in checked.items:
        model = folder.run(first.job.name) / MODEL_FILE
        if first.job.warm_start is None:
            run_batch(replace(checked, items=(first,)), out, engine, listener, retries)
            if is_finished(first, folder) and model.exists():
                break
    else:
        return run_batch(checked, out, engine, listener, retries)
    listener(Message(f"the others start from the networks of {first.job.name}"))
    warm = {each.job.name: each for each in recheck(model).items}
    items = tuple(each if each is first else warm.get(each.job.name, each) for each in checked.items)
    return run_batch(replace(checked, items=items), out, engine, listener, retries)


def is_finished(checked: CheckedItem, folder: BatchFolder) -> bool:
    """Whether the run folder of an item holds all that was asked for."""
    path = folder.run(checked.job.name)
    found = find_run(path, checked.identity)
    if found is None or found.differences or not found.finished:
        return False
    return all((path / name).exists() for name in checked.results)


@dataclass(frozen=True)
class PlannedItem:
    """What a start would do with a sequence.

    action: "keep" what is finished, "continue" what was begun, "run" what is new, "run again" what has changed, in the
    ways that differences names.
    """

    name: str
    input: str
    action: str
    differences: tuple[str, ...] = ()
    doubts: tuple[str, ...] = ()


def plan_batch(checked: Checked, out: Path) -> tuple[PlannedItem, ...]:
    """What run_batch would do, in the order of the rows."""
    folder = BatchFolder(out)
    return tuple(_plan_item(each, folder) for each in checked.items)


def _plan_item(checked: CheckedItem, folder: BatchFolder) -> PlannedItem:
    name = checked.job.name
    found = find_run(folder.run(name), checked.identity)
    differences = () if found is None else found.differences
    if is_finished(checked, folder):
        action = "keep"
    elif found is None:
        action = "run"
    else:
        action = "run again" if differences else "continue"
    return PlannedItem(name, checked.job.input, action, differences, checked.doubts)


def _sort(
    items: tuple[CheckedItem, ...], folder: BatchFolder, listener: BatchListener
) -> tuple[tuple[str, ...], list[Job]]:
    """Names of the items that are finished, and jobs for the others; what has changed is reported."""
    kept, jobs = [], []
    for checked in items:
        name, planned = checked.job.name, _plan_item(checked, folder)
        if planned.action == "keep":
            kept.append(name)
            continue
        if planned.differences:
            listener(Message(f"{name} is run again: different {', '.join(planned.differences)}"))
        order = ItemOrder(checked.job, *map(str, (folder.run(name), folder.progress(name), folder.log(name))))
        jobs.append(Job(name, KIND, WORK, order.as_table(), folder.log(name)))
    if kept:
        listener(Message(f"{len(kept)} of {len(items)} were already finished and are kept"))
    return tuple(kept), jobs


class Recorder:
    """Keeps summary.csv, index.html and status.json current."""

    def __init__(self, folder: BatchFolder, checked: Checked, kept: tuple[str, ...]) -> None:
        self._folder = folder
        self._inputs = {each.job.name: each.job.input for each in checked.items}
        self._entries = {name: Entry(name, input=source) for name, source in self._inputs.items()}
        for name in kept:
            self._entries[name] = read_finished(name, folder.run(name), 0, self._inputs[name])
        self._bad = [Entry(row.name or row.place, State.BAD, error=row.reason) for row in checked.bad]
        self._running: tuple[str, ...] = ()
        self._left: float | None = None
        self._next = 0.0
        self._write(RUNNING)

    @property
    def entries(self) -> tuple[Entry, ...]:
        return (*self._entries.values(), *self._bad)

    def recording(self, listener: BatchListener) -> Callable[[Standing], None]:
        """A listener that writes down what it hears, and passes it on."""

        def listen(standing: Standing) -> None:
            self._note(standing)
            if time.monotonic() >= self._next:
                self._write(RUNNING)
            listener(standing)

        return listen

    def close(self, state: str) -> None:
        """Write for the last time; what is still running was stopped, and waits for the next start."""
        for name in self._running:
            self._folder.clean(name)
            self._change(name, state=State.WAITING)
        self._running, self._left = (), None
        self._write(state)

    def _note(self, standing: Standing) -> None:
        if standing.failed is not None:
            self._fail(standing.failed, State.WAITING)
        if standing.ended is not None and standing.ended.error:
            self._fail(standing.ended, State.FAILED)
        elif standing.ended is not None:
            self._finish(standing.ended)
        for name in set(standing.running) - set(self._running):
            self._change(name, state=State.RUNNING)
        self._running, self._left = standing.running, standing.seconds_left

    def _finish(self, outcome: Outcome) -> None:
        name = outcome.job.name
        self._folder.progress(name).unlink(missing_ok=True)
        try:
            entry = read_finished(name, self._folder.run(name), outcome.attempt, self._inputs[name])
        except InputError as error:
            reason = f"it finished on another machine: --out must be visible to all machines ({error})"
            entry = replace(self._entries[name], state=State.FAILED, attempts=outcome.attempt, error=reason)
        self._entries[name] = entry

    def _fail(self, outcome: Outcome, state: State) -> None:
        """A line in the log, since a worker that was killed could not write it itself."""
        name, reason = outcome.job.name, summarise_error(outcome.error)
        self._folder.clean(name)
        with open(self._folder.log(name), "a", encoding="utf-8") as log:
            what = "lost its machine" if outcome.lost else "failed"
            log.write(f"{time.strftime('%Y-%m-%d %H:%M:%S')} attempt {outcome.attempt} {what}: {reason}\n")
        self._change(name, state=state, attempts=outcome.attempt - outcome.lost, error=reason)

    def _change(self, name: str, **values: object) -> None:
        self._entries[name] = replace(self._entries[name], **values)

    def _write(self, state: str) -> None:
        """All three files; the longer it took the later the next time, so that ten thousand rows hold nothing up."""
        started = time.monotonic()
        write_status(self._folder, state, self.entries, self._left)
        write_summary(self.entries, self._folder.summary)
        write_index(self._folder.path.resolve().name, self.entries, self._folder.index)
        now = time.monotonic()
        self._next = now + max(SECONDS_BETWEEN_WRITES, (now - started) / WRITING_SHARE)
