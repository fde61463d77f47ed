"""Clicks on an object: CSV, or the point lists of 3D Slicer.

Told apart by what is in them:

    frame,y,x                    a row a point, in pixels from zero; `7,absent`: frame 7 does not show the object
    i,j,k                        voxel indices from zero, in the order in which the volume's file stores its axes
    ras_x,ras_y,ras_z            millimetres to the patient's right, front and head
    lps_x,lps_y,lps_z            millimetres to the patient's left, back and head
    2dlocs.csv                   the public dataset's: four preamble lines, then frame;time;visible;x;y in [0, 1]
    .mrk.json, .fcsv             3D Slicer's
    .fewpoint                    a project of the annotator

The first four take two further columns: `object`, the name of what was clicked on, and `label`, 1 or positive for a
point on the object, 0 or negative for one where the object is not. `absent` or a negative with a name concerns that
object alone, without one all of them.
"""

import csv
import hashlib
import math
from dataclasses import dataclass, field
from io import StringIO
from pathlib import Path

import numpy as np

from fewpoint.core.geometry import Geometry
from fewpoint.core.points import PointSet
from fewpoint.core.sequence import ImageSequence
from fewpoint.errors import InputError
from fewpoint.io.atomic import write_text
from fewpoint.io.decoding import check_exists, explaining_read_errors, naming
from fewpoint.io.images import FRAMES_FOLDER
from fewpoint.io.markups import Mark, parse_markups, parse_old_markups
from fewpoint.io.projects import SUFFIX, read_project

COLUMNS = ("frame", "y", "x")
VOXEL_COLUMNS = ("i", "j", "k")
WORLD_COLUMNS = {system: tuple(f"{system}_{axis}" for axis in "xyz") for system in ("ras", "lps")}
OBJECT, LABEL = "object", "label"
LABELS = {"": True, "1": True, "positive": True, "0": False, "negative": False}
LOCATIONS_FILE = "2dlocs.csv"
LOCATION_COLUMNS = ("frame", "time", "visible", "x", "y")
ABSENT = "absent"
LARGEST_COORDINATE = 2**31

Row = tuple[int, list[str]]  # line number from 1, stripped fields


@dataclass(frozen=True)
class Table:
    """Rows of a CSV: (line, text by column) without objects and labels, which stand apart.

    objects: empty if there is no column of them. positive: whether each row lies on the object.
    """

    columns: tuple[str, ...]
    records: tuple[tuple[int, dict[str, str]], ...]
    objects: tuple[str, ...]
    positive: tuple[bool, ...]


@dataclass
class Clicks:
    """Points as they are read, those on the object and those where it is not, each with the name of its object."""

    positive: list[tuple[tuple[int, int, int], str]] = field(default_factory=list)
    negative: list[tuple[tuple[int, int, int], str]] = field(default_factory=list)

    def add(self, row: tuple[int, int, int], name: str, positive: bool) -> None:
        (self.positive if positive else self.negative).append((row, name))

    def as_points(self, absent: list[tuple[int, str]]) -> PointSet:
        """All of them, with names if any has one.

        absent: frames with the object that is not there, "" for all of them.
        """
        kinds = [[list(column) for column in zip(*pairs, strict=True)] for pairs in (self.positive, self.negative)]
        (rows, names), (negatives, others) = (columns or [[], []] for columns in kinds)
        named = any([*names, *others])
        everything = [frame for frame, name in absent if not name]
        single = [mark for mark in absent if mark[1]]
        return PointSet.from_rows(rows, everything, names if named else [], negatives, others if named else [], single)


def read_points(path: str | Path, sequence: ImageSequence) -> PointSet:
    """Read the points on one object or several, and those where it is not, and check that they lie inside the sequence.

    path: a file of any kind above, or a folder that holds `2dlocs.csv`. Decimals are rounded half up to the pixel.
    """
    path = _locate(Path(path))
    is_project = path.name.lower().endswith(SUFFIX)
    text = "" if is_project else _read_text(path)
    with naming(f"points file {path}"):
        points = read_project(path).project.to_points() if is_project else _parse(text, path.name.lower(), sequence)
        points.check_inside(len(sequence), sequence.size)
    return points


def find_points(sequence_path: str | Path) -> Path | None:
    """The points that come with a sequence in the dataset's layout, given its folder or that of its frames."""
    path = Path(sequence_path)
    folder = path.resolve().parent if path.resolve().name == FRAMES_FOLDER else path
    found = folder / LOCATIONS_FILE
    return found if (folder / FRAMES_FOLDER).is_dir() and found.is_file() else None


def write_points(points: PointSet, path: Path) -> None:
    """Write the `frame,y,x` kind, negatives after the points, absent frames last; objects if they have names."""
    stream = StringIO()
    writer = csv.writer(stream, lineterminator="\n")
    labelled = len(points.negatives) > 0
    named = bool(points.objects or points.negative_objects)
    writer.writerow([*COLUMNS, *[LABEL] * labelled, *[OBJECT] * named])
    kinds = ((1, points.coordinates, points.objects), (0, points.negatives, points.negative_objects))
    for label, rows, objects in kinds:
        names = objects or [""] * len(rows)
        writer.writerows(
            [*row, *[label] * labelled, *[name] * named] for row, name in zip(rows.tolist(), names, strict=True)
        )
    writer.writerows([frame, ABSENT] for frame in points.absent)
    writer.writerows([frame, ABSENT, "", *[""] * labelled, name] for frame, name in points.absent_of)
    write_text(path, stream.getvalue())


def hash_points(points: PointSet) -> str:
    """SHA-256 (hex) of the points, absent frames and negatives, and of the objects' names if there are several."""
    values: tuple = (points.coordinates.tolist(), points.absent)
    if len(points.negatives):
        values = (*values, points.negatives.tolist())
    if len(points.object_names) > 1:
        values = (*values, points.objects, points.negative_objects, points.absent_of)
    return hashlib.sha256(repr(values).encode()).hexdigest()


def _locate(path: Path) -> Path:
    check_exists(path)
    if not path.is_dir():
        return path
    if not (path / LOCATIONS_FILE).is_file():
        raise InputError(f"no points in folder {path}: looked for {LOCATIONS_FILE}; give the points file itself")
    return path / LOCATIONS_FILE


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


def _parse(text: str, name: str, sequence: ImageSequence) -> PointSet:
    if name.endswith(".mrk.json"):
        return _place_marks(*parse_markups(text), sequence.geometry)
    if name.endswith(".fcsv"):
        return _place_marks(*parse_old_markups(text), sequence.geometry)
    locations = _find_locations(_split(text, ";"))
    if locations is not None:
        return _parse_locations(locations, sequence.size)
    table = _parse_table(_split(text, ","))
    if set(table.columns) == set(COLUMNS):
        return _parse_pixels(table)
    if set(table.columns) == set(VOXEL_COLUMNS):
        return _parse_voxels(table, sequence.geometry)
    return _parse_positions(table, sequence.geometry)


def _split(text: str, delimiter: str) -> list[Row]:
    """Rows that are not blank."""
    reader = csv.reader(text.splitlines(), delimiter=delimiter, skipinitialspace=True)
    try:
        rows = [(reader.line_num, [field.strip() for field in row]) for row in reader]
    except csv.Error as error:
        raise InputError(f"line {reader.line_num} must be comma-separated text, got {error}; correct it") from error
    return [(line, fields) for line, fields in rows if any(fields)]


def _find_locations(rows: list[Row]) -> list[Row] | None:
    """Rows below the dataset's header, or None if there is no such header."""
    for index, (_, fields) in enumerate(rows[:10]):
        if tuple(field.lower() for field in fields) == LOCATION_COLUMNS:
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


def _parse_table(rows: list[Row]) -> Table:
    header = [field.lower() for field in rows[0][1]]
    columns = tuple(name for name in header if name not in (OBJECT, LABEL))
    known = (COLUMNS, VOXEL_COLUMNS, *WORLD_COLUMNS.values())
    twice = header.count(OBJECT) > 1 or header.count(LABEL) > 1
    if not any(sorted(columns) == sorted(names) for names in known) or twice:
        raise InputError(
            f"the header must be {','.join(COLUMNS)} or one of {' '.join(','.join(names) for names in known[1:])}, "
            f"got {','.join(header)[:80]}; name the columns in the first line"
        )
    records = [(line, _to_record(header, fields, line)) for line, fields in rows[1:]]
    objects = tuple(record.pop(OBJECT) for _, record in records) if OBJECT in header else ()
    positive = tuple(_parse_label(record.pop(LABEL, ""), line) for line, record in records)
    return Table(columns, tuple(records), objects, positive)


def _parse_label(text: str, line: int) -> bool:
    if text.lower() not in LABELS:
        raise InputError(f"line {line}: label must be 1 or 0, positive or negative, got {text[:40]}; correct the line")
    return LABELS[text.lower()]


def _parse_pixels(table: Table) -> PointSet:
    clicks, absent = Clicks(), []
    for place, (line, record) in enumerate(table.records):
        frame = _parse_frame(record["frame"], line)
        others = {axis: record[axis] for axis in "yx"}
        if _is_absent(others, line):
            absent.append((frame, "".join(table.objects[place : place + 1])))
        else:
            y, x = (_round_half_up(_parse_number(others[axis], axis, line)) for axis in "yx")
            clicks.add((frame, y, x), "".join(table.objects[place : place + 1]), table.positive[place])
    return clicks.as_points(absent)


def _parse_voxels(table: Table, geometry: Geometry | None) -> PointSet:
    """Voxel indices; a row with `absent` and nothing but the index along the sliced axis marks that frame."""
    geometry = _need_geometry(geometry, ",".join(VOXEL_COLUMNS))
    sliced = VOXEL_COLUMNS[geometry.axes[0]]
    marks, absent = [], []
    for place, (line, record) in enumerate(table.records):
        if _is_absent({axis: record[axis] for axis in VOXEL_COLUMNS if axis != sliced}, line):
            absent.append((_parse_frame(record[sliced], line), "".join(table.objects[place : place + 1])))
        else:
            indices = _parse_three(record, VOXEL_COLUMNS, line)
            name = "".join(table.objects[place : place + 1])
            marks.append(Mark(f"line {line}", indices, name, table.positive[place]))
    return _place_voxels(marks, np.array([mark.position for mark in marks]), geometry, absent)


def _parse_three(record: dict[str, str], columns: tuple[str, ...], line: int) -> tuple[float, float, float]:
    first, second, third = (_parse_number(record[name], name, line) for name in columns)
    return first, second, third


def _parse_positions(table: Table, geometry: Geometry | None) -> PointSet:
    system = next(iter(table.columns)).partition("_")[0]
    columns = WORLD_COLUMNS[system]
    marks = [
        Mark(
            f"line {line}",
            _parse_three(record, columns, line),
            "".join(table.objects[place : place + 1]),
            table.positive[place],
        )
        for place, (line, record) in enumerate(table.records)
    ]
    return _place_marks(system, marks, geometry)


def _place_marks(system: str, marks: list[Mark], geometry: Geometry | None) -> PointSet:
    """Millimetres to the nearest voxel; marks of one kind on one object that share a voxel are one point."""
    geometry = _need_geometry(geometry, "millimetres")
    positions = np.array([mark.position for mark in marks]).reshape(-1, 3)
    if system == "lps":
        positions = positions * (-1, -1, 1)
    voxels = geometry.to_voxels(positions)
    if not (np.abs(voxels) < LARGEST_COORDINATE).all():
        raise InputError("millimetres must be finite numbers within the volume, got others; correct them")
    voxels_of = np.floor(voxels + 0.5).tolist()
    keys = [(*voxel, mark.positive, mark.object) for voxel, mark in zip(voxels_of, marks, strict=True)]
    first = [keys.index(key) for key in sorted(set(keys))]
    return _place_voxels([marks[index] for index in first], voxels[first], geometry, [])


def _place_voxels(marks: list[Mark], voxels: np.ndarray, geometry: Geometry, absent: list[tuple[int, str]]) -> PointSet:
    """Points on the voxels nearest to (P, 3) coordinates i, j, k; an error names the mark that lies outside."""
    clicks = Clicks()
    for mark, voxel in zip(marks, voxels.tolist(), strict=True):
        indices = [_round_half_up(number) for number in voxel]
        if not all(0 <= index < length for index, length in zip(indices, geometry.shape, strict=True)):
            raise InputError(
                f"{mark.where} lies outside the volume: it falls on voxel {indices} of {list(geometry.shape)}; "
                "check the header row, which says what the numbers mean"
            )
        frame, y, x = (indices[axis] for axis in geometry.axes)
        clicks.add((frame, y, x), mark.object, mark.positive)
    return clicks.as_points(absent)


def _need_geometry(geometry: Geometry | None, what: str) -> Geometry:
    if geometry is None:
        raise InputError(
            f"points in {what} need an input that says where its voxels lie, such as NIfTI; "
            f"this one does not: give {','.join(COLUMNS)}"
        )
    return geometry


def _to_record(header: tuple[str, ...] | list[str], fields: list[str], line: int) -> dict[str, str]:
    """Fields by column; missing ones at the end are empty."""
    if any(fields[len(header) :]):
        raise InputError(f"line {line} must have {len(header)} fields ({','.join(header)}), got {len(fields)}")
    return dict(zip(header, fields + [""] * len(header), strict=False))


def _is_absent(values: dict[str, str], line: int) -> bool:
    """Whether a row says `absent` in the place of its coordinates; not both."""
    words = {text.lower() for text in values.values()} - {""}
    if ABSENT in words and len(words) > 1:
        raise InputError(f"line {line} must hold a point or the word {ABSENT}, got both; remove one of the two")
    return ABSENT in words


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
