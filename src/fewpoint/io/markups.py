"""Point lists of 3D Slicer: .mrk.json, and .fcsv of its earlier versions."""

import csv
import json
from dataclasses import dataclass

from fewpoint.core.plain_text import parse_number
from fewpoint.errors import InputError

SUFFIXES = (".mrk.json", ".fcsv")
POINT_LIST = "Fiducial"
# Slicer has written the coordinate system as a word and, before that, as a number.
SYSTEMS = {"ras": "ras", "lps": "lps", "0": "ras", "1": "lps"}
OLD_COLUMNS = ("id", "x", "y", "z")


@dataclass(frozen=True)
class Mark:
    """A point in millimetres; where: what to call its place in the file in an error. positive: lies on the object."""

    where: str
    position: tuple[float, float, float]
    object: str
    positive: bool = True


def parse_markups(text: str) -> tuple[str, list[Mark]]:
    """The coordinate system, "ras" or "lps", and the placed points of all point lists of a .mrk.json.

    Each list is an object, named as in Slicer.
    """
    try:
        lists = [entry for entry in json.loads(text)["markups"] if entry.get("type", POINT_LIST) == POINT_LIST]
        systems = {str(entry.get("coordinateSystem", "LPS")) for entry in lists}
        marks = [_to_mark(index, point, entry) for entry in lists for index, point in enumerate(entry["controlPoints"])]
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        raise InputError(
            "a .mrk.json must hold point lists as 3D Slicer saves them, got something else; save it again there"
        ) from error
    if len(systems) != 1:
        raise InputError(f"a .mrk.json must hold point lists in one coordinate system, got {len(systems)}")
    return _name_system(systems.pop()), [mark for mark in marks if mark is not None]


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


def _to_mark(index: int, point: dict, entry: dict) -> Mark | None:
    """None for a point that was not placed yet."""
    if point.get("positionStatus", "defined") != "defined":
        return None
    x, y, z = map(float, point["position"])
    return Mark(f"point {point.get('label') or index + 1}", (x, y, z), str(entry.get("name") or ""))


def _to_old_mark(number: int, record: dict[str, str]) -> Mark:
    try:
        x, y, z = (parse_number(str(record[axis])) for axis in "xyz")
    except (KeyError, ValueError):
        raise InputError(f"line {number} must hold {','.join(OLD_COLUMNS)} and more, got something else") from None
    return Mark(f"line {number}", (x, y, z), "")


def _name_system(text: str) -> str:
    if text.lower() not in SYSTEMS:
        raise InputError(f"the coordinate system must be RAS or LPS, got {text[:40]}; save the points again in Slicer")
    return SYSTEMS[text.lower()]
