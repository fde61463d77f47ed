"""Distances between surfaces, against distances worked out by hand and pixel by pixel."""

import numpy as np
import pytest

from fewpoint.core import Geometry
from fewpoint.errors import InputError
from fewpoint.evaluation.judging import judge_labels, judge_masks
from fewpoint.evaluation.surfaces import measure_surfaces, measure_volume, spacing_of


def make_ball(shape: tuple[int, int, int], centre: tuple[float, float, float], radius: float) -> np.ndarray:
    places = np.indices(shape).reshape(3, -1).T
    return (np.linalg.norm(places - centre, axis=1) <= radius).reshape(shape)


def list_surface(mask: np.ndarray) -> np.ndarray:
    """(P, n) places of a mask with a neighbour outside, looked up one by one."""
    padded = np.pad(mask, 1)
    steps = [np.eye(mask.ndim, dtype=int)[axis] * sign for axis in range(mask.ndim) for sign in (-1, 1)]
    return np.array(
        [place for place in np.argwhere(mask) if not all(padded[tuple(place + 1 + step)] for step in steps)]
    )


def measure_slowly(masks: np.ndarray, truth: np.ndarray, spacing: tuple[float, ...]) -> tuple[float, float]:
    one, other = (list_surface(each) * spacing for each in (masks, truth))
    distances = np.linalg.norm(one[:, np.newaxis] - other[np.newaxis], axis=-1)
    there, back = distances.min(axis=1), distances.min(axis=0)
    farthest = max(np.percentile(there, 95), np.percentile(back, 95))
    return float(farthest), float(np.concatenate([there, back]).mean())


@pytest.mark.parametrize("spacing", [(1.0, 1.0, 1.0), (5.0, 0.7, 0.9)])
def test_distances_are_those_of_all_pairs_whatever_the_spacing(spacing):
    masks, truth = make_ball((9, 20, 18), (4, 9, 8), 4.2), make_ball((9, 20, 18), (5, 11, 8), 5.1)
    found = measure_surfaces(masks, truth, spacing)
    assert (found.hd95, found.assd) == pytest.approx(measure_slowly(masks, truth, spacing))
    assert found.unit == "mm"


def test_a_mask_moved_by_a_slice_is_a_slice_s_thickness_away():
    """One pixel thick planes of frames 1 and 3, 4 mm apart: two slices are 8 mm."""
    masks, truth = np.zeros((5, 6, 6), bool), np.zeros((5, 6, 6), bool)
    masks[1], truth[3] = True, True
    found = measure_surfaces(masks, truth, (4.0, 1.0, 1.0))
    assert (found.hd95, found.assd) == (8.0, 8.0)


def test_frames_over_time_are_compared_one_by_one_in_pixels():
    """Nothing is compared between frames: 2 px on the first, nothing to compare on the second, 0 on the third."""
    masks, truth = np.zeros((4, 8, 8), bool), np.zeros((4, 8, 8), bool)
    masks[0, 1, 1], truth[0, 1, 3] = True, True
    masks[1, 7, 7] = True
    masks[2, 4, 4], truth[2, 4, 4] = True, True
    found = measure_surfaces(masks, truth)
    assert (found.assd, found.unit, found.unmatched_frames) == (1.0, "px", 1)
    assert found.hd95 == pytest.approx(1.9)
    assert measure_surfaces(masks, truth, (1.0, 0.5)).assd == 0.5


def test_empty_masks_have_no_distance_to_something_and_none_to_nothing():
    nothing, something = np.zeros((2, 4, 4), bool), np.ones((2, 4, 4), bool)
    assert measure_surfaces(nothing, nothing, (1.0, 1.0, 1.0)).hd95 == 0
    for spacing in (None, (1.0, 1.0, 1.0)):
        found = measure_surfaces(nothing, something, spacing)
        assert (found.hd95, found.assd) == (None, None)
    assert measure_volume(something, nothing).relative is None


def test_volumes_are_in_millilitres_if_the_spacing_is_known():
    masks, truth = make_ball((9, 9, 9), (4, 4, 4), 3), make_ball((9, 9, 9), (4, 4, 4), 4)
    found = judge_masks(masks, truth, (2.0, 1.0, 1.0))
    assert found.volume.truth == pytest.approx(truth.sum() * 2 / 1000)
    assert found.volume_error == pytest.approx(masks.sum() / truth.sum() - 1)
    assert found.as_table()["volume_unit"] == "ml"


def test_each_object_is_judged_by_itself():
    labels = np.zeros((1, 4, 4), int)
    labels[0, 0], labels[0, 3] = 1, 2
    found = judge_labels(labels, np.where(labels == 2, 0, labels))
    assert (found[1].f1, found[2].f1, found[2].hd95) == (1.0, 0.0, None)


def test_the_spacing_of_a_volume_is_that_of_its_frames_rows_and_columns():
    volume = Geometry.from_affine(np.diag([0.5, 0.7, 3.0, 1.0]), (8, 9, 10))
    assert spacing_of(volume) == (3.0, 0.7, 0.5)
    assert spacing_of(volume.cut("0")) == (0.5, 3.0, 0.7)
    assert spacing_of(None) is None
    with pytest.raises(InputError, match="lengths above 0"):
        measure_surfaces(np.ones((1, 2, 2), bool), np.ones((1, 2, 2), bool), (1.0, 0.0, 1.0))
