"""What is kept of each cell, and the table of all of them."""

import csv
from collections.abc import Iterable
from dataclasses import asdict, dataclass, fields
from io import StringIO
from pathlib import Path
from typing import Any

from fewpoint.io.atomic import write_text
from fewpoint.report.health import FIGURES, Health


@dataclass(frozen=True)
class Measurement:
    """What one run of one method gave; None if the method has no such figure.

    bound_fraction: the bound the method used. prior_mae: mean over frames of the error of its estimated shares.
    f1_untracked, precision_untracked, recall_untracked: scores of the same run without tracking, for methods
    that track.
    absent_frames: frames that do not show the object; absent_false_positive: mean share of them that is marked.
    stop_epoch: the epoch whose priors were handed to the last phase; stop_f1: F1 of the superpixels at 0.5 or above
    after it. best_f1, best_epoch, best_prior_mae: the same F1 of the epoch where it is largest, and the error of that
    epoch's priors. time_s: seconds of the method alone.
    memory_mb, cuda_mb: largest memory of the process, reading and scoring included, and on the GPU, in MiB.
    health: what is known without the truth.
    """

    bound_fraction: float
    f1: float
    precision: float
    recall: float
    prior_mae: float
    stop_epoch: int | None
    time_s: float
    memory_mb: float
    cuda_mb: float | None = None
    f1_untracked: float | None = None
    precision_untracked: float | None = None
    recall_untracked: float | None = None
    absent_frames: int | None = None
    absent_false_positive: float | None = None
    stop_f1: float | None = None
    best_f1: float | None = None
    best_epoch: int | None = None
    best_prior_mae: float | None = None
    health: Health | None = None

    @classmethod
    def from_table(cls, table: dict[str, Any]) -> "Measurement":
        """What asdict made plain values of; those of earlier versions have no health."""
        return cls(**{**table, "health": Health.from_table(table.get("health"))})


@dataclass(frozen=True)
class Row:
    """A cell with what came of it, one column per field; a cell that failed has an error and no figures.

    max_sp: F1 of the best superpixels of the sequence. delta: f1 - max_sp. health: a column per figure. error: a line.
    """

    method: str
    type: str
    sequence: str
    seed: int
    variant: str
    points: str
    bound: str
    bound_fraction: float | None = None
    f1: float | None = None
    precision: float | None = None
    recall: float | None = None
    f1_untracked: float | None = None
    precision_untracked: float | None = None
    recall_untracked: float | None = None
    absent_frames: int | None = None
    absent_false_positive: float | None = None
    max_sp: float | None = None
    delta: float | None = None
    prior_mae: float | None = None
    stop_epoch: int | None = None
    stop_f1: float | None = None
    best_f1: float | None = None
    best_epoch: int | None = None
    best_prior_mae: float | None = None
    time_s: float | None = None
    memory_mb: float | None = None
    cuda_mb: float | None = None
    health: Health | None = None
    settings_hash: str = ""
    key: str = ""
    error: str = ""

    @property
    def group(self) -> tuple[str, str, str]:
        """Variant, points and bound: rows that are compared with each other."""
        return self.variant, self.points, self.bound

    @property
    def place(self) -> str:
        """Type and sequence."""
        return f"{self.type}/{self.sequence}"


def require(figure: float | None) -> float:
    """A figure that every finished cell has; ValueError for one that is missing."""
    if figure is None:
        raise ValueError("only a finished cell with a ceiling has all figures; leave the others out first")
    return figure


def write_rows(rows: Iterable[Row], path: Path) -> None:
    """Write a CSV, one row per cell, health_FIGURE for each figure of health; what is not known stays empty."""
    stream = StringIO()
    names = [entry.name for entry in fields(Row) if entry.name != "health"]
    columns = [*names, *(f"health_{figure}" for figure in FIGURES)]
    writer = csv.DictWriter(stream, columns, extrasaction="ignore", lineterminator="\n")
    writer.writeheader()
    for row in rows:
        figures = {} if row.health is None else asdict(row.health)
        writer.writerow({**asdict(row), **{f"health_{figure}": value for figure, value in figures.items()}})
    write_text(path, stream.getvalue())
