"""JSON with lists of a million entries, read and written so that other threads of this process need not wait."""

import json
from pathlib import Path
from typing import Any

import numpy as np

from fewpoint.core.packing import KIND, PIECE, pack, split
from fewpoint.errors import InputError

MOST_PLAIN = 2**18  # bytes of a message that are no long lists of whole numbers
LONG = 1024  # entries of a list that is packed
WIDTHS = (2, 3)  # of stretches, and of places


def pack_message(path: Path) -> np.ndarray:
    """The bytes of a JSON message whose long lists of pairs or triples are packed; made to be called apart.

    InputError for what is not JSON, and for a message that is large without such lists.
    """
    try:
        told = json.loads(path.read_bytes())
    except (ValueError, RecursionError):
        raise InputError("a message must be JSON, this is not; see docs/reference/http.md") from None
    packed: list[str] = []
    text = json.dumps(_pack_lists(told, packed), separators=(",", ":"))
    plain = len(text) - sum(map(len, packed))
    if plain > MOST_PLAIN:
        raise InputError(
            f"only lists of stretches or points may be long in a message, this one has {plain} bytes besides; "
            "send whole numbers, or less at once"
        )
    return np.frombuffer(text.encode(), np.uint8)


def _pack_lists(told: Any, packed: list[str]) -> Any:
    """A value with its long lists as text, which is also noted."""
    if isinstance(told, dict):
        return {name: _pack_lists(each, packed) for name, each in told.items()}
    if not isinstance(told, list):
        return told
    text = _pack_rows(told)
    if text is None:
        return [_pack_lists(each, packed) for each in told]
    packed.append(text)
    return text


def _pack_rows(rows: list[Any]) -> str | None:
    """A list of as many whole numbers each as text, None if it is not one or not long."""
    if len(rows) < LONG or not all(type(row) is list for row in rows):
        return None
    width = len(rows[0])
    if width not in WIDTHS or not all(len(row) == width and all(type(each) is int for each in row) for row in rows):
        return None
    try:
        numbers = np.array(rows, np.int64)
    except OverflowError:
        return None
    limits = np.iinfo(KIND)
    return pack(numbers) if limits.min <= numbers.min() and numbers.max() <= limits.max else None


def write_json(entry: Any) -> str:
    """What json.dumps makes of a value, long lists and arrays piece by piece.

    >>> write_json({"runs": np.array([[1, 3], [5, 1]])})
    '{"runs": [[1, 3], [5, 1]]}'
    """
    if isinstance(entry, dict) and entry:
        return "{" + ", ".join(f"{_dump(name)}: {write_json(each)}" for name, each in entry.items()) + "}"
    if isinstance(entry, np.ndarray) or (isinstance(entry, list | tuple) and len(entry) > PIECE):
        return "[" + ", ".join(_dump(piece)[1:-1] for piece in split(entry)) + "]"
    if isinstance(entry, list | tuple):
        return "[" + ", ".join(map(write_json, entry)) + "]"
    return _dump(entry)


def _dump(value: Any) -> str:
    plain = value.tolist() if isinstance(value, np.ndarray) else value
    return json.dumps(plain, ensure_ascii=False, allow_nan=False)
