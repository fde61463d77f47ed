"""The brightness window of a sequence."""

from dataclasses import replace

import numpy as np
import pytest

from fewpoint.core import ImageSequence
from fewpoint.superpixels import intensity
from fewpoint.superpixels.intensity import find_window, normalise, window_of


@pytest.mark.parametrize("dtype", [np.uint8, np.uint16, np.float32])
def test_the_percentiles_become_zero_and_one_and_outliers_are_cut(dtype):
    frames = np.arange(1, 202, dtype=dtype).reshape(1, 1, 201, 1)  # percentile p of 1 … 201 is 1 + 2 p
    scaled = normalise(frames, 10, 90).ravel()
    assert scaled.dtype == np.float32
    np.testing.assert_allclose(scaled[[0, 20, 100, 180, 200]], [0, 0, 0.5, 1, 1], atol=1e-6)


def test_scaling_and_shifting_the_input_changes_nothing():
    frames = np.random.default_rng(0).normal(size=(3, 8, 9, 1)).astype(np.float32)
    np.testing.assert_allclose(normalise(7 * frames - 30), normalise(frames), atol=1e-5)


def test_all_frames_share_one_window():
    frames = np.stack([np.full((4, 4, 1), 10, np.uint8), np.full((4, 4, 1), 20, np.uint8)])
    assert normalise(frames)[:, 0, 0, 0].tolist() == [0.0, 1.0]


def test_constant_frames_become_zeros():
    assert (normalise(np.full((2, 3, 4, 3), 77, np.uint16)) == 0).all()


def test_a_small_bright_object_on_black_is_kept():
    frames = np.zeros((2, 40, 40, 1), np.float32)
    frames[1, 3, 3] = 5
    assert normalise(frames).max() == 1


def test_colours_share_a_window_and_measurements_do_not():
    steps = np.arange(100, dtype=np.float32).reshape(1, 10, 10, 1)
    colour = np.concatenate([steps, steps / 2, steps / 4], axis=-1)
    assert normalise(colour, 0, 100).max(axis=(0, 1, 2)).tolist() == [1, 0.5, 0.25]
    assert normalise(colour[..., :2], 0, 100).max(axis=(0, 1, 2)).tolist() == [1, 1]


def test_a_subsample_finds_nearly_the_same_window(monkeypatch):
    frames = np.random.default_rng(1).integers(0, 1000, (90, 40, 50, 1)).astype(np.uint16)
    exact = find_window(frames)
    monkeypatch.setattr(intensity, "MOST_SAMPLES", 20_000)
    sampled = find_window(frames)
    # The 0.5 % of 16,000 draws from 0 … 999 has a standard error of 0.6.
    np.testing.assert_allclose([sampled.low, sampled.high], [exact.low, exact.high], atol=3)


def test_the_window_of_a_sequence_is_measured_once_and_that_of_another_apart(monkeypatch):
    measured = []
    monkeypatch.setattr(intensity, "find_window", lambda frames: measured.append(frames) or find_window(frames))
    dark, bright = (ImageSequence.from_array(np.arange(24).reshape(2, 3, 4) * scale) for scale in (1, 5))
    assert window_of(dark) is window_of(dark)
    assert window_of(bright).high[0] == 5 * window_of(dark).high[0]
    assert [id(frames) for frames in measured] == [id(dark.frames), id(bright.frames)]


def test_a_window_given_with_the_sequence_is_taken_for_every_channel():
    frames = np.array([0, 20, 30, 40, 99], np.uint8).reshape(1, 1, 5, 1).repeat(2, axis=-1)
    sequence = replace(ImageSequence.from_array(frames), window=(20, 40))
    shown = window_of(sequence).apply(frames)
    assert shown[0, 0].T.tolist() == [[0, 0, 0.5, 1, 1]] * 2
