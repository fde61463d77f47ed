"""Halving and doubling the size of features, and padding frames with channels."""

from types import ModuleType

import torch
from torch import Tensor, nn

from fewpoint.models.fused.available import Kernels, suits
from fewpoint.models.joining import join_channels

ALIGNED = 8  # channels that a GPU's convolutions read at once


def halve(features: Tensor, kernels: Kernels | None) -> tuple[Tensor, Tensor]:
    """The maximum of each two by two places, and the features themselves for whatever else needs them."""
    chosen = _choose(kernels, features)
    if chosen is None:
        return nn.functional.max_pool2d(features, 2), features
    # Group norm on CUDA gives its result with one plane per channel, however its input was laid out.
    return chosen.halve(features.contiguous(memory_format=torch.channels_last))


def double(upsampler: nn.ConvTranspose2d, features: Tensor, skipped: Tensor, kernels: Kernels | None) -> Tensor:
    """The features at twice the size, followed by the channels that skipped the smaller sizes."""
    chosen = _choose(kernels, skipped, wider=2)
    if chosen is None:
        return join_channels([upsampler(features), skipped])
    fine = nn.functional.conv_transpose2d(features, upsampler.weight, stride=upsampler.stride)
    fine, skipped = (each.contiguous(memory_format=torch.channels_last) for each in (fine, skipped))
    return chosen.set_beside(fine, upsampler.bias, skipped)


def convolve(convolution: nn.Conv2d, features: Tensor) -> Tensor:
    """A convolution of features that may have empty channels after those that it expects."""
    empty = features.shape[1] - convolution.in_channels
    if not empty:
        return convolution(features)
    weight = nn.functional.pad(convolution.weight, (0, 0, 0, 0, 0, empty))
    return convolution._conv_forward(features, weight, convolution.bias)


def fill_channels(frames: Tensor) -> Tensor:
    """On CUDA, frames with as many channels as are read at once: with one or three, convolutions take far longer."""
    empty = -frames.shape[1] % ALIGNED if frames.is_cuda else 0
    if not empty:
        return frames
    filled = nn.functional.pad(frames, (0, 0, 0, 0, 0, empty))
    return filled.contiguous(memory_format=torch.channels_last)


def _choose(kernels: Kernels | None, features: Tensor, wider: int = 1) -> ModuleType | None:
    """The kernels, if they can read a batch `wider` times as wide as the features."""
    return kernels.sizes if kernels is not None and suits(features, wider) else None
