"""Rough probabilities from the image alone."""

import numpy as np
import pytest

from fewpoint.core import ImageSequence, PointSet
from fewpoint.pipeline.rough import USUAL_SHARE, RoughLooks, guess
from fewpoint.superpixels.regions import frame_of_region, paint_regions, region_areas, regions_at_points
from fewpoint.superpixels.sizing import level_of_area

SIDE = 40


def make_square(n_frames: int = 3, channels: int = 1) -> ImageSequence:
    """A bright square in a corner and another that looks the same in the opposite one, in noise."""
    frames = np.random.default_rng(0).integers(40, 60, (n_frames, SIDE, SIDE, channels))
    frames[:, 6:16, 6:16] += 120
    frames[:, 28:38, 28:38] += 120
    return ImageSequence.from_array(frames.astype(np.uint8))


def guess_all(looks: RoughLooks, points: PointSet, bound: float = 0.2) -> np.ndarray:
    superpixels = looks.superpixels
    return guess(looks, points, region_areas(superpixels).astype(float), frame_of_region(superpixels), bound)


@pytest.fixture(scope="module", params=[1, 3])
def looks(request) -> RoughLooks:
    return RoughLooks.of(make_square(channels=request.param))


def at(looks: RoughLooks, values: np.ndarray, *place: int) -> float:
    (region,) = regions_at_points(looks.superpixels, PointSet.from_rows([place]))
    return float(values[region])


def test_what_looks_alike_and_lies_near_is_likelier_than_what_does_only_one_of_both(looks):
    values = guess_all(looks, PointSet.from_rows([(0, 10, 10), (2, 12, 9)]))
    for frame in range(3):
        near_alike = at(looks, values, frame, 13, 13)
        assert near_alike > at(looks, values, frame, 33, 33)  # alike and far
        assert near_alike > at(looks, values, frame, 13, 20)  # near and unlike
        assert at(looks, values, frame, 33, 33) > at(looks, values, frame, 20, 36)  # far and alike, or not


def test_a_usual_share_of_the_bound_is_at_one_half_or_above(looks):
    areas = region_areas(looks.superpixels)
    for bound in (0.1, 0.3):
        values = guess_all(looks, PointSet.from_rows([(0, 10, 10)]), bound)
        marked = areas[values >= 0.5].sum() / areas.sum()
        assert USUAL_SHARE * bound <= marked < USUAL_SHARE * bound + areas.max() / areas.sum()


def test_the_place_of_the_object_is_expected_between_clicks(looks):
    values = guess_all(looks, PointSet.from_rows([(0, 10, 10), (2, 34, 34)]))
    assert at(looks, values, 0, 8, 8) > at(looks, values, 0, 34, 34)
    assert at(looks, values, 2, 34, 34) > at(looks, values, 2, 8, 8)


def test_frames_of_one_colour_have_finite_values():
    even = RoughLooks.of(ImageSequence.from_array(np.full((2, 24, 24), 90, np.uint8)))
    values = guess_all(even, PointSet.from_rows([(0, 10, 10)]))
    assert np.isfinite(values).all()
    assert at(even, values, 0, 10, 10) >= at(even, values, 0, 22, 22)


def test_features_of_a_pretrained_model_find_what_colours_cannot_tell():
    """Object and surroundings have one mean colour, and differ in what a model sees of each part."""
    rows, columns = np.indices((64, 64))
    inside = (rows - 32) ** 2 + (columns - 24) ** 2 < 14**2
    noise = np.random.default_rng(0).integers(90, 110, (3, 64, 64)).astype(np.uint8)
    coarse = inside[2::4, 2::4].astype(np.float32)[..., np.newaxis]
    features = np.concatenate([coarse, 1 - coarse], axis=-1)
    sequence, points = ImageSequence.from_array(noise), PointSet.from_rows([(0, 32, 20), (2, 30, 28)])
    true_share, found = inside.mean(), []
    for seen in ((), [features] * 3):
        rough = RoughLooks.of(sequence, seen)
        areas, frames = region_areas(rough.superpixels).astype(float), frame_of_region(rough.superpixels)
        means = guess(rough, points, areas, frames, 0.4)
        level = level_of_area(means, areas, true_share * areas.sum())
        masks = paint_regions(rough.superpixels, (means >= level).astype(np.float16)) > 0
        found.append(2 * (masks & inside).sum() / (masks.sum() + 3 * inside.sum()))
    assert found[1] > found[0] + 0.1
    assert found[1] > 0.85  # its parts are four pixels wide
