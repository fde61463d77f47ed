"""Whether there are Triton kernels on this machine, and whether they can read a batch."""

import logging
import subprocess
from functools import lru_cache
from types import ModuleType
from typing import NamedTuple

import torch
from torch import Tensor, nn

_log = logging.getLogger(__name__)


class Kernels(NamedTuple):
    """The modules that hold the kernels; importing them needs Triton."""

    norms: ModuleType
    sizes: ModuleType


@lru_cache
def find_kernels() -> Kernels | None:
    """The kernels, one of them tested; None and a line in the log without Triton or what it needs to compile."""
    try:
        from fewpoint.models.fused import norm_kernels, size_kernels
    except ImportError as problem:
        return _do_without(problem)
    try:
        _try_out(norm_kernels)
    except _compile_errors() as problem:
        return _do_without(problem)
    return Kernels(norm_kernels, size_kernels)


def suits(features: Tensor, wider: int = 1) -> bool:
    """Whether kernels can read it, or a batch `wider` times as wide: they index in 32 bits."""
    return wider * features.numel() < 2**31


def _try_out(norm_kernels: ModuleType) -> None:
    norm = norm_kernels.recall(nn.BatchNorm2d(8, device="cuda"))
    batch = torch.randn(2, 8, 4, 4, device="cuda", dtype=torch.bfloat16).to(memory_format=torch.channels_last)
    norm_kernels.normalise(batch, norm, activate=True)


def _compile_errors() -> tuple[type[Exception], ...]:
    """What Triton raises if it cannot compile: without a C compiler, Python's headers or CUDA's library.

    It asserts that the library is there, hence AssertionError.
    """
    from triton import TritonError  # pyright: ignore[reportMissingImports] - not on every machine

    return ImportError, OSError, RuntimeError, AssertionError, subprocess.SubprocessError, TritonError


def _do_without(problem: Exception) -> None:
    _log.warning(
        "Triton kernels are not available (%s: %s); networks as wide as the paper's learn more slowly, with the same "
        "results up to rounding",
        type(problem).__name__,
        problem,
    )
