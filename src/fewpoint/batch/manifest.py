"""What a batch is to do: a CSV with one row per sequence, or a folder of inputs with points next to them."""

import csv
import difflib
from pathlib import Path

from fewpoint.errors import InputError
from fewpoint.io.decoding import check_exists
from fewpoint.io.points import find_points
from fewpoint.io.projects import is_project
from fewpoint.io.rows import COLUMNS, Row, strip_suffix

POINT_SUFFIXES = (".points.csv", ".mrk.json", ".fcsv", ".csv")


def read_rows(path: Path) -> tuple[Row, ...]:
    """The rows of a manifest, or of a folder, in order."""
    return _find_rows(path.absolute()) if path.is_dir() else _read_csv(path.absolute())


def _read_csv(path: Path) -> tuple[Row, ...]:
    check_exists(path)
    try:
        text = path.read_bytes().decode("utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(f"the manifest {path} must be a CSV in UTF-8, or a folder: {error}") from error
    reader = csv.reader(text.splitlines())
    header = [name.strip() for name in next(reader, [])]
    check_columns(header, f"the manifest {path}")
    rows = [
        Row(f"line {reader.line_num}", path.parent, _name_values(header, line))
        for line in reader
        if any(value.strip() for value in line)
    ]
    if not rows:
        raise InputError(f"the manifest {path} must have a row for each sequence, it has none")
    return tuple(rows)


def check_columns(header: list[str], where: str) -> None:
    """InputError for a column that there is not, one that is there twice, and a missing input."""
    for name in header:
        if name not in COLUMNS:
            nearest = difflib.get_close_matches(name, COLUMNS, n=1, cutoff=0.0)[0]
            raise InputError(
                f"{where} has a column {name[:40] or 'without a name'}; did you mean {nearest}? "
                f"There are {', '.join(COLUMNS)}"
            )
    if "input" not in header or len(set(header)) < len(header):
        raise InputError(f"{where} must have a column input, and each column once, got {','.join(header)}")


def _name_values(header: list[str], line: list[str]) -> dict[str, str]:
    """Values beyond the header are kept under a name of no column, so that the check of the row finds them."""
    named = dict(zip(header, line, strict=False))
    extra = {"": ",".join(line[len(header) :])} if len(line) > len(header) else {}
    return {name: value.strip() for name, value in {**named, **extra}.items() if value.strip()}


def _find_rows(folder: Path) -> tuple[Row, ...]:
    """Projects of the annotator, folders in the dataset's layout, and inputs with points of the same name."""
    entries = sorted(entry for entry in folder.iterdir() if not entry.name.startswith("."))
    points = {
        strip_suffix(entry.name, POINT_SUFFIXES): entry.name
        for entry in entries
        if entry.is_file() and entry.name.lower().endswith(POINT_SUFFIXES)
    }
    rows = []
    for entry in entries:
        if is_project(entry) or (entry.is_dir() and find_points(entry)):
            rows.append(Row(entry.name, folder, {"input": entry.name}))
        elif entry.name not in points.values() and (found := points.get(strip_suffix(entry.name))):
            rows.append(Row(entry.name, folder, {"input": entry.name, "points": found}))
    if not rows:
        raise InputError(
            f"no sequence with points found in {folder}: looked for NAME.nii.gz, NAME.mp4, a folder NAME or another "
            "input with NAME.csv, NAME.mrk.json or NAME.fcsv next to it, or NAME.fewpoint; give a manifest instead"
        )
    return tuple(rows)
