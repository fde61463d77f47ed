"""What the places of clicks say of the object's size."""

import numpy as np
import pytest

from fewpoint.core import PointSet
from fewpoint.learning.clicks import FEWEST_CLICKS, size_profile, squared_steps


def click_in_discs(radii: np.ndarray, frames: np.ndarray | None = None, seed: int = 0) -> PointSet:
    """One click a frame, evenly drawn from a disc of the given radius round (200, 200)."""
    rng = np.random.default_rng(seed)
    frames = np.arange(len(radii)) if frames is None else frames
    distance = radii * np.sqrt(rng.uniform(size=len(radii)))
    angle = rng.uniform(0, 2 * np.pi, len(radii))
    rows = np.stack([frames, 200 + distance * np.sin(angle), 200 + distance * np.cos(angle)], 1).round().astype(int)
    return PointSet.from_rows([tuple(row) for row in rows.tolist()])


def test_clicks_of_one_disc_lie_its_radius_apart_in_the_root_mean_square():
    # The mean of 4,000 squared distances, each with a relative deviation below 1, is within 5 %.
    squares = squared_steps(click_in_discs(np.full(4000, 60.0)))
    assert np.sqrt(squares.mean()) == pytest.approx(60, rel=0.05)


def test_the_profile_follows_an_object_that_grows_and_shrinks():
    radii = 20 + 80 * np.sin(np.linspace(0, np.pi, 200))
    profile = size_profile(click_in_discs(radii), 200, np.pi * 100**2)
    assert np.corrcoef(profile, radii**2)[0, 1] > 0.9
    assert profile.mean() == pytest.approx(1, abs=0.1)


def test_the_profile_needs_no_click_on_every_frame():
    radii = 20 + 80 * np.sin(np.linspace(0, np.pi, 200))
    points = click_in_discs(radii[::5], np.arange(0, 200, 5))
    profile = size_profile(points, 200, np.pi * 100**2)
    assert profile[100] > 3 * profile[0]
    assert profile.shape == (200,)


def test_few_clicks_and_moving_objects_say_nothing_of_size():
    few = click_in_discs(np.full(FEWEST_CLICKS - 1, 50.0))
    np.testing.assert_array_equal(size_profile(few, 30, 1e4), np.ones(30))
    moving = PointSet.from_rows([(frame, 10 * frame, 10 * frame) for frame in range(30)])
    np.testing.assert_array_equal(size_profile(moving, 30, 500.0), np.ones(30))
    still = PointSet.from_rows([(frame, 10, 10) for frame in range(30)])
    np.testing.assert_array_equal(size_profile(still, 30, 500.0), np.ones(30))


def test_far_from_every_click_the_profile_is_the_mean():
    radii = np.linspace(5, 60, 30)
    profile = size_profile(click_in_discs(radii), 400, np.pi * 60**2)
    assert profile[-1] / profile[200] == pytest.approx(1, abs=1e-6)
