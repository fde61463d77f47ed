"""Normalisation with the ReLU behind it as one module, so that both can be done in one pass where that is faster."""

import math
from functools import lru_cache
from types import ModuleType
from typing import Any

import torch
from torch import Tensor, nn

from fewpoint.models.joining import join_channels
from fewpoint.models.settings import NetworkSettings


class BatchNorm(nn.BatchNorm2d):
    """Batch norm, then a ReLU if asked for.

    fused: on CUDA, go through kernels of our own where Triton is installed. Those do not count batches, which nothing
    reads.
    """

    def __init__(self, channels: int, activate: bool, fused: bool) -> None:
        super().__init__(channels)
        self.activate = activate
        self.fused = fused

    def forward(self, features: Tensor) -> Tensor:
        kernels = self.choose_kernels(features)
        if kernels is None:
            return _activate(super().forward(features), self.activate)
        features = _lay_out(features)
        return kernels.normalise(features, self.settle(features, kernels), self.activate)

    def choose_kernels(self, features: Tensor) -> ModuleType | None:
        """The kernels, where they can do what is asked: learn, or predict; not measure statistics alone."""
        asked = self.fused and features.is_cuda and self.training == torch.is_grad_enabled()
        kernels = find_kernels() if asked else None
        return kernels if kernels is not None and suits(features) else None

    def settle(self, features: Tensor, kernels: ModuleType, parts: Tensor | None = None) -> Any:
        """This norm for the kernels, by what it measures of the features or, in prediction, by its averages."""
        return kernels.measure(features, self, parts) if self.training else kernels.recall(self)


class GroupNorm(nn.GroupNorm):
    """Group norm in groups of about eight channels, then a ReLU if asked for."""

    def __init__(self, channels: int, activate: bool) -> None:
        super().__init__(math.gcd(channels, max(1, channels // 8)), channels)
        self.activate = activate

    def forward(self, features: Tensor) -> Tensor:
        return _activate(super().forward(features), self.activate)


Norm = BatchNorm | GroupNorm


def make_norm(settings: NetworkSettings, channels: int, activate: bool) -> Norm:
    """The normalisation that a network's settings ask for."""
    if settings.norm == "group":
        return GroupNorm(channels, activate)
    return BatchNorm(channels, activate, fused=settings.is_wide)


def add_normalised(unit: Tensor, unit_norm: Norm, shortcut: Tensor, shortcut_norm: Norm) -> Tensor:
    """ReLU of the sum of a unit's and a shortcut's features, both normalised; in one pass where kernels can."""
    kernels = _choose_kernels(unit_norm, unit, shortcut)
    if kernels is None:
        return torch.relu(unit_norm(unit) + shortcut_norm(shortcut))
    unit, shortcut = _lay_out(unit), _lay_out(shortcut)
    settled = unit_norm.settle(unit, kernels), shortcut_norm.settle(shortcut, kernels)
    return kernels.add(unit, settled[0], shortcut, settled[1])


def join_scales(scales: list[Tensor], last_norm: Norm, shortcut: Tensor, shortcut_norm: Norm, norm: Norm) -> Tensor:
    """The norm of scales side by side plus a shortcut; in fewer passes where kernels can.

    Of the scales the last, and the shortcut, are still to be normalised.
    """
    kernels = _choose_kernels(norm, *scales, shortcut)
    if kernels is None:
        return norm(join_channels([*scales[:-1], last_norm(scales[-1])]) + shortcut_norm(shortcut))
    *scales, shortcut = map(_lay_out, (*scales, shortcut))
    settled = last_norm.settle(scales[-1], kernels), shortcut_norm.settle(shortcut, kernels)
    joined, parts = kernels.join(scales, settled[0], shortcut, settled[1], norm.running_mean)
    return kernels.normalise(joined, norm.settle(joined, kernels, parts), norm.activate)


@lru_cache
def find_kernels() -> ModuleType | None:
    """The kernels for CUDA, one of them tried out; None where Triton, or what it needs to compile, is missing."""
    try:
        from fewpoint.models import norm_kernels

        norm = norm_kernels.recall(nn.BatchNorm2d(8, device="cuda"))
        batch = torch.randn(2, 8, 4, 4, device="cuda", dtype=torch.bfloat16).to(memory_format=torch.channels_last)
        norm_kernels.normalise(batch, norm, activate=True)
    except Exception:  # whatever it is that Triton lacks, torch's own kernels do the same
        return None
    return norm_kernels


def suits(features: Tensor, wider: int = 1) -> bool:
    """Whether kernels of our own can read it, or what is so many times wider: 32 bits must count its places."""
    return wider * features.numel() < 2**31


def _choose_kernels(norm: Norm, *batches: Tensor) -> ModuleType | None:
    """The kernels, where they can read all the batches."""
    kernels = norm.choose_kernels(batches[0]) if isinstance(norm, BatchNorm) else None
    return kernels if kernels is not None and all(map(suits, batches)) else None


def _lay_out(features: Tensor) -> Tensor:
    """The features with channels last, as they nearly always are."""
    return features.contiguous(memory_format=torch.channels_last)


def _activate(features: Tensor, activate: bool) -> Tensor:
    return torch.relu_(features) if activate else features
