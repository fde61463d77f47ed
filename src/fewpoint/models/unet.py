"""A plain U-Net (Ronneberger et al., 2015): two 3x3 convolutions a level, each with a norm and a ReLU."""

from itertools import pairwise

import torch
from torch import Tensor, nn

from fewpoint.models.joining import join_channels
from fewpoint.models.multires_unet import ConvUnit
from fewpoint.models.settings import NetworkSettings


class UNet(nn.Module):
    """Maps frames (B, C, H, W) to logits (B, K, H, W) of K objects.

    Level l has base_width * 2 ** l channels at 1 / 2 ** l of the resolution. H and W must be multiples of
    2 ** (levels - 1).
    """

    def __init__(self, channels: int, settings: NetworkSettings, objects: int = 1) -> None:
        super().__init__()
        self.settings = settings
        widths = [settings.base_width * 2**level for level in range(settings.levels)]
        upwards = list(pairwise(reversed(widths)))
        self.encoder = nn.ModuleList(_convolve_twice(*pair, settings) for pair in pairwise([channels, *widths]))
        self.upsamplers = nn.ModuleList(nn.ConvTranspose2d(*pair, 2, stride=2) for pair in upwards)
        self.decoder = nn.ModuleList(_convolve_twice(2 * width, width, settings) for _, width in upwards)
        self.head = nn.Conv2d(widths[0], objects, 1)

    def forward(self, frames: Tensor) -> Tensor:
        first, *deeper = self.encoder
        levels = [first(frames)]
        for block in deeper:
            levels.append(block(torch.max_pool2d(levels[-1], 2)))
        features = levels.pop()
        for upsampler, block in zip(self.upsamplers, self.decoder, strict=True):
            features = block(join_channels([upsampler(features), levels.pop()]))
        return self.head(features)


def _convolve_twice(inputs: int, outputs: int, settings: NetworkSettings) -> nn.Sequential:
    return nn.Sequential(ConvUnit(inputs, outputs, 3, settings), ConvUnit(outputs, outputs, 3, settings))
