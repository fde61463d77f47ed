"""Augmentation changes what frames look like, never where things are."""

import math

import pytest
import torch
from torch import Tensor

from fewpoint.errors import SettingsError
from fewpoint.learning.augment import (
    augment_frames,
    blur_bilaterally,
    draw_warps,
    flip_randomly,
    warp_frames,
    warp_maps,
)
from fewpoint.learning.settings import AugmentationSettings


def seeded(seed: int = 0) -> torch.Generator:
    return torch.Generator().manual_seed(seed)


def make_frames(batch: int = 3, channels: int = 2) -> Tensor:
    return torch.rand(batch, channels, 6, 8, generator=seeded(9))


def test_shape_is_kept_and_the_generator_decides_everything():
    frames, settings = make_frames(), AugmentationSettings(probability=0.7)
    first = augment_frames(frames, settings, seeded(1))
    assert first.shape == frames.shape
    assert torch.equal(first, augment_frames(frames, settings, seeded(1)))
    assert not torch.equal(first, augment_frames(frames, settings, seeded(2)))


def test_frames_given_are_not_changed():
    frames = make_frames()
    before = frames.clone()
    augment_frames(frames, AugmentationSettings(probability=1.0), seeded())
    assert torch.equal(frames, before)


def test_with_probability_zero_nothing_changes():
    frames = make_frames()
    assert torch.equal(augment_frames(frames, AugmentationSettings(probability=0.0), seeded()), frames)


def test_gamma_contrast_keeps_black_white_and_the_order_of_greys():
    settings = AugmentationSettings(probability=1.0, noise=0.0, blur=1e-4, gamma=3.0)
    ramp = torch.linspace(0, 1, 9).reshape(1, 1, 1, 9).expand(20, 1, 1, 9)
    changed = augment_frames(ramp, settings, seeded())[:, 0, 0]
    torch.testing.assert_close(changed[:, 0], torch.zeros(20))
    torch.testing.assert_close(changed[:, -1], torch.ones(20))
    assert (changed.diff(dim=1) > 0).all()
    exponents = changed[:, 4].log() / math.log(0.5)
    assert exponents.min() >= 1 / 3 - 1e-4
    assert exponents.max() <= 3 + 1e-4
    assert exponents.min() < 1 < exponents.max()


def test_noise_is_no_stronger_than_asked():
    settings = AugmentationSettings(probability=1.0, noise=0.1, gamma=1.0)
    changed = augment_frames(torch.full((40, 1, 32, 32), 0.5), settings, seeded())
    deviations = changed.std((1, 2, 3))
    # Strengths are drawn evenly from 0 to 0.1; a deviation from 1024 pixels is known to 2.2 %; four times that.
    assert deviations.max() <= 0.1 * 1.09
    assert deviations.max() > 0.08
    assert deviations.min() < 0.02


def test_a_frame_is_blurred_by_the_amount_drawn_for_it_among_frames_that_draw_none():
    settings = AugmentationSettings(probability=0.4, noise=0.0, blur=0.5, gamma=1.0)
    frames, draws = make_frames(12), torch.rand(3, 2, 12, 1, 1, 1, generator=seeded(5))
    amounts = (draws[1, 0] < settings.probability) * draws[1, 1]
    assert 0 < amounts.count_nonzero() < 12
    expected = torch.lerp(frames, blur_bilaterally(frames, settings.blur), amounts)
    torch.testing.assert_close(augment_frames(frames, settings, seeded(5)), expected)


def test_blur_keeps_constants():
    constant = torch.full((2, 3, 5, 7), 0.4)
    torch.testing.assert_close(blur_bilaterally(constant, 0.1), constant)


def test_blur_keeps_a_strong_edge_and_smooths_weak_noise():
    frames = torch.zeros(1, 1, 16, 16)
    frames[..., 8:] = 1.0
    noise = 0.02 * torch.randn(frames.shape, generator=seeded())
    blurred = blur_bilaterally(frames + noise, 0.1)
    # Across the edge the weight is exp(-50); on either side nine neighbours average out.
    torch.testing.assert_close(blurred, frames, rtol=0, atol=0.05)
    assert (blurred - frames).std() < 0.6 * noise.std()


def test_blur_of_a_wide_range_is_the_plain_gaussian_mean():
    spike = torch.zeros(1, 1, 5, 5)
    spike[0, 0, 2, 2] = 1.0
    near, far = math.exp(-0.5), math.exp(-1)
    total = 1 + 4 * near + 4 * far
    expected = torch.tensor([[far, near, far], [near, 1, near], [far, near, far]]) / total
    torch.testing.assert_close(blur_bilaterally(spike, 1e3)[0, 0, 1:4, 1:4], expected, rtol=1e-5, atol=0)


def test_channels_are_alike_or_not_together():
    # The red edge keeps the green channel from being mixed across it.
    frames = torch.zeros(1, 2, 4, 8)
    frames[:, 0, :, 4:] = 1.0
    frames[:, 1, :, 4:] = 0.05
    torch.testing.assert_close(blur_bilaterally(frames, 0.1), frames, rtol=0, atol=1e-6)


def test_flips_move_labels_with_frames():
    frames = torch.arange(48.0).reshape(1, 1, 6, 8).expand(64, 2, 6, 8)
    flipped, (labels,) = flip_randomly(frames, [frames[:, 0].long()], seeded())
    assert torch.equal(flipped[:, 0].long(), labels)
    assert torch.equal(flipped[:, 1], flipped[:, 0])
    plain = frames[0, 0].long()
    turns = [plain, plain.flip(0), plain.flip(1), plain.flip(0, 1)]
    counts = [sum(torch.equal(label, turn) for label in labels) for turn in turns]
    # Each of the four with probability 1/4: 16 of 64 expected, deviation 3.5; four times that.
    assert sum(counts) == 64
    assert all(2 <= count <= 30 for count in counts)


WARPS = AugmentationSettings(rotation=30.0, scale=1.3, shift=0.2)


def make_disc(batch: int, size: tuple[int, int] = (48, 64)) -> Tensor:
    """(B, h, w) int64, 1 on a disc of 8 pixels off the centre."""
    rows, columns = torch.meshgrid(*(torch.arange(side) for side in size), indexing="ij")
    return (torch.hypot(rows - 20.0, columns - 38.0) <= 8).long().expand(batch, *size)


def test_warps_move_labels_with_frames_and_mark_what_lies_outside():
    disc = make_disc(16)
    grid = draw_warps((16, 1, 48, 64), WARPS, seeded())
    frames, labels = warp_frames(disc[:, None].float(), disc, 9, grid)
    (moved,) = warp_maps([disc.float()], grid)
    assert (frames.shape, labels.shape, labels.dtype) == ((16, 1, 48, 64), (16, 48, 64), torch.int64)
    assert set(labels.unique().tolist()) == {0, 1, 9}
    # The nearest label and the interpolated grey disagree on a rim half a pixel wide at most: 25 of 200 pixels.
    inside = labels != 9
    differ = ((frames[:, 0] >= 0.5) != (labels == 1)) & inside
    assert differ.sum((1, 2)).max() <= 25
    assert not torch.equal(labels[0], labels[1])
    torch.testing.assert_close(moved[inside], frames[:, 0][inside], rtol=0, atol=1e-5)
    assert (moved[(grid.abs() > 1.1).any(-1)] == 0).all()


def test_warps_are_decided_by_the_generator_and_nothing_asked_is_nothing_done():
    frames, labels = make_frames(), torch.arange(48).reshape(1, 6, 8).expand(3, 6, 8)
    grids = [draw_warps(frames.shape, WARPS, seeded(seed)) for seed in (1, 1, 2)]
    assert torch.equal(grids[0], grids[1])
    assert not torch.equal(grids[0], grids[2])
    still = warp_frames(frames, labels, 48, draw_warps(frames.shape, AugmentationSettings(), seeded(1)))
    torch.testing.assert_close(still[0], frames)
    assert torch.equal(still[1], labels)
    assert (WARPS.warps, AugmentationSettings().warps) == (True, False)


def test_a_turn_keeps_distances_in_pixels_on_frames_that_are_not_square():
    grid = draw_warps((8, 1, 48, 64), AugmentationSettings(rotation=45.0), seeded())
    places = grid * torch.tensor([64 / 2, 48 / 2])
    for step in (places.diff(dim=1), places.diff(dim=2)):
        torch.testing.assert_close(step.norm(dim=-1), torch.ones(step.shape[:-1]), rtol=1e-3, atol=1e-3)


@pytest.mark.parametrize(
    "wrong",
    [
        {"probability": 1.5},
        {"noise": -1.0},
        {"blur": 0.0},
        {"gamma": 0.5},
        {"rotation": -1.0},
        {"scale": 0.5},
        {"shift": 2.0},
    ],
)
def test_meaningless_settings_are_refused_by_name(wrong):
    with pytest.raises(SettingsError, match=f"augmentation.{next(iter(wrong))}"):
        AugmentationSettings(**wrong)
