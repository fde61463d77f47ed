import numpy as np
import pytest

from fewpoint.core import SuperpixelMap
from fewpoint.superpixels.pixels import sum_logits


def make_halves() -> SuperpixelMap:
    """One frame of 8 x 8 pixels, its left half one superpixel and its right half another."""
    return SuperpixelMap(np.repeat(np.array([0, 0, 0, 0, 1, 1, 1, 1], np.int32)[None, None], 8, axis=1))


def test_a_pixel_and_its_superpixel_have_equal_say():
    pixels = np.full((1, 8, 8), 0.5, np.float16)
    pixels[0, 0, 0], pixels[0, 1, 1] = 0.19, 0.21  # beside 0.8 the one weighs more, the other less
    masks = sum_logits(make_halves(), pixels, np.array([0.8, 0.2]), blur=0.0) >= 0
    expected = np.zeros((8, 8), bool)
    expected[:, :4] = True
    expected[0, 0] = False
    np.testing.assert_array_equal(masks[0], expected)


def test_the_outline_leaves_the_superpixels_where_pixels_are_sure():
    pixels = np.zeros((1, 8, 8), np.float32)
    pixels[0, :, :6] = 1
    masks = sum_logits(make_halves(), pixels, np.array([1.0, 0.5]), blur=0.0) >= 0
    np.testing.assert_array_equal(masks[0].any(axis=0), np.arange(8) < 6)


@pytest.mark.parametrize(("blur", "expected"), [(0.0, True), (1.0, False)])
def test_smoothing_takes_away_a_speck(blur, expected):
    pixels = np.full((1, 8, 8), 0.2, np.float32)
    pixels[0, 4, 2] = 0.9
    assert (sum_logits(make_halves(), pixels, np.array([0.5, 0.5]), blur).max() >= 0) == expected


def test_frames_do_not_blur_into_each_other():
    superpixels = SuperpixelMap(np.zeros((3, 6, 6), np.int32))
    pixels = np.zeros((3, 6, 6), np.float32)
    pixels[1] = 1
    masks = sum_logits(superpixels, pixels, np.full(3, 0.5), blur=2.0) >= 0
    assert masks.any(axis=(1, 2)).tolist() == [False, True, False]
    assert masks[1].all()
