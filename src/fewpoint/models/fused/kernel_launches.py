"""Launches of Triton kernels, which can be compiled in parallel before the first one runs.

Triton compiles a kernel when it is first launched, and the caller waits: one after another that takes many seconds.
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
    """A thread per kernel: one that is launched again and again in the same form is compiled once."""

    def __init__(self) -> None:
        self._threads: dict[int, ThreadPoolExecutor] = defaultdict(partial(ThreadPoolExecutor, 1))
        self._works: list[Future] = []

    def compile(self, kernel: Any, given: tuple[Any, ...], named: dict[str, Any]) -> None:
        """Start to compile and load a kernel for arguments like these."""
        self._works.append(self._threads[id(kernel)].submit(_compile, kernel, given, named))

    def wait(self) -> None:
        """Wait until all are compiled; raises the first error."""
        for thread in self._threads.values():
            thread.shutdown()
        for work in self._works:
            work.result()


_compilers: list[Compilers] = []  # active ones, of which the last gets all launches


def launch(kernel: Any, grid: tuple[int, ...], *given: Any, **named: Any) -> None:
    """Run a kernel on a grid of programs, or within compile_side_by_side only compile it."""
    if _compilers:
        _compilers[-1].compile(kernel, given, named)
    else:
        kernel[grid](*given, **named)


@contextmanager
def compile_side_by_side() -> Iterator[None]:
    """Within the block no kernel runs, whoever launches it, and results are undefined; at the end all are compiled."""
    _compilers.append(Compilers())
    try:
        yield
    finally:
        _compilers.pop().wait()


def _compile(kernel: Any, given: tuple[Any, ...], named: dict[str, Any]) -> None:
    kernel.warmup(*given, grid=GRID, **named)[GRID]
