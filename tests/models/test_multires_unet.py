"""The network: widths and sizes worked out by hand, and nothing left to chance but the generator."""

import math
from itertools import pairwise

import pytest
import torch
from torch import Tensor, nn

from fewpoint.errors import SettingsError
from fewpoint.models.multires_unet import MultiResUNet, block_widths, make_norm, round_width
from fewpoint.models.networks import build_network
from fewpoint.models.settings import NetworkSettings

TINY = NetworkSettings(base_width=2, levels=3, multiple=1)
GROUPED = NetworkSettings(base_width=4, levels=3, multiple=1, norm="group")


def build(
    settings: NetworkSettings = TINY, channels: int = 1, seed: int = 0, head_priors: tuple[float, ...] = (0.01,)
) -> MultiResUNet:
    return build_network(channels, settings, head_priors, torch.Generator().manual_seed(seed))


def make_frames(*shape: int) -> Tensor:
    return torch.randn(shape, generator=torch.Generator().manual_seed(1))


def test_the_papers_block_widths():
    # alpha * U = 53.44 for U = 32; its shares .167, .333, .5 are 8.9, 17.8, 26.7, cut to whole channels.
    assert block_widths(32, NetworkSettings(multiple=1)) == (8, 17, 26)
    assert block_widths(512, NetworkSettings(multiple=1)) == (142, 284, 427)


def test_widths_are_rounded_to_the_nearest_multiple_and_never_to_nothing():
    assert block_widths(32, NetworkSettings(multiple=8)) == (8, 16, 24)
    assert block_widths(1, NetworkSettings(multiple=1)) == (1, 1, 1)
    assert [round_width(width, 8) for width in (1, 11, 13, 24)] == [8, 8, 16, 24]


def count_by_hand(channels: int, levels: list[tuple[int, tuple[int, int, int]]]) -> int:
    """Parameters of a MultiResUNet with the given (U, block widths) a level; a norm has two a channel."""

    def block(inputs: int, widths: tuple[int, int, int]) -> int:
        chain = sum(9 * before * after for before, after in pairwise((inputs, *widths)))
        shortcut = inputs * sum(widths)
        return chain + shortcut + 2 * 3 * sum(widths)  # norms: one a convolution, of the shortcut, of the sum

    def path(inputs: int, outputs: int, length: int) -> int:
        return sum((9 + 1) * before * outputs + 2 * 2 * outputs for before in [inputs, *[outputs] * (length - 1)])

    sums = [sum(widths) for _, widths in levels]
    total = sum(block(inputs, widths) for inputs, (_, widths) in zip([channels, *sums], levels, strict=False))
    for level, (width, widths) in enumerate(levels[:-1]):
        total += path(sums[level], width, len(levels) - 1 - level)
        total += 4 * sums[level + 1] * width + width  # the upsampling convolution, with a bias
        total += block(2 * width, widths)
    return total + sums[0] + 1  # the head


def test_the_papers_network_has_its_published_number_of_parameters():
    widths = [(8, 17, 26), (17, 35, 53), (35, 71, 106), (71, 142, 213), (142, 284, 427)]
    network = MultiResUNet(3, NetworkSettings(multiple=1))
    count = sum(parameter.numel() for parameter in network.parameters())
    assert count == count_by_hand(3, list(zip((32, 64, 128, 256, 512), widths, strict=True)))
    # Ibtehaz and Rahman give 7 262 750; they differ from us in which norms and convolutions have a scale or a bias.
    assert abs(count / 7_262_750 - 1) < 0.01


@pytest.mark.parametrize("channels", [1, 3, 4])
@pytest.mark.parametrize("settings", [TINY, GROUPED, NetworkSettings(base_width=2, levels=1, multiple=8)])
def test_any_number_of_channels_gives_one_logit_per_object_and_pixel(channels, settings):
    for objects in (1, 3):
        network = build(settings, channels, head_priors=(0.1,) * objects)
        assert network(make_frames(2, channels, 8, 20)).shape == (2, objects, 8, 20)


@pytest.mark.parametrize("priors", [(0.01,), (0.2,), (0.01, 0.2)])
def test_an_untrained_head_starts_at_the_log_odds_of_each_objects_prior(priors):
    network = build(head_priors=priors)
    assert network.head.bias.tolist() == pytest.approx([math.log(prior / (1 - prior)) for prior in priors])
    nn.init.zeros_(network.head.weight)
    expected = torch.tensor(priors)[:, None, None].expand(1, -1, 8, 8)
    torch.testing.assert_close(torch.sigmoid(network(make_frames(1, 1, 8, 8))), expected)


def test_the_number_of_objects_changes_nothing_but_the_head():
    alone, among = build(seed=5).state_dict(), build(seed=5, head_priors=(0.01, 0.2)).state_dict()
    assert {name for name in alone if not torch.equal(alone[name], among[name])} == {"head.weight", "head.bias"}


def test_the_weights_are_he_initialised():
    wide = build(NetworkSettings(base_width=32, levels=2, multiple=1))
    kernel = wide.encoder[1].chain[0][0].weight  # 51 channels seen through 3 x 3 pixels
    # The deviation of a sample of n normal numbers is known to about 1 / sqrt(2 n): .8 % of 7803; four times that.
    assert kernel.numel() == 9 * 51 * 17
    assert kernel.std().item() == pytest.approx(math.sqrt(2 / (9 * 51)), rel=0.035)


def test_only_the_generator_decides_the_weights():
    torch.manual_seed(1)
    first = build(seed=5).state_dict()
    torch.manual_seed(2)
    second = build(seed=5).state_dict()
    assert all(torch.equal(first[name], second[name]) for name in first)
    assert not torch.equal(first["head.weight"], build(seed=6).state_dict()["head.weight"])


def test_every_parameter_takes_part():
    network = build(channels=3)
    network(make_frames(2, 3, 16, 16)).square().mean().backward()
    idle = [name for name, parameter in network.named_parameters() if parameter.grad is None]
    assert idle == []


def test_group_norm_makes_a_frame_independent_of_its_batch():
    network = build(GROUPED)
    frames = make_frames(3, 1, 16, 16)
    torch.testing.assert_close(network(frames[:1])[0], network(frames)[0], rtol=1e-4, atol=1e-5)
    assert build(GROUPED)(frames[:1]).isfinite().all()


def test_batch_norm_in_training_does_not():
    network = build()
    frames = make_frames(3, 1, 16, 16)
    assert (network(frames[:1])[0] - network(frames)[0]).abs().max() > 0.01


@pytest.mark.parametrize(
    ("wrong", "fragment"),
    [
        ({"base_width": 0}, "base_width"),
        ({"levels": 0}, "levels"),
        ({"alpha": 0.0}, "alpha"),
        ({"alpha": math.nan}, "alpha"),
        ({"norm": "layer"}, "batch or group, got layer"),
        ({"head_prior": 1.0}, "head_prior"),
    ],
)
def test_a_network_that_cannot_be_is_refused(wrong, fragment):
    with pytest.raises(SettingsError, match=fragment):
        NetworkSettings(**wrong)


def test_group_norm_fits_every_number_of_channels_in_groups_of_eight_or_more():
    made = {channels: make_norm(NetworkSettings(norm="group"), channels) for channels in range(1, 200)}
    assert all(channels % norm.num_groups == 0 for channels, norm in made.items())
    assert all(channels / norm.num_groups >= min(channels, 8) for channels, norm in made.items())
    assert made[64].num_groups == 8


def test_names_of_weights_stay_as_they_are_in_files():
    names = set(build(NetworkSettings(base_width=2, levels=2, multiple=1)).state_dict())
    tracked = {"weight", "bias", "running_mean", "running_var", "num_batches_tracked"}
    blocks = ("encoder.0", "encoder.1", "decoder.0")
    units = [f"{block}.{unit}" for block in blocks for unit in ("chain.0", "chain.1", "chain.2", "shortcut")]
    units += ["paths.0.units.0", "paths.0.shortcuts.0"]
    norms = [f"{unit}.1" for unit in units] + [f"{block}.norm" for block in blocks]
    expected = {f"{unit}.0.weight" for unit in units} | {f"{norm}.{each}" for norm in norms for each in tracked}
    assert names == expected | {f"{each}.{kind}" for each in ("upsamplers.0", "head") for kind in ("weight", "bias")}
