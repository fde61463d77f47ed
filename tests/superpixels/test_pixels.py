import numpy as np
import pytest

from fewpoint.core import SuperpixelMap
from fewpoint.superpixels.pixels import find_moves, move_pixels
from fewpoint.superpixels.regions import paint_frames, region_means


def take_all(superpixels: SuperpixelMap, pixels: np.ndarray, regions: np.ndarray, blur: float) -> np.ndarray:
    moves = paint_frames(superpixels, find_moves(region_means(superpixels, pixels), regions))
    return np.stack([move_pixels(*each, blur) for each in zip(pixels, moves, strict=True)])


def make_halves() -> SuperpixelMap:
    """One frame of 8 x 8 pixels, its left half one superpixel and its right half another."""
    return SuperpixelMap(np.repeat(np.array([0, 0, 0, 0, 1, 1, 1, 1], np.int32)[None, None], 8, axis=1))


def test_where_superpixels_keep_their_values_pixels_do():
    pixels = np.random.default_rng(0).uniform(0.05, 0.95, (1, 8, 8))
    means = np.array([pixels[..., :4].mean(), pixels[..., 4:].mean()])
    np.testing.assert_allclose(take_all(make_halves(), pixels, means, blur=0.0), pixels, atol=1e-6)


def test_even_pixels_take_the_value_of_their_superpixel():
    pixels = np.full((1, 8, 8), 0.3, np.float16)
    maps = take_all(make_halves(), pixels, np.array([0.9, 0.1]), blur=0.0)
    np.testing.assert_allclose(maps[..., :4], 0.9, atol=1e-3)
    np.testing.assert_allclose(maps[..., 4:], 0.1, atol=1e-3)


def test_the_outline_leaves_the_superpixels_where_pixels_differ():
    pixels = np.full((1, 8, 8), 0.2, np.float32)
    pixels[0, :, :6] = 0.8
    masks = take_all(make_halves(), pixels, np.array([0.8, 0.5]), blur=0.0) >= 0.5
    np.testing.assert_array_equal(masks[0].any(axis=0), np.arange(8) < 6)


@pytest.mark.parametrize(("blur", "expected"), [(0.0, True), (1.0, False)])
def test_smoothing_takes_away_a_speck(blur, expected):
    pixels = np.full((1, 8, 8), 0.2, np.float32)
    pixels[0, 4, 2] = 0.9
    means = np.array([pixels[..., :4].mean(), 0.2])
    assert (take_all(make_halves(), pixels, means, blur).max() >= 0.5) == expected


def test_smoothing_favours_neither_side_of_an_outline():
    """However sure pixels are: far out, logits of certain background would wear a small object away."""
    pixels = np.zeros((1, 8, 8), np.float32)
    pixels[0, :, :4] = 0.9
    np.testing.assert_array_equal(
        take_all(make_halves(), pixels, np.array([0.9, 0.0]), blur=0.7)[0] >= 0.45, pixels[0] > 0
    )


def test_frames_do_not_blur_into_each_other():
    superpixels = SuperpixelMap(np.zeros((3, 6, 6), np.int32))
    pixels = np.zeros((3, 6, 6), np.float32)
    pixels[1] = 1
    masks = take_all(superpixels, pixels, np.array([0.0, 1.0, 0.0]), blur=2.0) >= 0.5
    assert masks.any(axis=(1, 2)).tolist() == [False, True, False]
    assert masks[1].all()
