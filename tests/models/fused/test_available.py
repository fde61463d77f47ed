"""Without Triton, or a compiler for it, a run is slower and says why; any other failure is not hidden."""

import logging
import subprocess
import sys
from collections.abc import Iterator
from types import ModuleType

import pytest

from fewpoint.models.fused import available


class TritonError(Exception):
    """Stands for Triton's own, which need not be installed."""


@pytest.fixture(autouse=True)
def forget() -> Iterator[None]:
    available.find_kernels.cache_clear()
    yield
    available.find_kernels.cache_clear()


@pytest.fixture
def installed(monkeypatch) -> None:
    """As if Triton were installed, and the kernels could be imported."""
    triton, package = ModuleType("triton"), sys.modules["fewpoint.models.fused"]
    triton.TritonError = TritonError
    monkeypatch.setitem(sys.modules, "triton", triton)
    for name in ("norm_kernels", "size_kernels"):
        module = ModuleType(name)
        monkeypatch.setitem(sys.modules, f"fewpoint.models.fused.{name}", module)
        monkeypatch.setattr(package, name, module, raising=False)


def fail_with(problem: Exception, monkeypatch) -> None:
    def fail(norm_kernels: ModuleType) -> None:
        raise problem

    monkeypatch.setattr(available, "_try_out", fail)


def test_without_triton_there_are_none_and_the_log_says_so_once(monkeypatch, caplog):
    monkeypatch.setitem(sys.modules, "triton", None)  # makes its import fail
    for name in ("norm_kernels", "size_kernels", "kernel_tables"):
        monkeypatch.delitem(sys.modules, f"fewpoint.models.fused.{name}", raising=False)
        monkeypatch.delattr(sys.modules["fewpoint.models.fused"], name, raising=False)
    with caplog.at_level(logging.WARNING):
        assert available.find_kernels() is None and available.find_kernels() is None
    (record,) = caplog.records
    assert "Triton kernels are not available (ModuleNotFoundError: " in record.message


@pytest.mark.parametrize(
    "problem",
    [
        RuntimeError("Failed to find C compiler"),
        OSError("no space left on device"),
        AssertionError("libcuda.so cannot found!"),
        subprocess.CalledProcessError(1, "gcc"),
        TritonError("ptxas"),
    ],
)
def test_what_keeps_triton_from_compiling_is_logged(problem, installed, monkeypatch, caplog):
    fail_with(problem, monkeypatch)
    with caplog.at_level(logging.WARNING):
        assert available.find_kernels() is None
    assert f"{type(problem).__name__}: {problem}" in caplog.text


@pytest.mark.parametrize("problem", [TypeError("a mistake in a kernel"), AttributeError("another"), MemoryError()])
def test_a_mistake_is_not_taken_for_a_missing_compiler(problem, installed, monkeypatch):
    fail_with(problem, monkeypatch)
    with pytest.raises(type(problem)):
        available.find_kernels()


def test_kernels_that_could_be_tried_out_are_found(installed, monkeypatch, caplog):
    monkeypatch.setattr(available, "_try_out", lambda norm_kernels: None)
    found = available.find_kernels()
    assert (found.norms.__name__, found.sizes.__name__) == ("norm_kernels", "size_kernels")
    assert not caplog.records
