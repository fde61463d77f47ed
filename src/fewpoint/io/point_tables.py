"""Tables of points as people have them: which program wrote them, and what their columns mean.

The first line names the columns, in any order, with commas, semicolons or tabs between; with the last two a number may
have a decimal comma. Columns that are not needed are ignored.
"""

import csv
import difflib
import math
import re
from dataclasses import dataclass
from enum import Enum

from fewpoint.core import plain_text
from fewpoint.errors import InputError

OBJECT, LABEL = "object", "label"
LABELS = {"": True, "1": True, "positive": True, "0": False, "negative": False}
LARGEST_COORDINATE = 2**31
DELIMITERS = (",", ";", "\t")
NEARLY = 0.75  # likeness from which an unknown column is taken for a slip of the pen

Row = tuple[int, list[str]]  # line number from 1, stripped fields


class Kind(Enum):
    """What the numbers of a table are, told by its columns."""

    PIXELS = "pixels"
    SHARES = "shares"
    VOXELS = "voxels"
    RAS = "ras"
    LPS = "lps"
    IMAGEJ = "ImageJ"
    NAPARI = "napari"

    @property
    def columns(self) -> tuple[str, ...]:
        """The columns that it needs, in the order frame, y, x or that of the axes."""
        return COLUMNS[self]


COLUMNS: dict[Kind, tuple[str, ...]] = {
    Kind.PIXELS: ("frame", "y", "x"),
    Kind.SHARES: ("frame", "y_share", "x_share"),
    Kind.VOXELS: ("i", "j", "k"),
    Kind.RAS: ("ras_x", "ras_y", "ras_z"),
    Kind.LPS: ("lps_x", "lps_y", "lps_z"),
    Kind.IMAGEJ: ("slice", "y", "x"),
    Kind.NAPARI: ("axis-0", "axis-1", "axis-2"),
}


@dataclass(frozen=True)
class Record:
    """A row: text of the columns that its kind needs, the object's name or "", and whether it lies on the object."""

    line: int
    values: tuple[str, ...]
    object: str = ""
    positive: bool = True


@dataclass(frozen=True)
class Table:
    kind: Kind
    records: tuple[Record, ...]


def parse_table(text: str) -> Table:
    """The rows of a table with a header, of any kind.

    >>> parse_table("x;frame;y;note\\n4,5;0;3;well inside").records[0].values
    ('0', '3', '4.5')
    """
    delimiter = find_delimiter(text)
    rows = split_rows(text, delimiter)
    header = [field.lower() for field in rows[0][1]]
    kind = _find_kind(header)
    further = () if kind == Kind.IMAGEJ else (OBJECT, LABEL)
    _check_header(header, (*kind.columns, *further))
    if delimiter != ",":
        rows = [(line, [_decimal_point(field) for field in fields]) for line, fields in rows]
    records = [(line, to_record(header, fields, line)) for line, fields in rows[1:]]
    if kind == Kind.IMAGEJ:
        return Table(kind, tuple(_read_imagej(records)))
    return Table(
        kind,
        tuple(
            Record(
                line,
                tuple(values[column] for column in kind.columns),
                values.get(OBJECT, ""),
                _parse_label(values.get(LABEL, ""), line),
            )
            for line, values in records
        ),
    )


def find_delimiter(text: str) -> str:
    """The one that parts most fields of the first line.

    >>> find_delimiter("frame\\ty\\tx, in pixels")
    '\\t'
    """
    first = next(line for line in text.splitlines() if line.strip())
    return max(DELIMITERS, key=first.count)


def split_rows(text: str, delimiter: str) -> list[Row]:
    """Rows that are not blank."""
    reader = csv.reader(text.splitlines(), delimiter=delimiter, skipinitialspace=delimiter != "\t")
    try:
        rows = [(reader.line_num, [field.strip() for field in row]) for row in reader]
    except csv.Error as error:
        raise InputError(f"line {reader.line_num} must be comma-separated text, got {error}; correct it") from error
    return [(line, fields) for line, fields in rows if any(fields)]


def to_record(header: tuple[str, ...] | list[str], fields: list[str], line: int) -> dict[str, str]:
    """Fields by column; missing ones at the end are empty."""
    if any(fields[len(header) :]):
        raise InputError(f"line {line} must have {len(header)} fields ({','.join(header)}), got {len(fields)}")
    return dict(zip(header, fields + [""] * len(header), strict=False))


def parse_frame(text: str, line: int) -> int:
    frame = parse_number(text, "frame", line)
    if frame != int(frame):
        raise InputError(f"line {line}: frame must be a whole number counted from zero, got {text}")
    return int(frame)


def parse_number(text: str, column: str, line: int) -> float:
    try:
        number = plain_text.parse_number(text)
    except ValueError:
        number = math.nan
    if not abs(number) < LARGEST_COORDINATE:
        raise InputError(f"line {line}: {column} must be a number, got {text or 'nothing'}; correct the line")
    return number


def _find_kind(header: list[str]) -> Kind:
    """The kind whose columns are all there; ImageJ's tables of hyperstacks have a column frame of their own."""
    names = set(header)
    if names >= {*Kind.IMAGEJ.columns, "ch"}:
        return Kind.IMAGEJ
    kind = next((kind for kind, columns in COLUMNS.items() if names.issuperset(columns)), None)
    if kind is None:
        others = " ".join(",".join(columns) for columns in list(COLUMNS.values())[1:])
        raise InputError(
            f"the header must be {','.join(Kind.PIXELS.columns)} or one of {others}, "
            f"got {','.join(header)[:80]}; name the columns in the first line"
        )
    if kind == Kind.NAPARI and "axis-3" in names:
        raise InputError("points of napari must have three axes, frame, y and x, got more; save those of one channel")
    return kind


def _read_imagej(records: list[tuple[int, dict[str, str]]]) -> list[Record]:
    """Slice, y and x; of a hyperstack the frames take the place of the slices if those are all the same."""
    changing = [name for name in ("slice", "frame") if len({values.get(name, "") for _, values in records}) > 1]
    if len(changing) > 1:
        raise InputError("points of ImageJ must be on slices or on frames, they are on several of both; save one stack")
    place = changing[0] if changing else "slice"
    return [Record(line, (values[place], values["y"], values["x"])) for line, values in records]


def _check_header(header: list[str], wanted: tuple[str, ...]) -> None:
    for name in wanted:
        if header.count(name) > 1:
            raise InputError(f"each column must be named once, {name} is there {header.count(name)} times")
    for name in set(header) - set(wanted):
        near = difflib.get_close_matches(name, {OBJECT, LABEL} & set(wanted) - set(header), n=1, cutoff=NEARLY)
        if near:
            raise InputError(f"the column {name} means nothing here; did you mean {near[0]}? Rename it or remove it")


def _decimal_point(field: str) -> str:
    return field.replace(",", ".") if re.fullmatch(r"[-+]?\d*,\d+", field) else field


def _parse_label(text: str, line: int) -> bool:
    if text.lower() not in LABELS:
        raise InputError(f"line {line}: label must be 1 or 0, positive or negative, got {text[:40]}; correct the line")
    return LABELS[text.lower()]
