"""Normalisation with the ReLU behind it as one module, so that both can be done in one pass where that is faster."""

import math
from functools import lru_cache
from types import ModuleType

import torch
from torch import Tensor, nn

from fewpoint.models.settings import NetworkSettings

WIDE = 32  # base width of a network that learns so long that our kernels repay being compiled


class BatchNorm(nn.BatchNorm2d):
    """Batch norm, then a ReLU if asked for.

    fused: while training on CUDA, go through kernels of our own where Triton is installed. Those do not count batches,
    which nothing reads.
    """

    def __init__(self, channels: int, activate: bool, fused: bool) -> None:
        super().__init__(channels)
        self.activate = activate
        self.fused = fused

    def forward(self, features: Tensor) -> Tensor:
        learns = self.training and torch.is_grad_enabled()  # statistics alone are measured without gradients
        kernels = find_kernels() if learns and features.is_cuda and self.fused else None
        if kernels is None or not kernels.suits(features):
            return _activate(super().forward(features), self.activate)
        affine, running = (self.weight, self.bias), (self.running_mean, self.running_var)
        return kernels.normalise(features, affine, running, self.momentum, epsilon=self.eps, activate=self.activate)


class GroupNorm(nn.GroupNorm):
    """Group norm in groups of about eight channels, then a ReLU if asked for."""

    def __init__(self, channels: int, activate: bool) -> None:
        super().__init__(math.gcd(channels, max(1, channels // 8)), channels)
        self.activate = activate

    def forward(self, features: Tensor) -> Tensor:
        return _activate(super().forward(features), self.activate)


def make_norm(settings: NetworkSettings, channels: int, activate: bool) -> BatchNorm | GroupNorm:
    """The normalisation that a network's settings ask for."""
    if settings.norm == "group":
        return GroupNorm(channels, activate)
    return BatchNorm(channels, activate, fused=settings.base_width >= WIDE)


@lru_cache
def find_kernels() -> ModuleType | None:
    """The kernels for CUDA, tried out once; None where Triton, or what it needs to compile, is missing."""
    try:
        from fewpoint.models import norm_kernels

        batch = torch.randn(2, 8, 4, 4, device="cuda").to(memory_format=torch.channels_last).requires_grad_()
        affine, running = (torch.ones(8, device="cuda"),) * 2, (torch.zeros(8, device="cuda"),) * 2
        norm_kernels.normalise(batch, affine, running, 0.1, epsilon=1e-5, activate=True).sum().backward()
    except Exception:  # whatever it is that Triton lacks, torch's own kernels do the same
        return None
    return norm_kernels


def _activate(features: Tensor, activate: bool) -> Tensor:
    return torch.relu_(features) if activate else features
