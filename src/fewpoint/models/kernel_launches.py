"""Orders to kernels of our own, which can be compiled side by side before the first is carried out.

Triton compiles a kernel when it is first asked for, and whoever asks waits: one after another that takes many seconds.
Nearly all of it runs outside the interpreter's lock.
"""

from collections import defaultdict
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from functools import partial
from typing import Any

GRID = (1, 1, 1)  # any will do to load a kernel


class Compilers:
    """A thread for each kernel: one that is asked for again and again in the same form is compiled once."""

    def __init__(self) -> None:
        self._threads: dict[int, ThreadPoolExecutor] = defaultdict(partial(ThreadPoolExecutor, 1))
        self._works: list[Future] = []

    def compile(self, kernel: Any, given: tuple[Any, ...], named: dict[str, Any]) -> None:
        """Begin to, for arguments like these, and to load it."""
        self._works.append(self._threads[id(kernel)].submit(_compile, kernel, given, named))

    def wait(self) -> None:
        """Until all is compiled; raises what went wrong first."""
        for thread in self._threads.values():
            thread.shutdown()
        for work in self._works:
            work.result()


_compilers: list[Compilers] = []  # at work, of which the last gets all orders


def launch(kernel: Any, grid: tuple[int, ...], *given: Any, **named: Any) -> None:
    """Carry a kernel out on so many programs, or within compile_side_by_side only compile it."""
    if _compilers:
        _compilers[-1].compile(kernel, given, named)
    else:
        kernel[grid](*given, **named)


@contextmanager
def compile_side_by_side() -> Iterator[None]:
    """Meanwhile no order is carried out, whoever gives it, and results hold anything; at the end all is compiled."""
    _compilers.append(Compilers())
    try:
        yield
    finally:
        _compilers.pop().wait()


def _compile(kernel: Any, given: tuple[Any, ...], named: dict[str, Any]) -> None:
    kernel.warmup(*given, grid=GRID, **named)[GRID]
