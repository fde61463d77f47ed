"""How the sizes of slices run through a whole object."""

import numpy as np
import pytest

from fewpoint.core import PointSet
from fewpoint.learning.taper import LEAST_CLICKED, Taper, find_taper

EVERY_FIFTH = PointSet.from_rows([(frame, 5, 6) for frame in (2, 7, 12, 17)])  # of twenty frames


def slices_of_a_ball(count: int) -> np.ndarray:
    heights = (np.arange(count) + 0.5) * 2 / count - 1
    return np.pi * (1 - heights**2)


def test_the_slices_of_a_ball_follow_the_profile_and_are_believed_in_full():
    taper = find_taper(0.1 * slices_of_a_ball(20), EVERY_FIFTH)
    assert taper.trust == pytest.approx(1)
    np.testing.assert_allclose(taper.profile * np.pi, slices_of_a_ball(20))


def test_sizes_that_hardly_shrink_are_believed_as_well_if_they_shrink_alike():
    assert find_taper(slices_of_a_ball(20) ** 0.2, EVERY_FIFTH).trust == pytest.approx(1)


@pytest.mark.parametrize("shares", [np.full(20, 0.1), 1 / slices_of_a_ball(20)], ids=["even", "the other way round"])
def test_sizes_that_do_not_shrink_at_the_ends_are_not_believed(shares):
    assert find_taper(shares, EVERY_FIFTH).trust == 0


def test_sizes_that_grow_all_the_way_are_hardly_believed():
    assert find_taper(np.exp(np.arange(20.0)), EVERY_FIFTH).trust < 0.01


def test_three_frames_tell_nothing_of_a_taper():
    points = PointSet.from_rows([(frame, 5, 6) for frame in range(3)])
    assert find_taper(np.array([0.1, 0.3, 0.1]), points).trust == 0


def test_a_volume_beyond_the_clicks_is_no_part_of_the_object():
    points = PointSet.from_rows([(frame, 5, 6) for frame in range(30, 50)])
    shares = np.full(80, 0.01)
    shares[30:50] = slices_of_a_ball(20)
    taper = find_taper(shares, points)
    assert taper.trust == pytest.approx(1)
    np.testing.assert_allclose(taper.profile[30:50] * np.pi, slices_of_a_ball(20))
    assert (taper.profile[:30] == taper.profile.min()).all() and (taper.profile[50:] == taper.profile.min()).all()


def test_one_clicked_frame_alone_gives_a_profile_above_zero():
    taper = find_taper(np.full(9, 0.2), PointSet.from_rows([(4, 5, 6)]))
    assert (taper.profile > 0).all() and taper.trust == 0


def test_a_clicked_slice_keeps_a_share_of_the_mean():
    profile = np.array([0.01, 0.5, 1.0, 0.5, 0.01])
    bent = Taper(profile, 1.0, np.array([True, False, False, False, False])).bent
    assert bent[0] == pytest.approx(LEAST_CLICKED * profile.mean()) and bent[1:].tolist() == profile[1:].tolist()
    assert (Taper(profile, 0.0, np.ones(5, bool)).bent == 1).all()
