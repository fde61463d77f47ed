"""Region statistics against slow versions that visit one superpixel at a time."""

import numpy as np
import pytest

from fewpoint.core import Box, PointSet, SuperpixelMap, Words
from fewpoint.errors import InputError
from fewpoint.superpixels.regions import (
    frame_of_region,
    labelled_regions,
    outlined_regions,
    paint_regions,
    region_areas,
    region_centroids,
    region_means,
    region_probabilities,
    regions_at_points,
    share_of_points,
)


@pytest.fixture
def superpixels(rng) -> SuperpixelMap:
    return random_superpixels(rng, counts=(5, 9, 1), size=(7, 11))


@pytest.fixture
def rng() -> np.random.Generator:
    return np.random.default_rng(3)


def random_superpixels(rng: np.random.Generator, counts: tuple[int, ...], size: tuple[int, int]) -> SuperpixelMap:
    frames = []
    for count in counts:
        extra = rng.integers(0, count, size[0] * size[1] - count)
        frames.append(rng.permutation(np.concatenate([np.arange(count), extra])).reshape(size))
    return SuperpixelMap(np.array(frames, np.int32))


def each_region(superpixels: SuperpixelMap):
    for frame, count in enumerate(superpixels.counts):
        for label in range(count):
            yield frame, superpixels.labels[frame] == label


def test_areas_means_centroids_and_frames_equal_a_loop_over_superpixels(superpixels, rng):
    values = rng.uniform(size=superpixels.labels.shape).astype(np.float32)
    slow = list(each_region(superpixels))
    assert len(slow) == superpixels.total
    np.testing.assert_array_equal(region_areas(superpixels), [inside.sum() for _, inside in slow])
    np.testing.assert_array_equal(frame_of_region(superpixels), [frame for frame, _ in slow])
    means = [values[frame][inside].astype(np.float64).mean() for frame, inside in slow]
    np.testing.assert_allclose(region_means(superpixels, values), means, rtol=1e-12)
    centroids = [np.argwhere(inside).mean(axis=0) for _, inside in slow]
    np.testing.assert_allclose(region_centroids(superpixels), centroids, rtol=1e-12)


def test_f_is_the_sigmoid_of_the_mean_logit(superpixels, rng):
    logits = rng.normal(0, 3, superpixels.labels.shape).clip(-7, 7)
    means = np.array([logits[frame][inside].mean() for frame, inside in each_region(superpixels)])
    found = region_probabilities(superpixels, 1 / (1 + np.exp(-logits)))
    np.testing.assert_allclose(found, 1 / (1 + np.exp(-means)), rtol=1e-9)


def test_f_of_a_map_that_float16_rounds_to_0_and_1_is_neither(superpixels):
    for value in (0, 1):
        found = region_probabilities(superpixels, np.full(superpixels.labels.shape, value, np.float16))
        assert ((found > 0) & (found < 1) & (abs(found - value) < 1e-3)).all()


def test_painting_then_averaging_gives_the_values_back(superpixels, rng):
    values = rng.uniform(size=superpixels.total)
    np.testing.assert_allclose(region_means(superpixels, paint_regions(superpixels, values)), values, rtol=1e-12)


def test_painting_keeps_the_type_of_the_values(superpixels):
    assert paint_regions(superpixels, np.ones(superpixels.total, bool)).dtype == bool


def test_the_region_at_a_point_is_the_one_whose_painted_index_is_there(superpixels, rng):
    index = paint_regions(superpixels, np.arange(superpixels.total))
    points = PointSet.from_rows([(0, 0, 0), (0, 6, 10), (1, 3, 4), (2, 6, 0)])
    np.testing.assert_array_equal(regions_at_points(superpixels, points), index[tuple(points.coordinates.T)])


def test_a_point_outside_is_refused_and_named(superpixels):
    with pytest.raises(InputError, match="y 7, x 0 on frame 1"):
        regions_at_points(superpixels, PointSet.from_rows([(1, 7, 0)]))


def test_share_of_points_counts_each_superpixel_once_and_takes_the_largest_frame():
    labels = np.array([[[0, 0, 0, 1]], [[0, 1, 2, 2]]], np.int32)
    points = PointSet.from_rows([(0, 0, 0), (0, 0, 1), (1, 0, 0), (1, 0, 1)])
    assert share_of_points(SuperpixelMap(labels), points) == 0.75


@pytest.mark.parametrize("measure", [region_means, region_probabilities, paint_regions])
def test_values_of_another_shape_are_refused_with_both_shapes(superpixels, measure):
    with pytest.raises(InputError, match=r"got (shape )?\(2, 2\)"):
        measure(superpixels, np.zeros((2, 2)))


# Two frames of four regions in a row, of which the second is two pixels wide.
STRIP = SuperpixelMap(np.array([[[0, 1, 1, 2, 3]]] * 2, np.int32))


def outline(*values: int) -> np.ndarray:
    return np.array([values], bool)


def test_an_outlined_region_is_on_the_side_on_which_more_than_half_of_it_lies():
    inside, outside = outlined_regions(STRIP, Words.of({1: outline(1, 1, 0, 1, 0)}))
    assert inside.tolist() == [4, 6]
    assert outside.tolist() == [5, 7]  # half of it is not the object


def test_a_box_says_only_what_is_not_the_object():
    inside, outside = outlined_regions(STRIP, Words(boxes=(Box(0, 0, 1, 1, 4),)))
    assert (inside.tolist(), outside.tolist()) == ([], [0, 3])
    # An outline of the same frame says more.
    both = Words.of({0: outline(0, 1, 1, 0, 0)}, (Box(0, 0, 1, 1, 4),))
    inside, outside = outlined_regions(STRIP, both)
    assert (inside.tolist(), outside.tolist()) == ([1], [0, 2, 3])


def test_outlines_count_more_than_points_and_points_elsewhere_as_before():
    points = PointSet.from_rows([(0, 0, 4), (1, 0, 0)], negatives=[(1, 0, 3), (0, 0, 1)])
    carried = PointSet.from_rows([(0, 0, 4), (0, 0, 0), (1, 0, 0), (1, 0, 4)], negatives=[(1, 0, 3)])
    assert [each.tolist() for each in labelled_regions(STRIP, points, carried)] == [[0, 3, 4, 7], [1, 6]]
    words = Words.of({1: outline(0, 0, 0, 1, 0)})
    assert [each.tolist() for each in labelled_regions(STRIP, points, carried, words)] == [[0, 3, 6], [1, 4, 5, 7]]
