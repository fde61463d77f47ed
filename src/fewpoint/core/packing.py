"""Long lists of pairs or triples of whole numbers as one text, which is read at once where a million lists are not.

What builds or reads a million small lists in one go holds up every other thread of a process meanwhile.
"""

import binascii
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

KIND = np.dtype("<i4")
PIECE = 4096  # entries that are made in one go, in about a millisecond

Rows = tuple[Any, ...]  # tuples of as many whole numbers each


def pack(rows: np.ndarray) -> str:
    """A (N, width) array as text: its 32-bit numbers, the lowest byte first, in base64.

    >>> unpack(pack(np.array([[1, 3], [5, 1]])), 2)
    ((1, 3), (5, 1))
    """
    return binascii.b2a_base64(rows.astype(KIND).tobytes(), newline=False).decode("ascii")


def unpack(text: str, width: int) -> Rows:
    """The rows of a text; ValueError for one that holds none."""
    data = binascii.a2b_base64(text.encode("ascii"), strict_mode=True)
    if len(data) % (width * KIND.itemsize):
        raise ValueError(f"packed numbers must come {width} by {width}")
    return to_rows(np.frombuffer(data, KIND).reshape(-1, width))


def to_rows(numbers: np.ndarray) -> Rows:
    """The rows of a (N, width) array as tuples, made piece by piece.

    >>> to_rows(np.array([[1, 3], [5, 1]]))
    ((1, 3), (5, 1))
    """
    found: list[tuple[int, ...]] = []
    for piece in split(numbers):
        found.extend(map(tuple, piece.tolist()))
    return tuple(found)


def split(rows: Any) -> Iterator[Any]:
    """A long sequence in pieces."""
    for start in range(0, len(rows), PIECE):
        yield rows[start : start + PIECE]


@dataclass(frozen=True)
class Packable:
    """Lets messages have a field packed as well as plain; width: numbers in an entry. Read by pydantic."""

    width: int

    def __get_pydantic_core_schema__(self, source: Any, handler: Callable[[Any], Any]) -> Any:
        from pydantic_core import core_schema

        return core_schema.no_info_wrap_validator_function(self._read, handler(source))

    def _read(self, value: Any, read_plain: Callable[[Any], Any]) -> Any:
        return unpack(value, self.width) if isinstance(value, str) else read_plain(value)
