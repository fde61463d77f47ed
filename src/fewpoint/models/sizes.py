"""A network's ways down to half the size and up again, in fewer passes where kernels of our own can."""

from types import ModuleType

import torch
from torch import Tensor, nn

from fewpoint.models.joining import join_channels
from fewpoint.models.norms import find_kernels, suits

ALIGNED = 8  # channels that a GPU's convolutions read at once


def halve(features: Tensor, fused: bool) -> tuple[Tensor, Tensor]:
    """The largest of each two by two places, and the features themselves for whatever else needs them.

    fused: on CUDA, go through kernels of our own where Triton is installed; here and below.
    """
    kernels = _choose_kernels(features, fused)
    return (nn.functional.max_pool2d(features, 2), features) if kernels is None else kernels.halve(features)


def double(upsampler: nn.ConvTranspose2d, features: Tensor, skipped: Tensor, fused: bool) -> Tensor:
    """The features at twice the size, beside those that skipped the smaller sizes."""
    kernels = _choose_kernels(skipped, fused, wider=2)
    if kernels is None:
        return join_channels([upsampler(features), skipped])
    fine = nn.functional.conv_transpose2d(features, upsampler.weight, stride=upsampler.stride)
    fine, skipped = (each.contiguous(memory_format=torch.channels_last) for each in (fine, skipped))
    return kernels.set_beside(fine, upsampler.bias, skipped)


class Convolution(nn.Conv2d):
    """A convolution that takes features with empty channels behind those that it asks for."""

    def forward(self, features: Tensor) -> Tensor:
        empty = features.shape[1] - self.in_channels
        weight = nn.functional.pad(self.weight, (0, 0, 0, 0, 0, empty)) if empty else self.weight
        return self._conv_forward(features, weight, self.bias)


def fill_channels(frames: Tensor) -> Tensor:
    """On CUDA, frames with as many channels as are read at once: of one or three, convolutions take far longer."""
    empty = -frames.shape[1] % ALIGNED if frames.is_cuda else 0
    if not empty:
        return frames
    filled = nn.functional.pad(frames, (0, 0, 0, 0, 0, empty))
    return filled.contiguous(memory_format=torch.channels_last)


def _choose_kernels(features: Tensor, fused: bool, wider: int = 1) -> ModuleType | None:
    """The kernels, where they can read what is so many times wider than the features."""
    if not (fused and features.is_cuda and suits(features, wider)) or find_kernels() is None:
        return None
    from fewpoint.models import size_kernels

    return size_kernels
