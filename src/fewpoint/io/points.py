"""Clicks on one object, as CSV.

Two kinds are read, told apart by what is in them:

    frame,y,x        a row a point, in pixels from zero; `7,absent` says that frame 7 does not show the object
    2dlocs.csv       the public dataset's: four preamble lines, then frame;time;visible;x;y with x and y in [0, 1]
"""

import csv
import hashlib
import math
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from fewpoint.core.points import PointSet
from fewpoint.core.sequence import ImageSequence
from fewpoint.errors import InputError
from fewpoint.io.atomic import write_text
from fewpoint.io.decoding import check_exists, explaining_read_errors
from fewpoint.io.images import FRAMES_FOLDER

COLUMNS = ("frame", "y", "x")
LOCATIONS_FILE = "2dlocs.csv"
LOCATION_COLUMNS = ("frame", "time", "visible", "x", "y")
ABSENT = "absent"
LARGEST_COORDINATE = 2**31

Row = tuple[int, list[str]]  # line number from 1, stripped lower-case fields


def read_points(path: str | Path, sequence: ImageSequence) -> PointSet:
    """Read the points on one object and check that they lie inside the sequence.

    path: a file of either kind, or a folder that holds `2dlocs.csv`. Decimals are rounded half up to the pixel.
    """
    path = _locate(Path(path))
    text = _read_text(path)
    with _naming(path):
        points = _parse(text, sequence.size)
        points.check_inside(len(sequence), sequence.size)
    return points


def find_points(sequence_path: str | Path) -> Path | None:
    """The points that come with a sequence in the dataset's layout, given its folder or that of its frames."""
    path = Path(sequence_path)
    folder = path.resolve().parent if path.resolve().name == FRAMES_FOLDER else path
    found = folder / LOCATIONS_FILE
    return found if (folder / FRAMES_FOLDER).is_dir() and found.is_file() else None


def write_points(points: PointSet, path: Path) -> None:
    """Write the `frame,y,x` kind, absent frames last."""
    rows = [",".join(COLUMNS)]
    rows += [f"{frame},{y},{x}" for frame, y, x in points.coordinates.tolist()]
    rows += [f"{frame},{ABSENT}" for frame in points.absent]
    write_text(path, "\n".join(rows) + "\n")


def hash_points(points: PointSet) -> str:
    """SHA-256 (hex) of the points and absent frames."""
    return hashlib.sha256(repr((points.coordinates.tolist(), points.absent)).encode()).hexdigest()


def _locate(path: Path) -> Path:
    check_exists(path)
    if not path.is_dir():
        return path
    if not (path / LOCATIONS_FILE).is_file():
        raise InputError(f"no points in folder {path}: looked for {LOCATIONS_FILE}; give the points file itself")
    return path / LOCATIONS_FILE


@contextmanager
def _naming(path: Path) -> Iterator[None]:
    try:
        yield
    except InputError as error:
        raise InputError(f"points file {path}: {error}") from None


def _read_text(path: Path) -> str:
    with explaining_read_errors(path):
        data = path.read_bytes()
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise InputError(f"points file {path} must be text in UTF-8, got other bytes; save it as CSV UTF-8") from error
    if not text.strip():
        raise InputError(
            f"points file {path} is empty; it needs the header {','.join(COLUMNS)} and a row for each point"
        )
    return text


def _parse(text: str, size: tuple[int, int]) -> PointSet:
    locations = _find_locations(_split(text, ";"))
    return _parse_pixels(_split(text, ",")) if locations is None else _parse_locations(locations, size)


def _split(text: str, delimiter: str) -> list[Row]:
    """Rows that are not blank."""
    reader = csv.reader(text.splitlines(), delimiter=delimiter, skipinitialspace=True)
    try:
        rows = [(reader.line_num, [field.strip().lower() for field in row]) for row in reader]
    except csv.Error as error:
        raise InputError(f"line {reader.line_num} must be comma-separated text, got {error}; correct it") from error
    return [(line, fields) for line, fields in rows if any(fields)]


def _find_locations(rows: list[Row]) -> list[Row] | None:
    """Rows below the dataset's header, or None where there is no such header."""
    for index, (_, fields) in enumerate(rows[:10]):
        if tuple(fields) == LOCATION_COLUMNS:
            return rows[index + 1 :]
    return None


def _parse_locations(rows: list[Row], size: tuple[int, int]) -> PointSet:
    """Column = round(x (W - 1)), row = round(y (H - 1)); a row that is not visible holds no point."""
    points = []
    for line, fields in rows:
        values = _to_record(LOCATION_COLUMNS, fields, line)
        if _parse_number(values["visible"], "visible", line) == 0:
            continue
        y, x = (
            _round_half_up(_parse_number(values[axis], axis, line) * (length - 1))
            for axis, length in zip("yx", size, strict=True)
        )
        points.append((_parse_frame(values["frame"], line), y, x))
    return PointSet.from_rows(points)


def _parse_pixels(rows: list[Row]) -> PointSet:
    _, header = rows[0]
    if sorted(header) != sorted(COLUMNS):
        raise InputError(
            f"the header must be {','.join(COLUMNS)}, got {','.join(header)[:80]}; name the columns in the first line"
        )
    points, absent = [], []
    for line, fields in rows[1:]:
        values = _to_record(header, fields, line)
        frame = _parse_frame(values.pop("frame"), line)
        if ABSENT in values.values():
            _check_absent_row(values, line)
            absent.append(frame)
        else:
            points.append((frame, *(_round_half_up(_parse_number(values[axis], axis, line)) for axis in "yx")))
    return PointSet.from_rows(points, absent)


def _to_record(header: tuple[str, ...] | list[str], fields: list[str], line: int) -> dict[str, str]:
    """Fields by column; missing ones at the end are empty."""
    if any(fields[len(header) :]):
        raise InputError(f"line {line} must have {len(header)} fields ({','.join(header)}), got {len(fields)}")
    return dict(zip(header, fields + [""] * len(header), strict=False))


def _check_absent_row(values: dict[str, str], line: int) -> None:
    others = [text for text in values.values() if text not in ("", ABSENT)]
    if others:
        raise InputError(f"line {line} must hold a point or the word {ABSENT}, got both; remove one of the two")


def _parse_frame(text: str, line: int) -> int:
    frame = _parse_number(text, "frame", line)
    if frame != int(frame):
        raise InputError(f"line {line}: frame must be a whole number counted from zero, got {text}")
    return int(frame)


def _parse_number(text: str, column: str, line: int) -> float:
    try:
        number = float(text)
    except ValueError:
        number = math.nan
    if not abs(number) < LARGEST_COORDINATE:
        raise InputError(f"line {line}: {column} must be a number, got {text or 'nothing'}; correct the line")
    return number


def _round_half_up(number: float) -> int:
    """Round to the nearest whole number, halves upwards; exact, unlike floor(number + 0.5).

    >>> [_round_half_up(number) for number in (0.5, 1.5, 2.49, -0.5)]
    [1, 2, 2, 0]
    """
    whole = math.floor(number)
    return whole + (number - whole >= 0.5)
