"""What the places of clicks say of the object's size."""

import numpy as np
import pytest

from fewpoint.core import PointSet
from fewpoint.learning.clicks import squared_steps


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
