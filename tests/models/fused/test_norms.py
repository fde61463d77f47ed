"""What is done by kernels and what is left to torch."""

from types import SimpleNamespace

import pytest
import torch
from torch import Tensor, nn

from fewpoint.models.fused import norms
from fewpoint.models.fused.available import Kernels, suits

ASKED = Kernels(norms=SimpleNamespace(), sizes=SimpleNamespace())


def make_batch(channels: int = 12, seed: int = 0) -> Tensor:
    return torch.randn(3, channels, 6, 5, generator=torch.Generator().manual_seed(seed)) * 2 + 1


def test_without_kernels_a_norm_is_torchs_followed_by_a_relu():
    norm = nn.BatchNorm2d(12)
    expected = torch.relu(norm(make_batch()))
    assert torch.equal(norms.normalise(make_batch(), norm, None), expected)


def test_without_kernels_a_sum_has_a_relu_behind_its_unit_and_one_behind_itself():
    norm, other = nn.BatchNorm2d(12).eval(), nn.GroupNorm(1, 12)
    expected = torch.relu(torch.relu(norm(make_batch())) + other(make_batch(seed=1)))
    assert torch.equal(norms.add_normalised(make_batch(), norm, make_batch(seed=1), other, None), expected)


@pytest.mark.parametrize(("training", "learning", "asked"), [(1, 1, True), (0, 0, True), (1, 0, False), (0, 1, False)])
def test_kernels_learn_and_predict_but_do_not_measure_statistics(training, learning, asked):
    norm = nn.BatchNorm2d(12).train(bool(training))
    with torch.set_grad_enabled(bool(learning)):
        assert (norms._choose(ASKED, norm, make_batch()) is ASKED.norms) == asked


def test_group_norms_and_batches_too_large_are_left_to_torch():
    large = torch.empty(2**16, 8, 64, 64, device="meta")
    assert norms._choose(ASKED, nn.BatchNorm2d(8), make_batch(8)) is ASKED.norms
    assert norms._choose(ASKED, nn.BatchNorm2d(8), make_batch(8), large) is None
    assert norms._choose(ASKED, nn.GroupNorm(1, 8), make_batch(8)) is None
    assert norms._choose(None, nn.BatchNorm2d(8), make_batch(8)) is None


def test_kernels_can_read_what_32_bits_can_count():
    assert suits(torch.empty(2, 8, 4, 4, device="meta"))
    assert not suits(torch.empty(2**16, 8, 64, 64, device="meta"))
    assert not suits(torch.empty(2**15, 8, 64, 64, device="meta"), wider=2)
