"""MultiResUNet (Ibtehaz and Rahman, 2020): a U-Net of inception-like blocks with residual skip paths."""

import math
from collections.abc import Iterable, Sequence
from itertools import pairwise
from typing import TypeVar, cast

import torch
from torch import Tensor, nn

from fewpoint.models.joining import join_channels
from fewpoint.models.settings import NetworkSettings

BLOCK_SHARES = (0.167, 0.333, 0.5)
Norm = nn.BatchNorm2d | nn.GroupNorm
Module = TypeVar("Module", bound=nn.Module)


class ConvUnit(nn.Sequential):
    """Convolution, normalisation and, unless it closes a shortcut, a ReLU."""

    def __init__(
        self, inputs: int, outputs: int, kernel: int, settings: NetworkSettings, activate: bool = True
    ) -> None:
        convolution = nn.Conv2d(inputs, outputs, kernel, padding=kernel // 2, bias=False)
        activations = [nn.ReLU(inplace=True)] if activate else []
        super().__init__(convolution, make_norm(settings, outputs), *activations)

    @property
    def convolution(self) -> nn.Conv2d:
        return cast(nn.Conv2d, self[0])

    @property
    def norm(self) -> Norm:
        return cast(Norm, self[1])


class MultiResBlock(nn.Module):
    """Three chained 3x3 convolutions (fields of view 3, 5, 7) side by side, plus a 1x1 shortcut."""

    def __init__(self, inputs: int, width: int, settings: NetworkSettings) -> None:
        super().__init__()
        widths = block_widths(width, settings)
        chain = zip((inputs, *widths[:-1]), widths, strict=True)
        self.chain = _list_modules(ConvUnit(before, after, 3, settings) for before, after in chain)
        self.outputs = sum(widths)
        self.shortcut = ConvUnit(inputs, self.outputs, 1, settings, activate=False)
        self.norm = make_norm(settings, self.outputs)

    def forward(self, features: Tensor) -> Tensor:
        # A view of one channel counts as channels first in any layout, and convolutions then round differently.
        shortcut = self.shortcut(features.view_as(features))
        scales = []
        for unit in self.chain:
            features = unit(features)
            scales.append(features)
        return torch.relu_(self.norm(join_channels(scales) + shortcut))


class ResidualPath(nn.Module):
    """A skip connection: 3x3 convolutions, each with a 1x1 shortcut; longer if encoder and decoder differ more."""

    def __init__(self, inputs: int, outputs: int, length: int, settings: NetworkSettings) -> None:
        super().__init__()
        pairs = list(pairwise([inputs] + [outputs] * length))
        self.units = _list_modules(ConvUnit(before, after, 3, settings) for before, after in pairs)
        self.shortcuts = _list_modules(ConvUnit(before, after, 1, settings, activate=False) for before, after in pairs)

    def forward(self, features: Tensor) -> Tensor:
        for unit, shortcut in zip(self.units, self.shortcuts, strict=True):
            features = torch.relu(unit(features) + shortcut(features))
        return features


class MultiResUNet(nn.Module):
    """Maps frames (B, C, H, W) to logits (B, K, H, W) of K objects.

    H and W must be multiples of 2 ** (levels - 1).
    """

    def __init__(self, channels: int, settings: NetworkSettings, objects: int = 1) -> None:
        super().__init__()
        self.settings = settings
        widths = [settings.base_width * 2**level for level in range(settings.levels)]
        inputs, encoder = channels, []
        for width in widths:
            encoder.append(MultiResBlock(inputs, width, settings))
            inputs = encoder[-1].outputs
        paths, upsamplers, decoder = [], [], []
        for level in reversed(range(settings.levels - 1)):
            width = round_width(widths[level], settings.multiple)
            length = min(settings.levels - 1 - level, settings.longest_path)
            paths.append(ResidualPath(encoder[level].outputs, width, length, settings))
            upsamplers.append(nn.ConvTranspose2d(inputs, width, 2, stride=2))
            decoder.append(MultiResBlock(2 * width, widths[level], settings))
            inputs = decoder[-1].outputs
        self.encoder, self.paths = _list_modules(encoder), _list_modules(paths)
        self.upsamplers, self.decoder = _list_modules(upsamplers), _list_modules(decoder)
        self.head = nn.Conv2d(inputs, objects, 1)

    def forward(self, frames: Tensor) -> Tensor:
        skipped = []
        features = self.encoder[0](frames)
        for path, block in zip(reversed(self.paths), self.encoder[1:], strict=True):
            # Pooled before the path starts: autograd adds gradients in the reverse order, and another order rounds
            # differently.
            halved = nn.functional.max_pool2d(features, 2)
            skipped.append(path(features))
            features = block(halved)
        for upsampler, block in zip(self.upsamplers, self.decoder, strict=True):
            features = block(join_channels([upsampler(features), skipped.pop()]))
        return self.head(features)


def make_norm(settings: NetworkSettings, channels: int) -> Norm:
    """The normalisation that a network's settings ask for; group norm has groups of about eight channels."""
    if settings.norm == "group":
        return nn.GroupNorm(math.gcd(channels, max(1, channels // 8)), channels)
    return nn.BatchNorm2d(channels)


def block_widths(width: int, settings: NetworkSettings) -> tuple[int, ...]:
    """Channels of the three convolutions of a block of nominal width U.

    >>> block_widths(32, NetworkSettings(multiple=1))
    (8, 17, 26)
    """
    return tuple(round_width(int(settings.alpha * width * share), settings.multiple) for share in BLOCK_SHARES)


def round_width(width: int, multiple: int) -> int:
    """The nearest multiple, at least one.

    >>> round_width(17, 8), round_width(2, 8)
    (16, 8)
    """
    return max(multiple, round(width / multiple) * multiple)


def _list_modules(modules: Iterable[Module]) -> Sequence[Module]:
    """A ModuleList whose modules type checkers know."""
    return cast(Sequence[Module], nn.ModuleList(modules))
