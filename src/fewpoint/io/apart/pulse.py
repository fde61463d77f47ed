"""Signs of life of a process that decodes something long; without one it is ended after a while."""

import time
from collections.abc import Callable

SECONDS_BETWEEN = 1.0

_tell: Callable[[], None] | None = None
_last = 0.0


def start(tell: Callable[[], None]) -> None:
    """Have signs of life sent from now on."""
    global _tell  # noqa: PLW0603 - such a process does one thing and ends
    _tell = tell


def beat() -> None:
    """Say that the work goes on; says nothing if nobody waits to hear it, or right after the last time."""
    global _last  # noqa: PLW0603
    if _tell is not None and time.monotonic() - _last > SECONDS_BETWEEN:
        _last = time.monotonic()
        _tell()
