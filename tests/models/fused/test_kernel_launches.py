"""Orders to kernels, carried out or only compiled."""

import threading

import pytest

from fewpoint.models.fused.kernel_launches import compile_side_by_side, launch


class Kernel:
    """Writes down what is asked of it, as one of Triton's would do it."""

    def __init__(self, wait: threading.Barrier | None = None) -> None:
        self.done: list[tuple] = []
        self.threads: set[int] = set()
        self._wait = wait

    def __getitem__(self, grid: tuple[int, ...]):
        return lambda *given, **named: self.done.append(("run", grid, given, named))

    def warmup(self, *given, grid: tuple[int, ...], **named) -> dict:
        self.threads.add(threading.get_ident())
        if self._wait is not None:
            self._wait.wait(timeout=180)
        self.done.append(("compile", given, named))
        return {grid: None}


def test_an_order_is_carried_out_on_its_programs():
    kernel = Kernel()
    launch(kernel, (3, 2), "values", rows=6)
    assert kernel.done == [("run", (3, 2), ("values",), {"rows": 6})]


def test_within_the_context_kernels_are_only_compiled_and_after_it_carried_out_again():
    kernel = Kernel()
    with compile_side_by_side():
        launch(kernel, (3, 2), "values", rows=6)
        launch(kernel, (5, 2), "others", rows=9)
    assert kernel.done == [("compile", ("values",), {"rows": 6}), ("compile", ("others",), {"rows": 9})]
    assert len(kernel.threads) == 1  # so that the second order finds what the first has compiled
    launch(kernel, (3, 2), "values", rows=6)
    assert kernel.done[-1] == ("run", (3, 2), ("values",), {"rows": 6})


def test_kernels_are_compiled_at_the_same_time():
    both = threading.Barrier(2)  # lets nobody through alone
    kernels = Kernel(both), Kernel(both)
    with compile_side_by_side():
        for kernel in kernels:
            launch(kernel, (1,), 0)
    assert [len(kernel.done) for kernel in kernels] == [1, 1]


def test_what_cannot_be_compiled_is_told_at_the_end_and_later_orders_are_carried_out():
    def fail(*given, **named):
        raise RuntimeError("no compiler")

    kernel = Kernel()
    kernel.warmup = fail
    with pytest.raises(RuntimeError, match="no compiler"), compile_side_by_side():
        launch(kernel, (1,), 0)
    launch(kernel, (1,), 0)
    assert kernel.done == [("run", (1,), (0,), {})]
