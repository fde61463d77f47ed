"""Point lists of 3D Slicer: .mrk.json, and .fcsv of its earlier versions.

Slicer knows no negative points, so names say it: a list or a point whose name ends in "negative" is where the object is
not.
"""

import csv
import json
from dataclasses import dataclass

from fewpoint.core.plain_text import parse_number
from fewpoint.errors import InputError

SUFFIXES = (".mrk.json", ".fcsv")
POINT_LIST = "Fiducial"
# Slicer has written the coordinate system as a word and, before that, as a number.
SYSTEMS = {"ras": "ras", "lps": "lps", "0": "ras", "1": "lps"}
SIGNS = {"ras": (1, 1, 1), "lps": (-1, -1, 1)}
UNITS_MM = {"mm": 1.0, "um": 1e-3}
NEGATIVE, JOINTS = "negative", " _-"
OLD_COLUMNS = ("id", "x", "y", "z")


@dataclass(frozen=True)
class Mark:
    """A point in millimetres; where: what to call its place in the file in an error. positive: lies on the object."""

    where: str
    position: tuple[float, float, float]
    object: str
    positive: bool = True


def parse_markups(text: str) -> tuple[str, list[Mark]]:
    """The coordinate system, always "ras", and the placed points of all point lists of a .mrk.json.

    Each list is an object, named as in Slicer; one called "liver negative" has the negatives of "liver", one called
    "negative" those of all objects.
    """
    try:
        lists = [entry for entry in json.loads(text)["markups"] if entry.get("type", POINT_LIST) == POINT_LIST]
        marks = [mark for entry in lists for mark in _read_list(entry)]
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        raise InputError(
            "a .mrk.json must hold point lists as 3D Slicer saves them, got something else; save it again there"
        ) from error
    if not lists:
        raise InputError("a .mrk.json must hold a point list, this one has none; place points and save them again")
    return "ras", marks


def split_name(name: str) -> tuple[str, bool]:
    """The object that a list or a point is about, and whether its points lie on it.

    >>> split_name("liver"), split_name("liver-negative"), split_name("Negative")
    (('liver', True), ('liver', False), ('', False))
    """
    head, ending = name[: -len(NEGATIVE)], name[-len(NEGATIVE) :]
    is_word = not head or head.endswith(tuple(JOINTS))
    return (head.rstrip(JOINTS), False) if ending.lower() == NEGATIVE and is_word else (name, True)


def parse_old_markups(text: str) -> tuple[str, list[Mark]]:
    """The coordinate system and the points of an .fcsv; RAS if it names none, as Slicer then wrote it."""
    system, columns, marks = "0", list(OLD_COLUMNS), []
    for number, row in enumerate(_split(text), 1):
        line = ",".join(row)
        key, _, value = line.lstrip("# ").partition("=")
        if line.startswith("#") and key.strip() == "CoordinateSystem":
            system = value.strip()
        elif line.startswith("#") and key.strip() == "columns":
            columns = [name.strip() for name in value.split(",")]
        elif line.strip() and not line.startswith("#"):
            marks.append(_to_old_mark(number, dict(zip(columns, row, strict=False))))
    return _name_system(system), marks


def _split(text: str) -> list[list[str]]:
    try:
        return list(csv.reader(text.splitlines()))
    except csv.Error as error:
        raise InputError(f"an .fcsv must be comma-separated text, got {error}; save it again in Slicer") from error


def _read_list(entry: dict) -> list[Mark]:
    """The placed points of a list, in RAS millimetres."""
    signs = SIGNS[_name_system(str(entry.get("coordinateSystem", "LPS")))]
    unit_mm = _measure_unit(entry.get("coordinateUnits", "mm"))
    name, on_object = split_name(str(entry.get("name") or ""))
    marks = []
    for number, point in enumerate(entry["controlPoints"], 1):
        if point.get("positionStatus", "defined") == "defined":
            label = str(point.get("label") or number)
            x, y, z = (sign * unit_mm * float(value) for sign, value in zip(signs, point["position"], strict=True))
            marks.append(Mark(f"point {label}", (x, y, z), name, on_object and split_name(label)[1]))
    return marks


def _measure_unit(given: object) -> float:
    """A unit in millimetres; given: its code, or a DICOM term whose first part is the code."""
    code = given[0] if isinstance(given, list) and given else given
    if code not in UNITS_MM:
        raise InputError(f"the points must be in mm or um, got {str(code)[:40]}; save them again in Slicer")
    return UNITS_MM[str(code)]


def _to_old_mark(number: int, record: dict[str, str]) -> Mark:
    try:
        x, y, z = (parse_number(str(record[axis])) for axis in "xyz")
    except (KeyError, ValueError):
        raise InputError(f"line {number} must hold {','.join(OLD_COLUMNS)} and more, got something else") from None
    return Mark(f"line {number}", (x, y, z), "", split_name(str(record.get("label") or ""))[1])


def _name_system(text: str) -> str:
    if text.lower() not in SYSTEMS:
        raise InputError(f"the coordinate system must be RAS or LPS, got {text[:40]}; save the points again in Slicer")
    return SYSTEMS[text.lower()]
