"""Points carried along known motion, and not where there is nothing to follow."""

import numpy as np
import pytest

from fewpoint.core import ImageSequence, PointSet
from fewpoint.learning import motion
from fewpoint.learning.motion import WORKING_SIDE, Frames, Motion, Search, carry_points

SIDE = 64


def smooth_noise(shape: tuple[int, int], seed: int, scale: float = 1.5) -> np.ndarray:
    """Grain of a few pixels, 0 … 255: a texture that is found again and cannot be taken for another."""
    from scipy.ndimage import gaussian_filter

    noise = gaussian_filter(np.random.default_rng(seed).standard_normal(shape), scale)
    return 255 * (noise - noise.min()) / np.ptp(noise)


def slide(steps: list[tuple[int, int]], side: int = SIDE) -> ImageSequence:
    """One textured plane that moves by (rows, columns) from each frame to the next."""
    plane, margin = smooth_noise((3 * side, 3 * side), seed=0), side
    places = np.cumsum([(0, 0), *steps], axis=0)
    frames = [plane[margin - y : margin - y + side, margin - x : margin - x + side] for y, x in places]
    return ImageSequence.from_array(np.stack(frames).astype(np.uint8))


def carried(sequence: ImageSequence, points: PointSet, frames: int) -> list[tuple[int, ...]]:
    return [tuple(row) for row in carry_points(sequence, points, frames).coordinates.tolist()]


def test_a_point_follows_its_patch_by_known_steps_into_past_and_future():
    sequence = slide([(1, 2), (3, 0), (-2, 4), (0, -5)])
    points = PointSet.from_rows([(2, 30, 30)])
    expected = [(0, 26, 28), (1, 27, 30), (2, 30, 30), (3, 28, 34), (4, 28, 29)]
    assert carried(sequence, points, 2) == expected
    assert carried(sequence, points, 1) == expected[1:4]


def test_a_patch_moves_over_ground_that_stays():
    ground, patch = smooth_noise((SIDE, SIDE), 1), smooth_noise((17, 17), 2)
    frames = np.stack([ground] * 3)
    for frame, (y, x) in enumerate([(20, 20), (23, 22), (26, 24)]):
        frames[frame, y : y + 17, x : x + 17] = patch
    sequence = ImageSequence.from_array(frames.astype(np.uint8))
    assert carried(sequence, PointSet.from_rows([(0, 28, 28)]), 2) == [(0, 28, 28), (1, 31, 30), (2, 34, 32)]
    assert carried(sequence, PointSet.from_rows([(0, 55, 8)]), 2) == [(0, 55, 8), (1, 55, 8), (2, 55, 8)]


def test_what_is_hidden_is_lost_and_not_found_behind_it():
    sequence = slide([(1, 1)] * 3)
    frames = sequence.frames.copy()
    frames[2] = smooth_noise((SIDE, SIDE), 3)[..., np.newaxis]
    hidden = ImageSequence.from_array(frames)
    assert carried(hidden, PointSet.from_rows([(0, 30, 30)]), 3) == [(0, 30, 30), (1, 31, 31)]


def test_what_looks_alike_but_was_elsewhere_before_is_not_taken_for_it(monkeypatch):
    # The patch is hidden on the next frame; its like, fifteen pixels to the right, was there all along.
    patch, other = (smooth_noise((15, 15), seed, 1.0) for seed in (4, 5))
    frames = np.stack([smooth_noise((128, 128), 6)] * 2)
    frames[:, 53:68, 58:73] = 0.8 * patch + 0.2 * other
    frames[0, 53:68, 43:58] = patch
    frames[1, 53:68, 43:58] = smooth_noise((15, 15), 7, 1.0)
    sequence, elsewhere = ImageSequence.from_array(frames.astype(np.uint8)), (1, 120, 5)
    points = PointSet.from_rows([(0, 60, 50), elsewhere])  # with a point of its own, a frame is not asked twice
    assert (1, 60, 65) not in carried(sequence, points, 1)
    monkeypatch.setattr(motion, "RETURN", 99)  # it is the way back that tells
    assert (1, 60, 65) in carried(sequence, points, 1)


def test_light_that_moves_with_the_camera_does_not_hold_a_point_back():
    """A texture slides through a beam that stays where it is on the frames."""
    texture = slide([(0, 6)] * 2, side=96).frames[..., 0] / 255
    rows, columns = np.mgrid[:96, :96]
    beam = np.exp(-((rows - 48) ** 2 + (columns - 48) ** 2) / (2 * 24**2))
    frames = np.round(255 * (0.7 * beam + 0.3 * texture)).astype(np.uint8)
    sequence, start = ImageSequence.from_array(frames), (0, 48, 44)
    assert carried(sequence, PointSet.from_rows([start]), 2) == [start, (1, 48, 50), (2, 48, 56)]
    both = carried(sequence, PointSet.from_rows([start, (1, 10, 10)]), 1)  # with the light there is nothing to follow
    assert (1, 48, 50) not in both


def test_a_frame_with_a_point_of_its_own_gets_no_doubtful_one():
    sequence, start = slide([(0, 30)], side=192), (0, 96, 50)  # farther than the small patch may move, not the large
    assert carried(sequence, PointSet.from_rows([start]), 1) == [start, (1, 96, 80)]
    assert (1, 96, 80) not in carried(sequence, PointSet.from_rows([start, (1, 150, 150)]), 1)


def test_a_step_beyond_the_reach_is_not_guessed():
    # The reach is 0.12 of 64 pixels, 8, and 0.2, 13, for a larger patch.
    assert carried(slide([(0, 8)]), PointSet.from_rows([(0, 30, 30)]), 1) == [(0, 30, 30), (1, 30, 38)]
    assert carried(slide([(0, 13)]), PointSet.from_rows([(0, 30, 30)]), 1) == [(0, 30, 30), (1, 30, 43)]
    assert carried(slide([(0, 20)]), PointSet.from_rows([(0, 30, 30)]), 1) == [(0, 30, 30)]


def test_what_leaves_the_frame_is_not_carried_outside_of_it():
    sequence = slide([(0, 6)] * 3)
    rows = carried(sequence, PointSet.from_rows([(0, 30, 50)]), 3)
    assert set(rows) <= {(0, 30, 50), (1, 30, 56), (2, 30, 62)}
    assert (1, 30, 56) in rows


def test_noise_of_its_own_on_every_frame_carries_nothing():
    frames = np.random.default_rng(0).integers(0, 256, (5, SIDE, SIDE)).astype(np.uint8)
    points = PointSet.from_rows([(2, y, x) for y in (10, 32, 50) for x in (10, 32, 50)])
    assert len(carry_points(ImageSequence.from_array(frames), points, 2)) == len(points)


def test_even_frames_carry_nothing():
    flat = ImageSequence.from_array(np.full((4, 32, 32), 90, np.uint8))
    points = PointSet.from_rows([(1, 16, 16)])
    np.testing.assert_array_equal(carry_points(flat, points, 3).coordinates, points.coordinates)


def test_absent_frames_get_no_point_and_let_none_through():
    sequence = slide([(0, 1)] * 4)
    points = PointSet.from_rows([(0, 30, 30)], absent=[2])
    result = carry_points(sequence, points, 4)
    assert result.frames.tolist() == [0, 1]
    assert result.absent == (2,)


@pytest.mark.parametrize(
    ("clicked", "last"),
    [
        ([0], 1),  # a single click has no gap
        ([0, 1, 2], 3),
        ([0, 4], 6),  # three frames between: one more
        ([0, 10], 10),  # nine frames between: four more, so that the clicks meet in the middle
    ],
)
def test_where_clicks_are_sparse_they_reach_half_the_gap_further(clicked, last):
    points = PointSet.from_rows([(frame, 30, 30 + frame) for frame in clicked])
    result = carry_points(slide([(0, 1)] * 10), points, 1)
    assert result.coordinates.tolist() == [[frame, 30, 30 + frame] for frame in range(last + 1)]


def test_clicks_stay_and_a_carried_point_that_meets_one_counts_once():
    sequence = slide([(2, 0)] * 2)
    points = PointSet.from_rows([(0, 30, 30), (1, 32, 30), (1, 10, 50)])
    rows = carried(sequence, points, 1)
    assert rows == [(0, 8, 50), (0, 30, 30), (1, 10, 50), (1, 32, 30), (2, 12, 50), (2, 34, 30)]


@pytest.mark.parametrize("factor", [2, 3])
def test_frames_larger_than_the_working_side_are_followed_at_their_own_scale(factor):
    # Blown up by a whole factor, so that one working pixel is factor x factor of the input's.
    small = slide([(4, -6), (2, 5)], WORKING_SIDE)
    large = ImageSequence.from_array(small.frames.repeat(factor, axis=1).repeat(factor, axis=2))
    start = (90 * factor + 1, 90 * factor + 1)
    rows = np.array(carried(large, PointSet.from_rows([(0, *start)]), 2))
    expected = np.array([(0, 90, 90), (1, 94, 84), (2, 96, 89)])
    assert rows[:, 0].tolist() == [0, 1, 2]
    # To within the working pixel, whose middle a point is given.
    assert np.abs(rows[:, 1:] - (expected[:, 1:] + 0.5) * factor + 0.5).max() <= factor / 2


def test_with_no_frames_to_carry_or_none_to_carry_to_the_points_stay_as_they_are():
    points = PointSet.from_rows([(0, 30, 30)])
    assert carry_points(slide([(0, 1)]), points, 0) is points
    assert carry_points(slide([]), points, 3) is points


def test_colour_and_bit_depth_do_not_matter():
    grey = slide([(1, 2), (3, 0)])
    points = PointSet.from_rows([(0, 30, 30)])
    colour = ImageSequence.from_array(grey.frames.repeat(3, axis=-1))
    deep = ImageSequence.from_array(grey.frames.astype(np.uint16) * 100)
    assert carried(grey, points, 2) == carried(colour, points, 2) == carried(deep, points, 2)


def test_negatives_are_carried_as_points_are():
    sequence = slide([(1, 2), (3, 0)])
    points = PointSet.from_rows([(1, 30, 30)], negatives=[(0, 40, 20)])
    moved = carry_points(sequence, points, 2)
    assert moved.negatives.tolist() == [[0, 40, 20], [1, 41, 22], [2, 44, 22]]
    assert moved.coordinates.tolist() == [[0, 29, 28], [1, 30, 30], [2, 33, 30]]


@pytest.mark.parametrize("seed", range(3))
def test_correlation_is_that_of_scikit_image(seed):
    from skimage.feature import match_template

    image = smooth_noise((40, 33), seed).astype(np.float32)
    patch = image[7:16, 11:24]
    np.testing.assert_allclose(motion.correlate(image, patch), match_template(image, patch), atol=1e-3)


def test_an_even_part_correlates_with_nothing():
    image = np.full((20, 20), 0.3, np.float32)
    assert not motion.correlate(image, smooth_noise((5, 5), 0).astype(np.float32)).any()


def list_searches(monkeypatch) -> list[Search]:
    """All searches from now on."""
    searches, find = [], Frames.find

    def listen(frames: Frames, search: Search) -> motion.Place | None:
        searches.append(search)
        return find(frames, search)

    monkeypatch.setattr(Frames, "find", listen)
    return searches


def test_what_was_found_before_is_not_searched_for_again(monkeypatch):
    sequence = slide([(1, 2), (3, 0), (-2, 4), (0, -5)])
    points = PointSet.from_rows([(2, 30, 30)], negatives=[(1, 3, 60)])
    first = Motion(sequence)
    expected, searches = first.carry(points, 2), list_searches(monkeypatch)
    again = Motion(sequence, first.found).carry(points, 2)
    np.testing.assert_array_equal(again.coordinates, expected.coordinates)
    np.testing.assert_array_equal(again.negatives, expected.negatives)
    assert searches == []


def test_with_points_that_are_new_only_these_are_searched_for_and_go_where_they_would_alone(monkeypatch):
    """The second point makes the first less doubtful on its frame, so that what was lost there stays lost."""
    frames = slide([(1, 2), (3, 0), (-2, 4), (0, -5)]).frames.copy()
    frames[3] = smooth_noise((SIDE, SIDE), 3)[..., np.newaxis]
    sequence = ImageSequence.from_array(frames)
    before, now = PointSet.from_rows([(2, 30, 30)]), PointSet.from_rows([(2, 30, 30), (3, 40, 20)])
    expected, first, searches = carry_points(sequence, now, 2), Motion(sequence), list_searches(monkeypatch)
    first.carry(before, 2)
    known = set(searches)
    searches.clear()
    second = Motion(sequence, first.found)
    np.testing.assert_array_equal(second.carry(now, 2).coordinates, expected.coordinates)
    assert searches and not known & set(searches)
    assert len(second.found) == len(known | set(searches)) == len(first.found) + len(searches)
