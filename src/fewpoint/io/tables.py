"""Priors and training history as CSV, every digit kept."""

import csv
from collections.abc import Iterable
from dataclasses import astuple
from io import StringIO
from pathlib import Path
from typing import Any, get_type_hints

import numpy as np

from fewpoint.core.history import EpochRecord, PriorEstimate, PriorHistory
from fewpoint.errors import InputError
from fewpoint.io.atomic import write_text

Value = int | float | str | bool

PRIOR_COLUMNS: dict[str, type] = {"frame": int, "prior": float, "standard_deviation": float, "observed": float}
RECORD_COLUMNS: dict[str, type] = get_type_hints(EpochRecord)
TRUTH_VALUES = {"True": True, "False": False}


def write_priors(priors: PriorEstimate, path: Path) -> None:
    """Write one row per frame."""
    rows = zip(range(len(priors.mean)), priors.mean, priors.deviation, priors.observed, strict=True)
    _write_table(path, PRIOR_COLUMNS, rows)


def read_priors(path: Path) -> PriorEstimate:
    """Read what write_priors wrote."""
    values = np.array(_read_table(path, PRIOR_COLUMNS), np.float64).reshape(-1, len(PRIOR_COLUMNS))
    return PriorEstimate(values[:, 1], values[:, 2], values[:, 3])


def write_history(history: PriorHistory, path: Path) -> None:
    """Write one row per epoch, one column per field of EpochRecord."""
    _write_table(path, RECORD_COLUMNS, map(astuple, history.records))


def read_history_records(path: Path) -> tuple[EpochRecord, ...]:
    """Read the records that write_history wrote."""
    return tuple(EpochRecord(*row) for row in _read_table(path, RECORD_COLUMNS))


def _write_table(path: Path, columns: dict[str, type], rows: Iterable[Iterable[Value]]) -> None:
    stream = StringIO()
    writer = csv.writer(stream, lineterminator="\n")
    writer.writerow(columns)
    for row in rows:
        # Python's own float prints as few digits as give the same float again; NumPy's does not in every version.
        writer.writerow(str(kind(value)) for kind, value in zip(columns.values(), row, strict=True))
    write_text(path, stream.getvalue())


def _read_table(path: Path, columns: dict[str, type]) -> list[list[Any]]:
    """Rows of values, each of its column's type."""
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(f"cannot read {path}: {error}; check the path") from error
    reader = csv.reader(text.splitlines())
    header = next(reader, [])
    if header != list(columns):
        raise InputError(f"{path} must have the header {','.join(columns)}, got {','.join(header)[:80]}; save it again")
    try:
        return [[_parse(kind, text) for kind, text in zip(columns.values(), row, strict=True)] for row in reader]
    except (ValueError, KeyError) as error:
        raise InputError(f"{path}, line {reader.line_num}, must hold {','.join(columns)}: {error}") from error


def _parse(kind: type, text: str) -> Value:
    return TRUTH_VALUES[text] if kind is bool else kind(text)
