"""Means over superpixels, on the device and without a loop over superpixels."""

import torch
from torch import Tensor


def pool_regions(values: Tensor, labels: Tensor, regions: int) -> Tensor:
    """Mean of the values over each region; a region without a pixel gets 0.

    values: (B, H, W). labels: (B, H, W) int64 in 0 … regions; the label `regions` marks padding and is dropped.
    Returns (B, regions) in the dtype of values, at least float32.

    >>> pool_regions(torch.tensor([[[1.0, 3.0, 9.0]]]), torch.tensor([[[0, 0, 2]]]), 2)
    tensor([[2., 0.]])
    """
    batch = len(values)
    values = values.float().reshape(batch, -1)
    labels = labels.reshape(batch, -1)
    shape = (batch, regions + 1)
    sums = values.new_zeros(shape).scatter_add(1, labels, values)
    counts = values.new_zeros(shape).scatter_add(1, labels, torch.ones_like(values))
    return (sums / counts.clamp(min=1))[:, :regions]


def pool_largest(values: Tensor, labels: Tensor, regions: int) -> Tensor:
    """The same of the largest value of each region.

    >>> pool_largest(torch.tensor([[[1.0, 3.0, 9.0]]]), torch.tensor([[[0, 0, 2]]]), 2)
    tensor([[3., 0.]])
    """
    values = values.float().reshape(len(values), -1)
    nothing = values.new_zeros(len(values), regions + 1)
    return nothing.scatter_reduce(1, labels.reshape(len(labels), -1), values, "amax", include_self=False)[:, :regions]
