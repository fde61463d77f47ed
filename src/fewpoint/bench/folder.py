"""The folder of a suite's results, which the same command goes on with.

suite.json              whose folder it is
cells/KEY/result.json   what one cell gave, written last; montage.png, record.npz, regions.npz next to it, or error.txt
cells/KEY/run           of a cell that was killed: what it goes on with; its epochs' scores lie in epochs.jsonl
ceilings/KEY.json       Max SP of one sequence
starts/KEY/             the run that people correct, for as long as one of them is not done
results.csv, tables.md, tables.tex, report.html; of efforts also effort.png
"""

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from fewpoint.bench.cells import Cell, hash_values, make_slug
from fewpoint.bench.records import RECORD_FILE
from fewpoint.bench.results import Measurement, Row
from fewpoint.bench.rounds import EffortRow, Round
from fewpoint.bench.sequences import BenchSequence
from fewpoint.engines.jobs import summarise_error
from fewpoint.errors import InputError, RunConflictError
from fewpoint.io.atomic import PARTIAL_SUFFIX, explaining_write_errors, read_json, remove, write_json, write_text

MARK_FILE = "suite.json"
MARK_FORMAT = "fewpoint bench"
LOCK_FILE = ".lock"


@dataclass(frozen=True)
class BenchFolder:
    """Where the parts of a suite's results lie."""

    path: Path

    def result(self, cell: Cell) -> Path:
        return self.path / "cells" / cell.key / "result.json"

    def montage(self, key: str) -> Path:
        return self.path / "cells" / key / "montage.png"

    def first_montage(self, key: str) -> Path:
        return self.path / "cells" / key / "montage-0.png"

    @property
    def curves(self) -> Path:
        return self.path / "effort.png"

    def record(self, cell: Cell) -> Path:
        return self.path / "cells" / cell.key / RECORD_FILE

    def cell_error(self, cell: Cell) -> Path:
        return self.path / "cells" / cell.key / "error.txt"

    def start(self, cell: Cell) -> Path:
        return self.path / "starts" / cell.start.key

    def ceiling(self, sequence: BenchSequence) -> Path:
        name = f"{make_slug(sequence.type)}_{make_slug(sequence.name)}-{hash_values(sequence.fingerprint)}.json"
        return self.path / "ceilings" / name

    def collect(self, cells: Iterable[Cell]) -> tuple[Row, ...]:
        """A row for each cell that is finished or failed, in order."""
        return tuple(row for row in map(self._read_row, cells) if row is not None)

    def collect_efforts(self, cells: Iterable[Cell]) -> tuple[EffortRow, ...]:
        """The same of cells in which a person is played."""
        return tuple(row for row in map(self._read_effort, cells) if row is not None)

    def _read_effort(self, cell: Cell) -> EffortRow | None:
        if cell.effort is None:
            raise ValueError(f"no person is simulated in the cell {cell.key}; collect it with the others")
        known = {**_describe(cell), "words": cell.effort.words, "look": cell.effort.look}
        if self.result(cell).exists():
            rounds = read_json(self.result(cell))["rounds"]
            return EffortRow(**known, rounds=tuple(map(Round.from_table, rounds)))
        if self.cell_error(cell).exists():
            return EffortRow(**known, error=summarise_error(self.cell_error(cell).read_text(encoding="utf-8")))
        return None

    def _read_row(self, cell: Cell) -> Row | None:
        known = _describe(cell)
        if self.result(cell).exists():
            measured = Measurement.from_table(read_json(self.result(cell)))
            ceiling = read_ceiling(self.ceiling(cell.sequence))
            delta = None if ceiling is None else measured.f1 - ceiling
            return Row(**known, **vars(measured), max_sp=ceiling, delta=delta)
        if self.cell_error(cell).exists():
            return Row(**known, error=summarise_error(self.cell_error(cell).read_text(encoding="utf-8")))
        return None


def _describe(cell: Cell) -> dict[str, Any]:
    """What every row says of its cell."""
    return {
        "method": cell.method,
        "type": cell.sequence.type,
        "sequence": cell.sequence.name,
        "seed": cell.seed,
        "variant": cell.variant.name,
        "points": cell.points,
        "bound": cell.bound,
        "settings_hash": cell.settings_hash,
        "key": cell.key,
    }


@contextmanager
def open_folder(path: Path, suite: str, *, adopt: bool = False) -> Iterator[BenchFolder]:
    """Hold a folder that is new, empty, or of the same suite; clear what killed writes left in it.

    adopt: a folder of any suite will do, and stays that suite's.
    """
    import filelock

    suite = _find_owner(path, suite) if adopt else suite
    _refuse_foreign(path, suite)
    with explaining_write_errors(path):
        path.mkdir(parents=True, exist_ok=True)
        lock = filelock.FileLock(path / LOCK_FILE)
        try:
            lock.acquire(blocking=False)
        except filelock.Timeout:
            raise RunConflictError(f"another process works in {path}; wait for it or give another --out") from None
    try:
        _refuse_foreign(path, suite)
        for leftover in list(path.rglob(f"*{PARTIAL_SUFFIX}")):
            remove(leftover)
        write_json(path / MARK_FILE, {"format": MARK_FORMAT, "suite": suite})
        yield BenchFolder(path)
    finally:
        lock.release()


def read_ceiling(path: Path) -> float | None:
    """Max SP from a file; None if it is not there yet."""
    return read_json(path)["max_sp"] if path.exists() else None


def write_ceiling(path: Path, max_sp: float) -> None:
    write_json(path, {"max_sp": max_sp})


def write_error(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    write_text(path, text)


def _find_owner(path: Path, suite: str) -> str:
    """The suite that a folder belongs to, `suite` if it belongs to none."""
    try:
        return read_json(path / MARK_FILE).get("suite", suite)
    except InputError:
        return suite


def _refuse_foreign(path: Path, suite: str) -> None:
    """Refuse a file, a folder of another suite, and one that is not empty and not ours."""
    with explaining_write_errors(path):
        entries = [entry.name for entry in path.iterdir()] if path.exists() else []
    strangers = [name for name in entries if name != LOCK_FILE and not name.endswith(PARTIAL_SUFFIX)]
    if not strangers:
        return
    try:
        mark = read_json(path / MARK_FILE)
    except InputError:
        mark = {}
    if mark.get("format") != MARK_FORMAT:
        raise RunConflictError(f"{path} is not empty and holds no results of a suite; give another --out")
    if mark.get("suite") != suite:
        raise RunConflictError(f"{path} holds results of suite {mark.get('suite')}, not {suite}; give another --out")
