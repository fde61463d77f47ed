"""Work that goes on without an event for long asks between its steps whether it is to stop."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar

_check: ContextVar[Callable[[], None] | None] = ContextVar("check", default=None)


@contextmanager
def stoppable(check: Callable[[], None]) -> Iterator[None]:
    """Let what is done within be stopped by an error that `check` raises; it is called often, in this thread alone.

    >>> with stoppable(lambda: print("asked")):
    ...     check_stop()
    asked
    """
    before = _check.set(check)
    try:
        yield
    finally:
        _check.reset(before)


def check_stop() -> None:
    """Stop here if whoever began the work wants it to; every loop over frames asks, see paging.walk."""
    check = _check.get()
    if check is not None:
        check()
