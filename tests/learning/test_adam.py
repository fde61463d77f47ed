"""Our Adam takes the steps of torch's."""

import subprocess
import sys

import pytest
import torch
from torch import nn

from fewpoint.learning.adam import Adam


def make_network() -> nn.Module:
    torch.manual_seed(0)
    return nn.Sequential(nn.Conv2d(2, 5, 3), nn.BatchNorm2d(5), nn.ReLU(), nn.Conv2d(5, 1, 1))


def descend(network: nn.Module, forget, step, count: int, rates) -> None:
    noise = torch.Generator().manual_seed(1)
    for number in range(count):
        forget()
        network(torch.randn(2, 2, 8, 8, generator=noise)).square().mean().backward()
        rates(1e-2 / (1 + number))
        step()


@pytest.mark.parametrize("decay", [0.0, 1e-2])
def test_steps_are_those_of_torch_to_the_bit(decay):
    ours, theirs = make_network(), make_network()
    adam = Adam(ours.parameters(), decay)
    reference = torch.optim.Adam(theirs.parameters(), weight_decay=decay, foreach=True)

    def set_rate(rate: float) -> None:
        reference.param_groups[0]["lr"] = rate

    descend(ours, adam.forget_gradients, adam.step, 5, adam.set_rate)
    descend(theirs, reference.zero_grad, reference.step, 5, set_rate)
    for own, other in zip(ours.parameters(), theirs.parameters(), strict=True):
        assert torch.equal(own, other)


def test_moments_taken_up_go_on_as_if_never_left():
    whole, halves = make_network(), make_network()
    first, second = Adam(whole.parameters(), 0.0), Adam(halves.parameters(), 0.0)
    descend(whole, first.forget_gradients, first.step, 3, first.set_rate)
    halves.load_state_dict(whole.state_dict())
    second.load_state_dict(first.state_dict())
    for network, adam in ((whole, first), (halves, second)):
        descend(network, adam.forget_gradients, adam.step, 2, adam.set_rate)
    for own, other in zip(whole.parameters(), halves.parameters(), strict=True):
        assert torch.equal(own, other)


def test_a_parameter_without_a_gradient_stays():
    network = make_network()
    adam = Adam(network.parameters(), 1e-2)
    network[0].weight.grad = torch.ones_like(network[0].weight)
    before = [parameter.clone() for parameter in network.parameters()]
    adam.set_rate(1e-2)
    adam.step()
    changed = [not torch.equal(own, other) for own, other in zip(network.parameters(), before, strict=True)]
    assert changed == [True] + [False] * (len(changed) - 1)


def test_a_step_does_not_load_the_compiler():
    code = (
        "import sys, torch; from fewpoint.learning.adam import Adam; weight = torch.nn.Parameter(torch.ones(3)); "
        "adam = Adam([weight], 0.1); weight.grad = torch.ones(3); adam.set_rate(1.0); adam.step(); "
        "sys.exit('torch._dynamo' in sys.modules)"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
