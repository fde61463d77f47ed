"""Clicks on an object: CSV, or the point lists of 3D Slicer.

Told apart by what is in them:

    frame,y,x                    a row a point, in pixels from zero; `7,absent`: frame 7 does not show the object
    frame,y_share,x_share        the same in shares of the frame's height and width, 0 to 1
    i,j,k                        voxel indices from zero, in the order in which the volume's file stores its axes
    ras_x,ras_y,ras_z            millimetres to the patient's right, front and head
    lps_x,lps_y,lps_z            millimetres to the patient's left, back and head
    X,Y,Slice                    ImageJ's table of results, whose slices count from one
    axis-0,axis-1,axis-2         napari's points: frame, y, x
    2dlocs.csv                   the public dataset's: four preamble lines, then frame;time;visible;x;y in [0, 1];
                                 in its older layout a CSV in gaze-measurements/
    .mrk.json, .fcsv             3D Slicer's
    .fewpoint                    a project of the annotator

All tables but ImageJ's take two further columns: `object`, the name of what was clicked on, and `label`, 1 or positive
for a point on the object, 0 or negative for one where the object is not. `absent` or a negative with a name concerns
that object alone, without one all of them. io/point_tables.py says how a table is written.
"""

import csv
import hashlib
import math
from dataclasses import dataclass, field, replace
from io import StringIO
from pathlib import Path

import numpy as np

from fewpoint.core.geometry import Geometry
from fewpoint.core.given import need, need_path
from fewpoint.core.job import PointFiles
from fewpoint.core.points import PointSet, look_like_shares, round_half_up
from fewpoint.core.sequence import ImageSequence
from fewpoint.errors import InputError
from fewpoint.io.atomic import write_text
from fewpoint.io.decoding import check_exists, explaining_read_errors, naming
from fewpoint.io.images import FRAMES_FOLDER
from fewpoint.io.markups import Mark, parse_markups, parse_old_markups
from fewpoint.io.point_tables import (
    LABEL,
    LARGEST_COORDINATE,
    OBJECT,
    Kind,
    Record,
    Row,
    Table,
    parse_frame,
    parse_number,
    parse_table,
    split_rows,
    to_record,
)
from fewpoint.io.projects import SUFFIX, read_project

LOCATIONS_FILE = "2dlocs.csv"
OLD_LOCATIONS_FOLDER = "gaze-measurements"
LOCATION_COLUMNS = ("frame", "time", "visible", "x", "y")
ABSENT = "absent"
MOST_BYTES = 2**23  # several hundred thousand points


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

    path: a file of any kind above, or a folder in the dataset's layout. Decimals are rounded half up to the pixel.
    """
    path = _locate(need_path(path, "the points file"))
    need(sequence, ImageSequence, "sequence", "an ImageSequence, as read_sequence returns it")
    is_project = path.name.lower().endswith(SUFFIX)
    text = "" if is_project else _read_text(path)
    with naming(f"points file {path}"):
        points = read_project(path).project.to_points() if is_project else _parse(text, path.name.lower(), sequence)
        points.check_inside(len(sequence), sequence.size)
    return points


def read_point_files(files: PointFiles, sequence: ImageSequence) -> PointSet:
    """Read the points of several files together; a name says that all points of its file are on that object."""
    parts = [_name_points(name, path, read_points(path, sequence)) for name, path in files]
    paths = ", ".join(path for _, path in files)
    if len({bool(part.object_names) for part in parts}) > 1:
        raise InputError(f"all points files or none must name their objects: {paths}; give --points NAME=FILE")
    if len(parts) == 1:
        return parts[0]
    with naming(f"points files {paths}"):
        return PointSet.from_rows(
            np.concatenate([part.coordinates for part in parts]),
            [frame for part in parts for frame in part.absent],
            [name for part in parts for name in part.objects],
            np.concatenate([part.negatives for part in parts]),
            [name for part in parts for name in part.negative_objects or ("",) * len(part.negatives)],
            [mark for part in parts for mark in part.absent_of],
        )


def describe_files(files: PointFiles) -> str:
    """What several points files are taken for, in one sentence.

    >>> describe_files((("liver", "a.csv"), ("spleen", "b.csv")))
    'points: liver from a.csv, spleen from b.csv'
    >>> describe_files((("", "a.csv"), ("", "b.csv")))
    'points of a.csv and b.csv are taken together; --points NAME=FILE makes objects of files'
    """
    if not any(name for name, _ in files):
        together = " and ".join(path for _, path in files)
        return f"points of {together} are taken together; --points NAME=FILE makes objects of files"
    names = dict.fromkeys(name for name, _ in files)
    own = (f"{name} from {' and '.join(path for each, path in files if each == name)}" for name in names)
    return f"points: {', '.join(own)}"


def _name_points(name: str, path: str, points: PointSet) -> PointSet:
    """The points of a file, on the object of that name; as they are if there is none."""
    if not name or points.object_names == (name,):
        return points
    if points.object_names:
        names = ", ".join(points.object_names)
        raise InputError(f"points file {path} names objects itself: {names}; leave out {name}=")
    own = (name,) * len(points), (name,) * len(points.negatives)
    return replace(
        points,
        absent=(),
        objects=own[0],
        negative_objects=own[1],
        absent_of=tuple((frame, name) for frame in points.absent),
    )


def find_points(sequence_path: str | Path) -> Path | None:
    """The points that come with a sequence in the dataset's layout, given its folder or that of its frames."""
    path = Path(sequence_path)
    folder = path.resolve().parent if path.resolve().name == FRAMES_FOLDER else path
    return find_locations(folder) if (folder / FRAMES_FOLDER).is_dir() else None


def find_locations(folder: Path) -> Path | None:
    """The points of a folder in the dataset's layout: 2dlocs.csv, or the first CSV in gaze-measurements/."""
    places = (folder / LOCATIONS_FILE, *sorted((folder / OLD_LOCATIONS_FOLDER).glob("*.csv")))
    return next((place for place in places if place.is_file()), None)


def write_points(points: PointSet, path: Path) -> None:
    """Write the `frame,y,x` kind, negatives after the points, absent frames last; objects if they have names."""
    stream = StringIO()
    writer = csv.writer(stream, lineterminator="\n")
    labelled = len(points.negatives) > 0
    named = bool(points.objects or points.negative_objects)
    writer.writerow([*Kind.PIXELS.columns, *[LABEL] * labelled, *[OBJECT] * named])
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
    found = find_locations(path)
    if found is None:
        raise InputError(f"no points in folder {path}: looked for {LOCATIONS_FILE}; give the points file itself")
    return found


def _read_text(path: Path) -> str:
    with explaining_read_errors(path):
        data = path.read_bytes()
    if len(data) > MOST_BYTES:
        raise InputError(f"points file {path} must have at most {MOST_BYTES // 2**20} MiB, it has {len(data) >> 20}")
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise InputError(f"points file {path} must be text in UTF-8, got other bytes; save it as CSV UTF-8") from error
    if not text.strip():
        raise InputError(
            f"points file {path} is empty; it needs the header {','.join(Kind.PIXELS.columns)} and a row for each point"
        )
    return text


def _parse(text: str, name: str, sequence: ImageSequence) -> PointSet:
    if name.endswith(".mrk.json"):
        return _place_marks(*parse_markups(text), sequence.geometry)
    if name.endswith(".fcsv"):
        return _place_marks(*parse_old_markups(text), sequence.geometry)
    locations = _find_locations(split_rows(text, ";"))
    if locations is not None:
        return _parse_locations(locations, sequence.size)
    table = parse_table(text)
    if table.kind in (Kind.RAS, Kind.LPS):
        return _parse_positions(table, sequence.geometry)
    if table.kind == Kind.VOXELS:
        return _parse_voxels(table, sequence.geometry)
    return _parse_imagej(table) if table.kind == Kind.IMAGEJ else _parse_pixels(table, sequence.size)


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
        values = to_record(LOCATION_COLUMNS, fields, line)
        if parse_number(values["visible"], "visible", line) == 0:
            continue
        y, x = (
            round_half_up(parse_number(values[axis], axis, line) * (length - 1))
            for axis, length in zip("yx", size, strict=True)
        )
        points.append((parse_frame(values["frame"], line), y, x))
    return PointSet.from_rows(points)


def _parse_pixels(table: Table, size: tuple[int, int]) -> PointSet:
    """Rows of frame, y and x, in pixels or in shares of a frame of that size."""
    clicks, absent, places = Clicks(), [], []
    for record in table.records:
        frame = parse_frame(record.values[0], record.line)
        if _is_absent(record.values[1:], record.line):
            absent.append((frame, record.object))
            continue
        names = table.kind.columns[1:]
        place = [parse_number(*pair, record.line) for pair in zip(record.values[1:], names, strict=True)]
        if table.kind == Kind.SHARES:
            place = [_scale(*each, record.line) for each in zip(place, size, names, strict=True)]
        places += place
        y, x = map(round_half_up, place)
        clicks.add((frame, y, x), record.object, record.positive)
    if table.kind != Kind.SHARES and look_like_shares(places):
        raise InputError(
            "y and x must be pixels, but all lie between 0 and 1 as shares of the frame do; "
            f"name the columns {','.join(Kind.SHARES.columns)} if they are shares"
        )
    return clicks.as_points(absent)


def _scale(share: float, length: int, column: str, line: int) -> float:
    """The pixel of a share of a side, whose first and last pixel are 0 and 1."""
    if not 0 <= share <= 1:
        raise InputError(f"line {line}: {column} must be a share between 0 and 1, got {share:g}; correct the line")
    return share * (length - 1)


def _parse_imagej(table: Table) -> PointSet:
    """ImageJ counts slices from one, and a pixel reaches from its number to the next."""
    clicks = Clicks()
    for record in table.records:
        frame, y, x = (parse_number(*pair, record.line) for pair in zip(record.values, table.kind.columns, strict=True))
        if frame != int(frame) or frame < 1:
            raise InputError(f"line {record.line}: Slice must be a whole number from 1, got {record.values[0]}")
        clicks.add((int(frame) - 1, math.floor(y), math.floor(x)), "", True)
    return clicks.as_points([])


def _parse_voxels(table: Table, geometry: Geometry | None) -> PointSet:
    """Voxel indices; a row with `absent` and nothing but the index along the sliced axis marks that frame."""
    columns = table.kind.columns
    geometry = _need_geometry(geometry, ",".join(columns))
    sliced = geometry.axes[0]
    marks, absent = [], []
    for record in table.records:
        others = record.values[:sliced] + record.values[sliced + 1 :]
        if _is_absent(others, record.line):
            absent.append((parse_frame(record.values[sliced], record.line), record.object))
        else:
            marks.append(_to_mark(record, columns))
    return _place_voxels(marks, np.array([mark.position for mark in marks]), geometry, absent)


def _parse_positions(table: Table, geometry: Geometry | None) -> PointSet:
    marks = [_to_mark(record, table.kind.columns) for record in table.records]
    return _place_marks(table.kind.value, marks, geometry)


def _to_mark(record: Record, columns: tuple[str, ...]) -> Mark:
    first, second, third = (parse_number(*pair, record.line) for pair in zip(record.values, columns, strict=True))
    return Mark(f"line {record.line}", (first, second, third), record.object, record.positive)


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
        indices = [round_half_up(number) for number in voxel]
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
            f"this one does not: give {','.join(Kind.PIXELS.columns)}"
        )
    return geometry


def _is_absent(values: tuple[str, ...], line: int) -> bool:
    """Whether a row says `absent` in the place of its coordinates; not both."""
    words = {text.lower() for text in values} - {""}
    if ABSENT in words and len(words) > 1:
        raise InputError(f"line {line} must hold a point or {ABSENT}, got both; remove one of the two")
    return ABSENT in words
