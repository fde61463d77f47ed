"""Every row tried before anything starts, so that all that is wrong is known at once."""

import hashlib
import json
import os
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from fewpoint import __version__
from fewpoint.batch.folder import BatchFolder, hold_batch
from fewpoint.core.doubts import doubt_clicks
from fewpoint.core.job import Job
from fewpoint.errors import FewpointError, InputError
from fewpoint.io.atomic import read_json, write_json
from fewpoint.io.formats import FILES, FILM_FILE
from fewpoint.io.rows import Row, build_job
from fewpoint.io.runs import RunIdentity
from fewpoint.methods.resolve import resolve_settings, settle_preset
from fewpoint.runs.jobs import read_job

MOST_READERS = 4

Told = Callable[[int, int], None]  # rows checked, of all


@dataclass(frozen=True)
class Defaults:
    """What holds for every row that does not say otherwise.

    job: what it says of preset, settings, device, outputs and start. kind: the kind of device that items will be
    computed on, which the preset auto depends on.
    """

    job: Job = Job()
    kind: str = "cpu"


@dataclass(frozen=True)
class CheckedItem:
    """The job of a row whose files were read once.

    key: hash of the job and of its files' sizes and times: if it is the same, they need not be read again.
    identity: of its run. results: files that its run folder must hold to be finished. doubts: what looks wrong about
    its points, one sentence each.
    """

    job: Job
    key: str
    identity: RunIdentity
    results: tuple[str, ...]
    doubts: tuple[str, ...] = ()


@dataclass(frozen=True)
class BadRow:
    """A row that cannot be run. name: empty if it has none."""

    place: str
    name: str
    reason: str


@dataclass(frozen=True)
class Checked:
    """All rows of a manifest, in order."""

    items: tuple[CheckedItem, ...]
    bad: tuple[BadRow, ...]


def check_rows(rows: Iterable[Row], defaults: Defaults, known: dict[str, Any], tell: Told) -> Checked:
    """Read what every row names; known: what write_checks kept of an earlier check."""
    rows, items, bad = tuple(rows), {}, {}
    for index, row in enumerate(rows):
        try:
            items[index] = choose_job(row, defaults)
        except FewpointError as error:
            bad[index] = BadRow(row.place, row.values.get("name", ""), str(error))
    for index, reason in _find_namesakes(items, rows).items():
        bad[index] = BadRow(rows[index].place, items.pop(index).name, reason)
    checked = {}
    with ThreadPoolExecutor(min(MOST_READERS, os.cpu_count() or 1)) as readers:
        tries = readers.map(lambda item: _try(item, known.get(item.name)), items.values())
        for done, (index, result) in enumerate(zip(items, tries, strict=True), start=1):
            if isinstance(result, CheckedItem):
                checked[index] = result
            else:
                bad[index] = BadRow(rows[index].place, items[index].name, result)
            tell(done, len(items))
    return Checked(tuple(checked.values()), tuple(bad[index] for index in sorted(bad)))


def check_study(rows: Iterable[Row], defaults: Defaults, out: Path, tell: Told = lambda done, total: None) -> Checked:
    """check_rows with what an earlier check left in the folder of the batch, where this one is kept, too.

    So a start that is refused for one bad row leaves the next one little to read.
    """
    checked = check_rows(rows, defaults, read_checks(BatchFolder(out).checks), tell)
    if checked.items:
        with hold_batch(out) as folder:
            write_checks(checked.items, folder.checks)
    return checked


def choose_job(row: Row, defaults: Defaults) -> Job:
    """The job of a row, the same on whatever machine it runs; SettingsError for settings that make no sense."""
    job = settle_preset(build_job(row, defaults.job), defaults.kind)
    resolve_settings(job)
    return job


def write_checks(items: Iterable[CheckedItem], path: Path) -> None:
    """Keep what was found, so that the next start reads only what has changed."""
    write_json(
        path,
        {each.job.name: {**asdict(each), "job": None} for each in items},
    )


def read_checks(path: Path) -> dict[str, Any]:
    """What write_checks wrote; nothing if there is nothing."""
    try:
        return read_json(path)
    except InputError:
        return {}


def _find_namesakes(items: dict[int, Job], rows: tuple[Row, ...]) -> dict[int, str]:
    """Rows whose name an earlier one has; on some systems a folder's name is the same in capitals."""
    first: dict[str, str] = {}
    reasons = {}
    for index, item in items.items():
        earlier = first.setdefault(item.name.casefold(), rows[index].place)
        if earlier != rows[index].place:
            reasons[index] = (
                f"each row needs a name of its own, {item.name} is that of {earlier}; fill in the column name"
            )
    return reasons


def _try(job: Job, known: dict[str, Any] | None) -> CheckedItem | str:
    """The checked job, or why not. A reader may fail in unforeseen ways, and one file must not stop the check."""
    try:
        key = _make_key(job)
        if known is not None and known.get("key") == key:
            identity = RunIdentity(**known["identity"])
            return CheckedItem(job, key, identity, tuple(known["results"]), tuple(known.get("doubts", ())))
        task = read_job(job)
        film = [FILM_FILE] if task.outputs.film else []
        results = [*(FILES[name] for name in task.outputs.resolve(task.sequence.source)), *film]
        return CheckedItem(job, key, task.identity(), tuple(results), doubt_clicks(task.sequence, task.points))
    except FewpointError as error:
        return str(error)
    except Exception as error:
        return f"it could not be read: {type(error).__name__}: {error}"


def _make_key(job: Job) -> str:
    stamps = [stamp for path in job.files for stamp in _stamp(Path(path))]
    values = json.dumps([__version__, job.as_table(), stamps], sort_keys=True)
    return hashlib.sha256(values.encode()).hexdigest()


def _stamp(path: Path) -> list[tuple[str, int, int]]:
    """Name, size and time of a file, or of all files below a folder; nothing if there is none."""
    files = sorted(path.rglob("*")) if path.is_dir() else [path]
    states = [(str(file), file.stat()) for file in files if file.is_file()]
    return [(name, state.st_size, state.st_mtime_ns) for name, state in states]
