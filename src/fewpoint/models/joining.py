"""Features side by side as channels of one tensor."""

from typing import Any

import torch
from torch import Tensor


def join_channels(parts: list[Tensor]) -> Tensor:
    """Tensors (B, C, h, w) as one, concatenated along the channels."""
    return torch.cat(parts, dim=1) if parts[0].is_cuda else _Joined.apply(*parts)


class _Joined(torch.autograd.Function):
    """A concatenation that gives each tensor its own contiguous gradient.

    That of torch is a view of some channels of each pixel; on a CPU, whatever reads it is slowed down by far more than
    the copy takes.
    """

    @staticmethod
    def forward(ctx: Any, *parts: Tensor) -> Tensor:
        ctx.channels = [part.shape[1] for part in parts]
        return torch.cat(parts, dim=1)

    @staticmethod
    def backward(ctx: Any, *grad_outputs: Tensor) -> tuple[Tensor, ...]:
        return tuple(piece.clone() for piece in grad_outputs[0].split(ctx.channels, dim=1))
