"""Features side by side as channels of one tensor."""

from typing import Any

import torch
from torch import Tensor


def join_channels(parts: list[Tensor]) -> Tensor:
    """The parts (B, C, h, w) as one, channel behind channel."""
    return torch.cat(parts, dim=1) if parts[0].is_cuda else _Joined.apply(*parts)


class _Joined(torch.autograd.Function):
    """A concatenation that gives each part a gradient of its own in one piece.

    That of torch's is a view of some channels of each pixel; on a CPU all that reads it then takes far longer than
    the copy does.
    """

    @staticmethod
    def forward(ctx: Any, *parts: Tensor) -> Tensor:
        ctx.channels = [part.shape[1] for part in parts]
        return torch.cat(parts, dim=1)

    @staticmethod
    def backward(ctx: Any, gradient: Tensor) -> tuple[Tensor, ...]:
        return tuple(piece.clone() for piece in gradient.split(ctx.channels, dim=1))
