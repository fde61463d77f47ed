"""Tracking: which superpixels paths through time select."""

from itertools import pairwise

import numpy as np
import pytest

from fewpoint.core import AreaBound, PointSet, SuperpixelMap
from fewpoint.errors import SettingsError
from fewpoint.tracking import TrackingSettings, find_paths, masks_from_regions, survey_scene, track


def bands(n_frames: int, n_columns: int, width: int = 4) -> SuperpixelMap:
    """Upright bands, the same on each frame: region r of frame t is global n_columns * t + r."""
    row = np.repeat(np.arange(n_columns, dtype=np.int32), width)
    return SuperpixelMap(np.tile(row, (n_frames, 4, 1)))


def shifting_blocks(n_frames: int, rng: np.random.Generator) -> SuperpixelMap:
    """A grid of 5 x 6 blocks whose borders move from frame to frame, so that blocks overlap several others."""
    frames = []
    for _ in range(n_frames):
        rows = np.searchsorted(np.sort(rng.choice(np.arange(1, 30), 4, replace=False)), np.arange(30), side="right")
        columns = np.searchsorted(np.sort(rng.choice(np.arange(1, 36), 5, replace=False)), np.arange(36), side="right")
        frames.append(rows[:, np.newaxis] * 6 + columns)
    return SuperpixelMap(np.array(frames, np.int32))


NEAR = TrackingSettings(radius=0, reach=0)
BOUND = AreaBound(0.1)


def test_a_likely_band_is_followed_from_its_click_to_both_ends():
    probabilities = np.full((5, 3), 0.1)
    probabilities[:, 1] = 0.9
    tracks = track(probabilities.ravel(), bands(5, 3), PointSet.from_rows([(2, 0, 5)]), BOUND, settings=NEAR)
    np.testing.assert_array_equal(tracks.selected.reshape(5, 3), probabilities > 0.5)
    assert tracks.forward == ((7, 10, 13),)
    assert tracks.backward == ((7, 4, 1),)


def test_a_likely_object_that_no_click_reaches_is_left_out():
    probabilities = np.full((3, 5), 0.1)
    probabilities[:, [0, 4]] = 0.9
    tracks = track(probabilities.ravel(), bands(3, 5), PointSet.from_rows([(0, 0, 0)]), BOUND, settings=NEAR)
    assert tracks.selected.reshape(3, 5)[:, 0].all()
    assert not tracks.selected.reshape(3, 5)[:, 4].any()


def test_an_object_that_splits_keeps_one_path_for_each_click_and_the_other_way_finds_both_branches():
    # One band of 4 pixels splits into two of 2 on frames 1 and 2; regions 0 | 1 2 | 3 4, all likely.
    labels = np.array([[[0, 0, 0, 0]], [[0, 0, 1, 1]], [[0, 0, 1, 1]]], np.int32)
    superpixels = SuperpixelMap(labels)
    at_the_start = track(np.full(5, 0.9), superpixels, PointSet.from_rows([(0, 0, 0)]), BOUND, settings=NEAR)
    assert at_the_start.selected.sum() == 3  # a unit of flow cannot split: one branch only
    at_the_ends = PointSet.from_rows([(2, 0, 0), (2, 0, 3)])
    assert track(np.full(5, 0.9), superpixels, at_the_ends, BOUND, settings=NEAR).selected.all()


def test_a_wider_radius_reaches_more_of_a_wide_object():
    superpixels, point = bands(1, 10), PointSet.from_rows([(0, 1, 21)])
    counts = [
        int(
            track(
                np.full(10, 0.9), superpixels, point, BOUND, settings=TrackingSettings(radius=radius, reach=0)
            ).selected.sum()
        )
        for radius in (0, 0.12, 0.5, 1)
    ]
    # Centroids at 1.5, 5.5, … of 40 pixels: 17.5 to 25.5 within 4.8, 1.5 to 37.5 within 20.
    assert counts == [1, 3, 10, 10]


def test_entrances_grow_with_the_object_and_never_fall_below_the_papers_circle():
    superpixels, point = bands(1, 10), PointSet.from_rows([(0, 1, 21)])
    # 4 x 40 pixels: a disc of a share b of them has the radius sqrt(160 b / pi): 1.6, 3.2 and 5.0 pixels.
    counts = [
        int(track(np.full(10, 0.9), superpixels, point, AreaBound(share), settings=settings).selected.sum())
        for settings in (TrackingSettings(radius=0, reach=2), TrackingSettings(radius=0.12, reach=2))
        for share in (0.05, 0.2, 0.5)
    ]
    # Centroids 0.7, 3.5, 4.5, 7.5, 8.5 … from the point; twice the radius is 3.2, 6.4, 10.1; the paper's circle 4.8.
    assert counts == [1, 3, 5, 3, 3, 5]


@pytest.mark.parametrize("seed", range(4))
def test_paths_are_disjoint_step_one_frame_at_a_time_and_between_overlapping_regions(seed):
    rng = np.random.default_rng(seed)
    superpixels = shifting_blocks(6, rng)
    points = PointSet.from_rows([(t, int(rng.integers(30)), int(rng.integers(36))) for t in range(6)])
    scene = survey_scene(rng.uniform(0.2, 1, superpixels.total), superpixels, points, radius=7.2)
    links = {tuple(pair) for pair in scene.overlaps.tolist()}
    for direction, turn in (("forward", 1), ("backward", -1)):
        paths = find_paths(scene, 0.4, direction)
        visited = [region for path in paths for region in path]
        assert len(visited) == len(set(visited)) > 0
        assert all(scene.entrances[path[0]] for path in paths)
        assert all(pair[::turn] in links for path in paths for pair in pairwise(path))
        assert scene.probabilities[visited].min() >= 0.4


@pytest.mark.parametrize("seed", range(4))
def test_reversing_time_swaps_forward_and_backward_and_keeps_the_mask(seed):
    rng = np.random.default_rng(seed)
    superpixels = shifting_blocks(5, rng)
    points = PointSet.from_rows([(1, 10, 10), (3, 20, 20)])
    probabilities = rng.uniform(0.2, 1, superpixels.total)
    mirrored = PointSet.from_rows([(4 - frame, y, x) for frame, y, x in points.coordinates.tolist()])
    here = track(probabilities, superpixels, points, BOUND, settings=TrackingSettings(radius=0.1, reach=0))
    there = track(
        probabilities.reshape(5, 30)[::-1].ravel(),
        SuperpixelMap(superpixels.labels[::-1].copy()),
        mirrored,
        BOUND,
        settings=TrackingSettings(radius=0.1, reach=0),
    )
    np.testing.assert_array_equal(there.selected.reshape(5, 30)[::-1].ravel(), here.selected)
    renamed = (np.arange(5)[::-1, np.newaxis] * 30 + np.arange(30)).ravel()
    there_forward = {region for path in there.forward for region in renamed[list(path)].tolist()}
    assert there_forward == {region for path in here.backward for region in path}


def test_where_nothing_can_be_entered_the_masks_are_empty():
    superpixels = bands(3, 4)
    tracks = track(np.full(12, 0.1), superpixels, PointSet.from_rows([(1, 0, 0)]), BOUND, settings=TrackingSettings())
    masks = masks_from_regions(superpixels, tracks.selected)
    assert masks.shape == superpixels.labels.shape
    assert masks.dtype == bool
    assert not masks.any()
    assert tracks.forward == tracks.backward == ()


def test_masks_cover_the_selected_superpixels_and_no_more():
    superpixels = bands(2, 3)
    masks = masks_from_regions(superpixels, np.array([True, False, False, False, False, True]))
    assert (masks[0, :, :4].all(), masks[1, :, 8:].all(), int(masks.sum())) == (True, True, 32)


@pytest.mark.parametrize(
    "wrong", [{"radius": -0.1}, {"radius": np.nan}, {"reach": -1.0}, {"reach": np.inf}, {"prune": 1.5}]
)
def test_meaningless_settings_are_refused_by_name(wrong):
    with pytest.raises(SettingsError, match=f"tracking.{next(iter(wrong))}"):
        TrackingSettings(**wrong)
