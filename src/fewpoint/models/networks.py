"""The network that settings ask for."""

import math

import torch
from torch import nn

from fewpoint.models.multires_unet import MultiResUNet
from fewpoint.models.settings import NetworkSettings
from fewpoint.models.unet import UNet

Network = MultiResUNet | UNet


def build_network(
    channels: int, settings: NetworkSettings, head_priors: tuple[float, ...], generator: torch.Generator
) -> Network:
    """Build on the CPU with He initialisation; the last biases are the log-odds of head_priors, one per object."""
    kind = UNet if settings.kind == "unet" else MultiResUNet
    network = kind(channels, settings, len(head_priors))
    for module in network.modules():
        if isinstance(module, nn.Conv2d | nn.ConvTranspose2d):
            nn.init.kaiming_normal_(module.weight, nonlinearity="relu", generator=generator)
            if module.bias is not None:
                nn.init.zeros_(module.bias)
    network.head.bias = nn.Parameter(torch.tensor([-math.log((1 - prior) / prior) for prior in head_priors]))
    return network
