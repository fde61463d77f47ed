"""MultiResUNet (Ibtehaz and Rahman, 2020): a U-Net of inception-like blocks with residual skip paths."""

import math
from itertools import pairwise

import torch
from torch import Tensor, nn

from fewpoint.models.branches import Branch
from fewpoint.models.norms import add_normalised, join_scales, make_norm
from fewpoint.models.settings import NetworkSettings
from fewpoint.models.sizes import Convolution, double, fill_channels, halve

BLOCK_SHARES = (0.167, 0.333, 0.5)


class ConvUnit(nn.Sequential):
    """Convolution, normalisation and, unless it closes a shortcut, a ReLU."""

    def __init__(
        self, inputs: int, outputs: int, kernel: int, settings: NetworkSettings, activate: bool = True
    ) -> None:
        convolution = Convolution(inputs, outputs, kernel, padding=kernel // 2, bias=False)
        super().__init__(convolution, make_norm(settings, outputs, activate))


class MultiResBlock(nn.Module):
    """Three chained 3x3 convolutions (fields of view 3, 5, 7) side by side, plus a 1x1 shortcut."""

    def __init__(self, inputs: int, width: int, settings: NetworkSettings) -> None:
        super().__init__()
        widths = block_widths(width, settings)
        chain = zip((inputs, *widths[:-1]), widths, strict=True)
        self.chain = nn.ModuleList(ConvUnit(before, after, 3, settings) for before, after in chain)
        self.outputs = sum(widths)
        self.shortcut = ConvUnit(inputs, self.outputs, 1, settings, activate=False)
        self.norm = make_norm(settings, self.outputs, activate=True)

    def forward(self, features: Tensor) -> Tensor:
        (skip, skip_norm), (*units, (convolve, last_norm)) = self.shortcut, self.chain
        shortcut = Branch(skip, features)
        scales = []
        latest = features
        for unit in units:
            latest = unit(latest)
            scales.append(latest)
        scales.append(convolve(latest))
        return join_scales(scales, last_norm, shortcut.join(), skip_norm, self.norm)


class ResidualPath(nn.Module):
    """A skip connection: 3x3 convolutions, each with a 1x1 shortcut; longer where encoder and decoder differ more."""

    def __init__(self, inputs: int, outputs: int, length: int, settings: NetworkSettings) -> None:
        super().__init__()
        channels = [inputs] + [outputs] * length
        pairs = list(pairwise(channels))
        self.units = nn.ModuleList(ConvUnit(before, after, 3, settings) for before, after in pairs)
        self.shortcuts = nn.ModuleList(ConvUnit(before, after, 1, settings, activate=False) for before, after in pairs)

    def forward(self, features: Tensor) -> Tensor:
        for unit, shortcut in zip(self.units, self.shortcuts, strict=True):
            (convolve, norm), (skip, skip_norm) = unit, shortcut
            features = add_normalised(convolve(features), norm, skip(features), skip_norm)
        return features


class MultiResUNet(nn.Module):
    """Maps frames (B, C, H, W) to logits (B, H, W), or (B, K, H, W) of K > 1 objects.

    H and W must be multiples of 2 ** (levels - 1).
    fused: whether it goes through kernels of our own where it can.
    """

    def __init__(self, channels: int, settings: NetworkSettings, objects: int = 1) -> None:
        super().__init__()
        widths = [settings.base_width * 2**level for level in range(settings.levels)]
        self.encoder = nn.ModuleList()
        inputs = channels
        for width in widths:
            block = MultiResBlock(inputs, width, settings)
            self.encoder.append(block)
            inputs = block.outputs
        self.paths, self.upsamplers, self.decoder = nn.ModuleList(), nn.ModuleList(), nn.ModuleList()
        for level in reversed(range(settings.levels - 1)):
            width = round_width(widths[level], settings.multiple)
            length = min(settings.levels - 1 - level, settings.longest_path)
            self.paths.append(ResidualPath(self.encoder[level].outputs, width, length, settings))
            self.upsamplers.append(nn.ConvTranspose2d(inputs, width, 2, stride=2))
            block = MultiResBlock(2 * width, widths[level], settings)
            self.decoder.append(block)
            inputs = block.outputs
        self.head = nn.Conv2d(inputs, objects, 1)
        self.fused = settings.is_wide

    def forward(self, frames: Tensor) -> Tensor:
        skipped = []
        features = self.encoder[0](fill_channels(frames))
        for path, block in zip(reversed(self.paths), self.encoder[1:], strict=True):
            halved, features = halve(features, self.fused)
            skipped.append(Branch(path, features))
            features = block(halved)
        for upsampler, block in zip(self.upsamplers, self.decoder, strict=True):
            features = block(double(upsampler, features, skipped.pop().join(), self.fused))
        return self.head(features).squeeze(1)


def build_network(
    channels: int, settings: NetworkSettings, head_prior: float | tuple[float, ...], generator: torch.Generator
) -> MultiResUNet:
    """Build on the CPU with He initialisation; the last bias is the log-odds of head_prior.

    head_prior: of several objects one each, and the network has as many outputs.
    """
    head_priors = head_prior if isinstance(head_prior, tuple) else (head_prior,)
    network = MultiResUNet(channels, settings, len(head_priors))
    for module in network.modules():
        if isinstance(module, nn.Conv2d | nn.ConvTranspose2d):
            nn.init.kaiming_normal_(module.weight, nonlinearity="relu", generator=generator)
            if module.bias is not None:
                nn.init.zeros_(module.bias)
    network.head.bias.data = torch.tensor([-math.log((1 - prior) / prior) for prior in head_priors])
    return network


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
