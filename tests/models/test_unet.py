"""The plain U-Net: its size worked out by hand, and every part of it in use."""

import math
from itertools import pairwise

import pytest
import torch
from torch import Tensor, nn

from fewpoint.errors import SettingsError
from fewpoint.methods.default import ACCURATE, FAST
from fewpoint.models.multires_unet import MultiResUNet
from fewpoint.models.networks import build_network
from fewpoint.models.settings import NetworkSettings
from fewpoint.models.unet import UNet

TINY = NetworkSettings(kind="unet", base_width=2, levels=3)


def build(settings: NetworkSettings = TINY, channels: int = 1, head_priors: tuple[float, ...] = (0.01,)) -> UNet:
    network = build_network(channels, settings, head_priors, torch.Generator().manual_seed(0))
    assert isinstance(network, UNet)
    return network


def make_frames(*shape: int) -> Tensor:
    return torch.randn(shape, generator=torch.Generator().manual_seed(1))


def count_by_hand(channels: int, widths: list[int]) -> int:
    """Kernels of 3 x 3 without a bias, a scale and a shift for each norm; 2 x 2 upwards and the head with biases."""

    def block(inputs: int, width: int) -> int:
        return 9 * (inputs + width) * width + 4 * width

    down = sum(block(*pair) for pair in pairwise([channels, *widths]))
    up = sum(4 * below * width + width + block(2 * width, width) for width, below in pairwise(widths))
    return down + up + widths[0] + 1


@pytest.mark.parametrize("settings", [ACCURATE, FAST])
def test_the_networks_of_the_default_have_the_parameters_counted_by_hand(settings):
    network = build(settings.network)
    count = sum(parameter.numel() for parameter in network.parameters())
    assert count == count_by_hand(1, [8, 16, 32, 64, 128]) == 486_409


def test_the_settings_say_which_network_is_built_and_the_papers_is_what_they_mean_if_they_do_not():
    for settings, kind in ((TINY, UNet), (NetworkSettings(base_width=2, levels=2, multiple=1), MultiResUNet)):
        assert type(build_network(1, settings, (0.1,), torch.Generator())) is kind
    with pytest.raises(SettingsError, match=r"network\.kind must be multires or unet, got vnet"):
        NetworkSettings(kind="vnet")


@pytest.mark.parametrize("norm", ["batch", "group"])
@pytest.mark.parametrize("levels", [1, 2, 4])
def test_any_number_of_channels_gives_one_logit_per_object_and_pixel(levels, norm):
    settings = NetworkSettings(kind="unet", base_width=2, levels=levels, norm=norm)
    for channels, objects in ((1, 1), (3, 2)):
        network = build(settings, channels, (0.1,) * objects)
        assert network(make_frames(2, channels, 8, 24)).shape == (2, objects, 8, 24)


def test_an_untrained_head_starts_at_the_log_odds_of_each_objects_prior():
    network = build(head_priors=(0.01, 0.2))
    nn.init.zeros_(network.head.weight)
    expected = torch.tensor([math.log(0.01 / 0.99), math.log(0.2 / 0.8)])[:, None, None].expand(1, -1, 8, 8)
    torch.testing.assert_close(network(make_frames(1, 1, 8, 8)), expected)


def test_every_parameter_takes_part():
    network = build(channels=3)
    network(make_frames(2, 3, 16, 16)).square().mean().backward()
    assert [name for name, parameter in network.named_parameters() if parameter.grad is None] == []


def test_each_level_is_reached_by_the_one_above_and_hands_its_features_to_both():
    seen = {}
    network = build()
    for name, module in network.named_modules():
        if name.startswith(("encoder.", "decoder.")) and name.count(".") == 1:
            module.register_forward_hook(lambda _, given, out, name=name: seen.update({name: (given[0], out)}))
    network(make_frames(1, 1, 8, 8))
    for level in (1, 2):
        torch.testing.assert_close(seen[f"encoder.{level}"][0], torch.max_pool2d(seen[f"encoder.{level - 1}"][1], 2))
    for place, level in enumerate((1, 0)):
        skipped = seen[f"encoder.{level}"][1]
        torch.testing.assert_close(seen[f"decoder.{place}"][0][:, -skipped.shape[1] :], skipped)


def test_names_of_weights_stay_as_they_are_in_files():
    names = set(build(NetworkSettings(kind="unet", base_width=2, levels=2)).state_dict())
    blocks = [f"{block}.{unit}" for block in ("encoder.0", "encoder.1", "decoder.0") for unit in (0, 1)]
    tracked = {"weight", "bias", "running_mean", "running_var", "num_batches_tracked"}
    expected = {f"{block}.0.weight" for block in blocks} | {f"{block}.1.{each}" for block in blocks for each in tracked}
    assert names == expected | {f"{each}.{kind}" for each in ("upsamplers.0", "head") for kind in ("weight", "bias")}
