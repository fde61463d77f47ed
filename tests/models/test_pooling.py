"""Means over superpixels against a loop that visits one superpixel at a time."""

import pytest
import torch
from torch import Tensor

from fewpoint.models.pooling import pool_regions


def pool_slowly(values: Tensor, labels: Tensor, regions: int) -> Tensor:
    rows = []
    for frame, frame_labels in zip(values, labels, strict=True):
        inside = [frame[frame_labels == region] for region in range(regions)]
        rows.append(torch.stack([pixels.mean() if len(pixels) else frame.new_zeros(()) for pixels in inside]))
    return torch.stack(rows)


@pytest.fixture
def generator() -> torch.Generator:
    return torch.Generator().manual_seed(4)


@pytest.fixture
def labels(generator) -> Tensor:
    """Two frames of regions 0 … 6 and padding 7; region 5 is missing from the first."""
    labels = torch.randint(0, 8, (2, 9, 11), generator=generator)
    labels[0][labels[0] == 5] = 7
    return labels


def test_means_equal_a_loop_over_superpixels(labels, generator):
    values = torch.randn(2, 9, 11, generator=generator)
    torch.testing.assert_close(pool_regions(values, labels, 7), pool_slowly(values, labels, 7))


def test_gradients_equal_those_of_the_loop(labels, generator):
    values = torch.randn(2, 9, 11, generator=generator, requires_grad=True)
    weights = torch.randn(2, 7, generator=generator)
    (fast,) = torch.autograd.grad((weights * pool_regions(values, labels, 7)).sum(), values)
    (slow,) = torch.autograd.grad((weights * pool_slowly(values, labels, 7)).sum(), values)
    torch.testing.assert_close(fast, slow)
    assert (fast[labels == 7] == 0).all()


def test_padding_does_not_reach_any_mean(labels, generator):
    values = torch.randn(2, 9, 11, generator=generator)
    spoilt = torch.where(labels == 7, torch.full_like(values, 1e6), values)
    torch.testing.assert_close(pool_regions(spoilt, labels, 7), pool_regions(values, labels, 7))


def test_a_region_without_a_pixel_gets_zero(labels, generator):
    assert pool_regions(torch.ones(2, 9, 11), labels, 7).tolist() == [[1, 1, 1, 1, 1, 0, 1], [1] * 7]


def test_half_precision_is_summed_in_single(labels):
    # Summed in bfloat16, 4096 ones stop growing at 256.
    values = torch.ones(1, 64, 64, dtype=torch.bfloat16)
    pooled = pool_regions(values, torch.zeros(1, 64, 64, dtype=torch.int64), 1)
    assert (pooled.dtype, pooled.tolist()) == (torch.float32, [[1.0]])
