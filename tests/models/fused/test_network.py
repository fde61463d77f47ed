"""A fused network is the plain one by other means: the same weights, names and results."""

import copy
import os

import pytest
import torch
from torch import Tensor, nn

from fewpoint.learning.mixed_precision import MixedPrecision
from fewpoint.models.fused import FusedNetwork, fuse, runs_kernels
from fewpoint.models.fused import network as fused_network
from fewpoint.models.multires_unet import MultiResUNet
from fewpoint.models.networks import build_network
from fewpoint.models.settings import NetworkSettings

NARROW = NetworkSettings(base_width=4, levels=3, multiple=4)
GROUPED = NetworkSettings(base_width=4, levels=2, multiple=1, norm="group")
WIDE = NetworkSettings(levels=1)
INTERPRETED = bool(os.environ.get("TRITON_INTERPRET"))
DEVICE = "cuda" if torch.cuda.is_available() and not INTERPRETED else "cpu"


def build(
    settings: NetworkSettings = NARROW, channels: int = 1, head_priors: tuple[float, ...] = (0.1,)
) -> MultiResUNet:
    return build_network(channels, settings, head_priors, torch.Generator().manual_seed(0))


def draw(*shape: int) -> Tensor:
    return torch.randn(shape, generator=torch.Generator().manual_seed(1))


def learn(network: nn.Module, frames: Tensor, mixed: bool = False) -> list[Tensor]:
    """Logits, gradients and, after them, what the norms have seen; then a prediction."""
    with torch.autocast(frames.device.type, torch.bfloat16, enabled=mixed):
        logits = network.train()(frames)
    gradients = torch.autograd.grad(logits.float().square().mean() + logits.float().mean(), list(network.parameters()))
    averages = [each.clone() for each in network.buffers() if each.is_floating_point()]  # not the counts of batches
    with torch.no_grad():
        return [logits.detach(), *gradients, *averages, network.eval()(frames)]


def test_on_a_cpu_the_network_itself_does_without():
    network = build(WIDE)
    assert fuse(network) is network
    assert not runs_kernels(network)


def test_weights_are_shared_under_their_names_and_in_their_order():
    plain = build()
    fused = FusedNetwork(plain)
    assert list(fused.state_dict()) == list(plain.state_dict())
    for mine, theirs in zip(fused.parameters(), plain.parameters(), strict=True):
        assert mine is theirs
    fused.load_state_dict({name: torch.ones_like(value) for name, value in plain.state_dict().items()})
    assert all((value == 1).all() for value in plain.state_dict().values())


def test_a_fused_network_is_fused_once():
    fused = FusedNetwork(build())
    assert fuse(fused) is fused


def test_its_state_is_that_of_its_norms():
    plain = build().eval()
    fused = FusedNetwork(plain)
    assert not fused.training
    fused.train()
    assert all(module.training for module in plain.modules() if isinstance(module, nn.BatchNorm2d))


@pytest.mark.parametrize("mixed", [False, True])
@pytest.mark.parametrize("layout", [torch.contiguous_format, torch.channels_last])
@pytest.mark.parametrize("channels", [1, 3])
@pytest.mark.parametrize("settings", [NARROW, GROUPED, NetworkSettings(base_width=2, levels=4, multiple=1)])
def test_without_kernels_results_and_gradients_are_those_of_the_plain_network_to_the_bit(
    settings, channels, layout, mixed
):
    frames = draw(3, channels, 16, 24).to(memory_format=layout)
    plain = build(settings, channels).to(memory_format=layout)
    fused = FusedNetwork(copy.deepcopy(plain))
    for mine, theirs in zip(learn(fused, frames, mixed), learn(plain, frames, mixed), strict=True):
        assert mine.dtype == theirs.dtype and torch.equal(mine, theirs)


def test_channels_added_to_frames_change_nothing_but_rounding(monkeypatch):
    plain, frames = build(channels=3).double(), draw(2, 3, 16, 16).double()
    fused = FusedNetwork(copy.deepcopy(plain))
    monkeypatch.setattr(fused_network, "fill_channels", lambda frames: nn.functional.pad(frames, (0, 0, 0, 0, 0, 5)))
    for mine, theirs in zip(learn(fused, frames), learn(plain, frames), strict=True):
        torch.testing.assert_close(mine, theirs)


def test_several_objects_have_a_logit_each():
    assert FusedNetwork(build(head_priors=(0.1, 0.2)))(draw(2, 1, 8, 8)).shape == (2, 2, 8, 8)


def test_a_copy_in_halves_keeps_the_norms():
    fused = FusedNetwork(build())
    halves = MixedPrecision(fused)
    ours = [each for each in fused.modules() if isinstance(each, nn.BatchNorm2d)]
    theirs = [each for each in halves._copy.modules() if isinstance(each, nn.BatchNorm2d)]
    assert isinstance(halves._copy, FusedNetwork)
    assert all(mine is other for mine, other in zip(ours, theirs, strict=True))
    assert halves._copy.head.weight.dtype == torch.bfloat16 and fused.head.weight.dtype == torch.float32


@pytest.mark.skipif(DEVICE == "cpu" and not INTERPRETED, reason="Triton needs a GPU, or TRITON_INTERPRET=1")
@pytest.mark.parametrize("channels", [1, 3])
@pytest.mark.parametrize("norm", ["batch", "group"])
def test_by_kernels_it_says_and_learns_what_the_plain_network_does(norm, channels, monkeypatch):
    pytest.importorskip("triton")
    from fewpoint.models.fused import norm_kernels, size_kernels
    from fewpoint.models.fused.available import Kernels

    monkeypatch.setattr(torch.backends.cudnn, "allow_tf32", False)  # its rounding would depend on the layout
    plain = build(NetworkSettings(base_width=8, levels=3, norm=norm), channels)
    plain = plain.to(DEVICE, memory_format=torch.channels_last)
    fused = FusedNetwork(copy.deepcopy(plain))
    frames = draw(2, channels, 16, 12).to(DEVICE, memory_format=torch.channels_last)
    kernels = Kernels(norm_kernels, size_kernels)  # whatever the width and the device
    monkeypatch.setattr(FusedNetwork, "_choose_kernels", lambda self, frames: kernels)
    for mine, theirs in zip(learn(fused, frames), learn(plain, frames), strict=True):
        assert (mine - theirs).norm() <= 1e-3 * theirs.norm() + 1e-4
