"""A branch changes when something is worked out, never what comes out."""

from collections.abc import Callable

import pytest
import torch
from torch import Tensor, nn

from fewpoint.models.fused import fuse
from fewpoint.models.fused import network as fused_network
from fewpoint.models.fused.branches import Branch
from fewpoint.models.networks import build_network
from fewpoint.models.settings import NetworkSettings

NARROW = NetworkSettings(base_width=4, levels=3, multiple=4)


class InPlace(Branch):
    """The same where it stands, without a stream."""

    def __init__(self, work: Callable[[Tensor], Tensor], features: Tensor) -> None:
        self._stream = None
        self._result = work(features.view_as(features))


def differentiate(network: nn.Module, frames: Tensor) -> list[Tensor]:
    logits = network(frames)
    gradients = torch.autograd.grad(logits.square().sum(), list(network.parameters()))
    return [logits.detach(), *gradients]


def record(network: nn.Module, frames: Tensor) -> list[Tensor]:
    """The same by a CUDA graph, which is replayed twice."""
    stream = torch.cuda.Stream()
    stream.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(stream):
        differentiate(network, frames)
    torch.cuda.current_stream().wait_stream(stream)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        results = differentiate(network, frames)
    for _ in range(2):
        graph.replay()
    return [each.clone() for each in results]


def test_a_branch_gives_what_its_function_gives():
    module, features = nn.Linear(3, 2), torch.ones(4, 3)
    assert torch.equal(Branch(module, features).join(), module(features))


def test_gradients_reach_what_a_branch_was_given():
    features = torch.tensor([2.0, 3.0], requires_grad=True)
    (Branch(torch.square, features).join() * features).sum().backward()
    assert features.grad.tolist() == [12.0, 27.0]  # of x ** 3


@pytest.mark.skipif(not torch.cuda.is_available(), reason="streams need CUDA")
def test_a_recorded_network_gives_the_same_with_branches_on_streams_of_their_own(monkeypatch):
    network = fuse(build_network(1, NARROW, (0.1,), torch.Generator().manual_seed(0)).cuda()).eval()
    frames = torch.randn(2, 1, 64, 64, generator=torch.Generator().manual_seed(1)).cuda()
    monkeypatch.setattr(torch.backends.cudnn, "deterministic", True)
    beside = record(network, frames)
    monkeypatch.setattr(fused_network, "Branch", InPlace)
    for mine, theirs in zip(beside, record(network, frames), strict=True):
        assert torch.equal(mine, theirs)
