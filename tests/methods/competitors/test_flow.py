"""Movement of superpixels."""

import numpy as np
import pytest
from scipy.ndimage import gaussian_filter

from fewpoint.core import ImageSequence, SuperpixelMap
from fewpoint.methods.competitors.flow import estimate_flow, flow_directions, flow_histograms

HALVES = SuperpixelMap(np.repeat([[[0, 0, 1, 1]] * 2], 1, axis=0).astype(np.int32))


def test_a_shift_to_the_right_is_seen_as_one():
    texture = gaussian_filter(np.random.default_rng(0).random((64, 80)), 2)
    frames = np.stack([np.roll(texture, shift, axis=1) for shift in (0, 2, 4)]).astype(np.float32)
    flow = estimate_flow(ImageSequence.from_array(frames))
    middle = flow[:, 16:48, 16:64]
    assert middle[..., 1].mean() == pytest.approx(2, abs=0.3)
    assert abs(middle[..., 0].mean()) < 0.3
    np.testing.assert_array_equal(flow[-1], flow[-2])


def test_a_single_frame_does_not_move():
    assert not estimate_flow(ImageSequence.from_array(np.ones((1, 20, 20), np.uint8))).any()


def test_directions_are_those_of_the_mean_movement():
    flow = np.zeros((1, 2, 4, 2), np.float32)
    flow[..., :2, 1] = 3  # left half to the right
    flow[..., 2:, 0] = 1  # right half down
    np.testing.assert_allclose(flow_directions(HALVES, flow), [0, np.pi / 2])


def test_histograms_weigh_directions_by_speed_and_rest_is_even():
    flow = np.zeros((1, 2, 4, 2), np.float32)
    flow[0, 0, :2] = [0.1, 3]
    flow[0, 1, :2] = [-1, 0.01]
    histograms = flow_histograms(HALVES, flow, 4)
    np.testing.assert_allclose(histograms.sum(axis=1), 1)
    np.testing.assert_allclose(histograms[0], [0, 0.25, 0.75, 0], atol=0.01)
    np.testing.assert_allclose(histograms[1], 0.25)
