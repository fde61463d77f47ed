"""Casting all weights at once is no other training than casting each."""

import copy

import pytest
import torch
from torch import Tensor, nn

from fewpoint.learning.mixed_precision import MixedPrecision
from fewpoint.models.networks import build_network
from fewpoint.models.settings import NetworkSettings


@pytest.fixture
def network() -> nn.Module:
    settings = NetworkSettings(base_width=4, levels=2, multiple=4)
    return build_network(1, settings, (0.1,), torch.Generator().manual_seed(0)).train()


def descend(network: nn.Module, index: Tensor, noise: torch.Generator) -> Tensor:
    """Gradients of a mean square, with autocast as on a GPU."""
    frames = torch.randn(len(index), 1, 16, 16, generator=torch.Generator().manual_seed(1))
    with torch.autocast("cpu", torch.bfloat16):
        logits = network(frames)
    loss = logits.float().square().mean()
    loss.backward()
    return loss.detach()


def move(network: nn.Module) -> None:
    with torch.no_grad():
        for parameter in network.parameters():
            parameter.sub_(0.1 * parameter.grad)
            parameter.grad = None


def test_gradients_and_running_averages_are_those_of_autocast_to_the_bit(network):
    plain, index, noise = copy.deepcopy(network), torch.arange(2), torch.Generator()
    halves = MixedPrecision(network)
    for _ in range(3):
        assert torch.equal(halves.descend(descend, index, noise), descend(plain, index, noise))
        for (name, mine), (_, theirs) in zip(network.named_parameters(), plain.named_parameters(), strict=True):
            assert mine.grad.dtype == torch.float32 and torch.equal(mine.grad, theirs.grad), name
        move(network), move(plain)
    for mine, theirs in zip(network.buffers(), plain.buffers(), strict=True):
        assert torch.equal(mine, theirs)


def test_weights_stay_in_full_precision_and_under_their_names(network):
    names = set(network.state_dict())
    MixedPrecision(network).descend(descend, torch.arange(2), torch.Generator())
    assert set(network.state_dict()) == names
    assert all(each.dtype == torch.float32 for each in network.parameters())


def test_a_batch_in_parts_gets_the_mean_of_their_gradients(network):
    plain, index, noise = copy.deepcopy(network), torch.arange(4), torch.Generator().manual_seed(3)
    figures = MixedPrecision(network, parts=2).descend(descend, index, noise)
    alone = descend(plain, index[:2], noise)  # descend draws the same frames for either half
    torch.testing.assert_close(figures, alone, rtol=0, atol=0)
    for (name, mine), (_, theirs) in zip(network.named_parameters(), plain.named_parameters(), strict=True):
        assert mine.grad.dtype == torch.float32, name
        torch.testing.assert_close(mine.grad, theirs.grad, rtol=0, atol=0, msg=name)
