"""Norms give what torch's own modules give, with the ReLU inside."""

import copy

import pytest
import torch
from torch import nn

from fewpoint.models import norms
from fewpoint.models.norms import make_norm
from fewpoint.models.settings import NetworkSettings


def make_batch(seed: int = 0) -> torch.Tensor:
    batch = torch.randn(3, 12, 6, 5, generator=torch.Generator().manual_seed(seed)) * 2 + 1
    return batch.to(memory_format=torch.channels_last)


@pytest.mark.parametrize("activate", [True, False])
def test_a_batch_norm_is_torchs_followed_by_a_relu_if_asked_for(activate):
    ours, theirs = make_norm(NetworkSettings(), 12, activate), nn.BatchNorm2d(12)
    for training in (True, False):
        expected = theirs.train(training)(make_batch())
        expected = torch.relu(expected) if activate else expected
        assert torch.equal(ours.train(training)(make_batch()), expected)
    assert torch.equal(ours.running_mean, theirs.running_mean)


@pytest.mark.parametrize("activate", [True, False])
def test_a_group_norm_is_torchs_followed_by_a_relu_if_asked_for(activate):
    normalised = nn.GroupNorm(1, 12)(make_batch())
    expected = torch.relu(normalised) if activate else normalised
    torch.testing.assert_close(make_norm(NetworkSettings(norm="group"), 12, activate)(make_batch()), expected)


def test_group_norm_fits_every_number_of_channels_in_groups_of_eight_or_more():
    made = {channels: make_norm(NetworkSettings(norm="group"), channels, activate=True) for channels in range(1, 200)}
    assert all(channels % norm.num_groups == 0 for channels, norm in made.items())
    assert all(channels / norm.num_groups >= min(channels, 8) for channels, norm in made.items())
    assert made[64].num_groups == 8


def test_weights_of_a_torch_batch_norm_fit():
    theirs = nn.BatchNorm2d(12)
    theirs(make_batch())
    ours = make_norm(NetworkSettings(), 12, activate=False)
    ours.load_state_dict(copy.deepcopy(theirs.state_dict()))
    assert torch.equal(ours.eval()(make_batch(1)), theirs.eval()(make_batch(1)))


def test_where_kernels_cannot_be_tried_out_there_are_none(monkeypatch):
    monkeypatch.setattr(torch, "randn", lambda *_, **__: (_ for _ in ()).throw(RuntimeError("no device")))
    norms.find_kernels.cache_clear()
    assert norms.find_kernels() is None
    norms.find_kernels.cache_clear()
