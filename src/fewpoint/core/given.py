"""Values that a caller gives, checked: what is of a wrong kind is an InputError that says what it should be."""

import math
import numbers
from pathlib import Path
from typing import Any, TypeVar

import numpy as np

from fewpoint.errors import InputError

K = TypeVar("K")


def need(value: Any, kind: type[K] | tuple[type[K], ...], what: str, words: str) -> K:
    """The value, if it is of a kind; what: its name, words: what it should be.

    >>> need(3, int, "the seed", "a whole number")
    3
    """
    if not isinstance(value, kind):
        raise fault(value, what, words)
    return value


def need_whole(value: Any, what: str) -> int:
    """A whole number, NumPy's included; 2.0 counts, True and 2.5 do not.

    >>> need_whole(np.int64(3), "frame")
    3
    """
    if not _is_number(value) or value != int(value):
        raise fault(value, what, "a whole number")
    return int(value)


def need_number(value: Any, what: str) -> float:
    """A finite number, NumPy's included."""
    if not _is_number(value):
        raise fault(value, what, "a finite number")
    return float(value)


def need_real(value: Any, what: str) -> float:
    """A number of any size, infinite ones and NaN included, for callers that say which they take."""
    if not _is_real(value):
        raise fault(value, what, "a number")
    return float(value)


def need_path(value: Any, what: str) -> Path:
    """A path, from text or as it is."""
    return Path(need(value, (str, Path), what, "a path"))


def fault(value: Any, what: str, words: str) -> InputError:
    """The error about a value that should be something else."""
    shown = f"{type(value).__name__} {value!r}" if isinstance(value, str | int | float) else type(value).__name__
    return InputError(f"{what} must be {words}, got {shown[:80]}")


def _is_number(value: Any) -> bool:
    return _is_real(value) and math.isfinite(value)


def _is_real(value: Any) -> bool:
    return isinstance(value, numbers.Real | np.integer | np.floating) and not isinstance(value, bool | np.bool_)
