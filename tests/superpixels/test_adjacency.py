"""Overlaps in time against a loop over all pixels."""

import numpy as np
import pytest

from fewpoint.core import SuperpixelMap
from fewpoint.superpixels.adjacency import temporal_overlaps


def stripes(count: int, size: tuple[int, int], rng: np.random.Generator) -> np.ndarray:
    """Labels 0 … count - 1, each at least once, in random order along the rows."""
    extra = rng.integers(0, count, size[0] * size[1] - count)
    return np.sort(np.concatenate([np.arange(count), extra])).reshape(size)


@pytest.mark.parametrize("seed", range(5))
def test_overlaps_equal_a_loop_over_pixels(seed):
    rng = np.random.default_rng(seed)
    labels = np.array([rng.permutation(stripes(count, (6, 8), rng)) for count in (4, 11, 1, 7)], np.int32)
    superpixels = SuperpixelMap(labels)
    slow = {
        (int(superpixels.offsets[t] + labels[t, y, x]), int(superpixels.offsets[t + 1] + labels[t + 1, y, x]))
        for t in range(3)
        for y in range(6)
        for x in range(8)
    }
    assert [tuple(pair) for pair in temporal_overlaps(superpixels).tolist()] == sorted(slow)


def test_reversing_time_reverses_the_pairs():
    rng = np.random.default_rng(0)
    labels = np.array([stripes(6, (5, 5), rng) for _ in range(3)], np.int32)
    there = SuperpixelMap(labels)
    back = SuperpixelMap(labels[::-1].copy())
    renamed = (there.offsets[2 - np.arange(3)][:, np.newaxis] + np.arange(6)).ravel()
    pairs = {tuple(pair) for pair in renamed[temporal_overlaps(back)][:, ::-1].tolist()}
    assert pairs == {tuple(pair) for pair in temporal_overlaps(there).tolist()}


def test_a_single_frame_has_no_overlaps():
    overlaps = temporal_overlaps(SuperpixelMap(np.zeros((1, 2, 2), np.int32)))
    assert overlaps.shape == (0, 2)
    assert overlaps.dtype == np.int64


def test_many_superpixels_do_not_overflow_the_pair_code():
    labels = np.arange(250 * 250, dtype=np.int32).reshape(1, 250, 250).repeat(2, axis=0)
    overlaps = temporal_overlaps(SuperpixelMap(labels))
    np.testing.assert_array_equal(overlaps[:, 1] - overlaps[:, 0], 62_500)
    assert len(overlaps) == 62_500
