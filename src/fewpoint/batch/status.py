"""How far a batch is, for the driver's own display and for other shells."""

import time
from collections import Counter
from collections.abc import Iterable
from dataclasses import asdict, dataclass
from pathlib import Path

from fewpoint.batch.folder import BatchFolder, is_batch, is_held
from fewpoint.batch.progress import read_progress
from fewpoint.batch.summary import Entry
from fewpoint.errors import InputError
from fewpoint.io.atomic import read_json, write_json
from fewpoint.io.schema import NUMBER, OneOf, check_table

RUNNING, FINISHED, STOPPED = "running", "finished", "stopped"


SCHEMA = {
    "state": OneOf((RUNNING, FINISHED, STOPPED)),
    "counts": dict,
    "running": dict,
    "seconds_left": (int, float, type(None)),
    "failed": [str],
    "at": NUMBER,
}


@dataclass(frozen=True)
class Status:
    """How far a batch is.

    state: running, finished, or stopped before all was tried. counts: sequences by their state. running: what each
    item at work is at, by name. seconds_left: None before one has ended. at: seconds since 1970.
    """

    state: str
    counts: dict[str, int]
    running: dict[str, str]
    seconds_left: float | None
    failed: tuple[str, ...]
    at: float


def write_status(folder: BatchFolder, state: str, entries: Iterable[Entry], seconds_left: float | None) -> None:
    """Write what another shell reads; what items at work are at is read from their own files."""
    entries = tuple(entries)
    counts = Counter(str(entry.state) for entry in entries)
    names = {which: [entry.name for entry in entries if entry.state == which] for which in ("running", "failed")}
    at_work = dict.fromkeys(names["running"], "")
    status = Status(state, dict(counts), at_work, seconds_left, tuple(names["failed"]), time.time())
    write_json(folder.status, asdict(status))


def read_status(path: Path) -> Status:
    """The status of the batch in a folder, now; a driver that died silently counts as stopped."""
    folder = BatchFolder(path)
    if not is_batch(path) or not folder.status.exists():
        raise InputError(f"{path} must be the folder of a batch, it is not; give the --out of fewpoint batch")
    stored = read_json(folder.status)
    check_table(stored, SCHEMA, folder.status)
    if stored["state"] == RUNNING and not is_held(path):
        stored["state"] = STOPPED
    if stored["state"] == RUNNING:
        stored["running"] = {name: describe_item(folder, name) for name in stored["running"]}
    known = {name: stored[name] for name in SCHEMA}
    return Status(**{**known, "failed": tuple(stored["failed"])})


def describe_item(folder: BatchFolder, name: str) -> str:
    """What an item at work is at, in words."""
    progress = read_progress(folder.progress(name))
    return "starting" if progress is None else progress.describe()
