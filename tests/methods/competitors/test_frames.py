"""Frames at a smaller size."""

import numpy as np
import pytest

from fewpoint.core import ImageSequence, PointSet
from fewpoint.methods.competitors.frames import resize, small_frames


def test_clicks_move_with_their_frame():
    """A click at row 30 of 40 and column 60 of 80 lies at row 15 and column 30 of a frame of half the size."""
    sequence = ImageSequence.from_array(np.zeros((2, 40, 80), np.uint8))
    first, second = small_frames(sequence, PointSet.from_rows([(1, 30, 60)]), max_side=40)
    assert (first.size, len(first.clicks)) == ((20, 40), 0)
    assert second.clicks.tolist() == [[15, 30]]
    assert second.click_distances()[15, 34] == 4
    assert np.isinf(first.click_distances()).all()


def test_a_small_frame_is_not_enlarged():
    sequence = ImageSequence.from_array(np.zeros((1, 20, 30), np.uint8))
    (frame,) = small_frames(sequence, PointSet.from_rows([(0, 3, 4)]), max_side=256)
    assert frame.size == (20, 30)


def test_resizing_keeps_the_mean_of_a_map():
    values = np.random.default_rng(0).random((24, 32)).astype(np.float32)
    assert resize(values, (12, 16)).mean() == pytest.approx(values.mean(), abs=0.02)


@pytest.mark.parametrize("turn", [np.asarray, np.transpose])
def test_a_map_that_shrinks_along_one_side_is_smoothed_along_it(turn):
    """As frames with oblong pixels do. Every fourth line is 1: without smoothing, those between would hide it."""
    values = np.tile(np.float32([1, 0, 0, 0]), (12, 16))
    smaller = resize(turn(values), turn(np.empty((12, 16))).shape)
    np.testing.assert_allclose(turn(smaller)[:, 2:-2], 0.25, atol=0.1)


def test_colour_becomes_lab_and_grey_stays():
    white = np.full((1, 4, 4, 3), 255, np.uint8)
    white[0, 0, 0] = 0
    (frame,) = small_frames(ImageSequence.from_array(white), PointSet.from_rows([(0, 1, 1)]), max_side=16)
    np.testing.assert_allclose(frame.colours[1, 1], [1, 0, 0], atol=1e-4)
    np.testing.assert_allclose(frame.colours[0, 0], [0, 0, 0], atol=1e-4)
