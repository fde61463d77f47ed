"""What the paper's tables are made of: a row for each run, in a csv that is read without the runs."""

import csv
from collections.abc import Iterable, Sequence
from dataclasses import astuple, dataclass, fields, replace
from io import StringIO
from pathlib import Path
from statistics import fmean
from typing import Any

from fewpoint import __version__
from fewpoint.bench.cells import Cell
from fewpoint.bench.protocols import parse_eta
from fewpoint.bench.results import Row, require
from fewpoint.bench.tables import collect_by_type
from fewpoint.errors import InputError
from fewpoint.io.atomic import write_text
from fewpoint.methods.registry import ALIASES

TRACKED, TUNED = "+ksptrack", " (tuned)"


@dataclass(frozen=True)
class PaperRow:
    """A run as the paper's tables see it.

    method: of a method whose paths can be left out NAME+ksptrack, or NAME without them. size, width: longer side of
    the frames and channels of the first level, None for a method without a network. factor: of the bound, or of the
    true shares if these are given. commit: of the program that ran. delta: f1 less Max SP.
    """

    method: str
    sequence: str
    type: str
    seed: int
    size: int | None
    width: int | None
    factor: float
    commit: str
    f1: float
    precision: float
    recall: float
    delta: float
    selected_epoch: int | None = None

    @property
    def place(self) -> str:
        return f"{self.type}/{self.sequence}"


COLUMNS = tuple(entry.name for entry in fields(PaperRow))
NUMBERS: dict[str, Any] = {
    **dict.fromkeys(("seed", "size", "width", "selected_epoch"), int),
    **dict.fromkeys(("factor", "f1", "precision", "recall", "delta"), float),
}
OPTIONAL = ("size", "width", "selected_epoch")


def read_paper_rows(path: Path) -> tuple[PaperRow, ...]:
    """The rows of a csv; InputError for one that lacks a column or holds something else than its figures."""
    try:
        with path.open(encoding="utf-8", newline="") as stream:
            table = list(csv.DictReader(stream))
        return tuple(PaperRow(**{name: _read(name, line[name]) for name in COLUMNS}) for line in table)
    except (OSError, ValueError, KeyError, TypeError, csv.Error) as error:
        raise InputError(f"rows must be a csv with the columns {','.join(COLUMNS)}, {path}: {error}") from error


def write_paper_rows(rows: Iterable[PaperRow], path: Path) -> None:
    """A csv with a column per field; figures with four digits."""
    stream = StringIO()
    writer = csv.writer(stream, lineterminator="\n")
    writer.writerow(COLUMNS)
    figures = {"f1", "precision", "recall", "delta"}
    for row in rows:
        pairs = zip(COLUMNS, astuple(row), strict=True)
        writer.writerow("" if value is None else f"{value:.4f}" if name in figures else value for name, value in pairs)
    write_text(path, stream.getvalue())


def rows_of_cell(cell: Cell, row: Row) -> list[PaperRow]:
    """What a finished cell gave, and if it found paths, what it would have given without them."""
    settings, ceiling = cell.settings or {}, require(row.max_sp)
    own = next((name for name, preset in ALIASES.items() if preset == cell.method), cell.method).removesuffix(TRACKED)
    found = PaperRow(
        method=own,
        sequence=row.sequence,
        type=row.type,
        seed=row.seed,
        size=settings.get("training", {}).get("max_side"),
        width=settings.get("network", {}).get("base_width"),
        factor=settings.get("given_prior", {}).get("factor", parse_eta(cell.bound)),
        commit=__version__,
        f1=require(row.f1),
        precision=require(row.precision),
        recall=require(row.recall),
        delta=require(row.f1) - ceiling,
        selected_epoch=row.stop_epoch,
    )
    if row.f1_untracked is None:
        return [found]
    untracked, *others = map(require, (row.f1_untracked, row.precision_untracked, row.recall_untracked))
    figures = {"f1": untracked, "precision": others[0], "recall": others[1], "delta": untracked - ceiling}
    return [replace(found, method=own + TRACKED), replace(found, **figures)]


def pick_tuned(candidates: Sequence[Sequence[PaperRow]]) -> list[PaperRow]:
    """The rows of the candidate with the best F1 against the truth, mean over types, under the name NAME (tuned).

    candidates: each the rows of one method with other settings.
    """

    def overall(rows: Sequence[PaperRow]) -> float:
        return fmean(map(fmean, collect_by_type((row.type, row.f1) for row in rows).values()))

    return [replace(row, method=row.method + TUNED) for row in max(candidates, key=overall)]


def _read(name: str, text: str) -> Any:
    if name in OPTIONAL and text == "":
        return None
    return NUMBERS.get(name, str)(text)
