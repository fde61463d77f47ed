"""Seeds from attention and saliency."""

import numpy as np

from fewpoint.methods.competitors.frames import SmallFrame
from fewpoint.methods.competitors.gaze2segment import find_borders, place_seeds
from fewpoint.methods.competitors.random_walker import BACKGROUND, FOREGROUND


def make_blob() -> SmallFrame:
    """A bright disc of radius 8 round (30, 30), clicked off its centre."""
    rows, columns = np.indices((60, 60))
    colours = np.where(np.hypot(rows - 30, columns - 30) <= 8, 0.9, 0.2)[..., np.newaxis].astype(np.float32)
    return SmallFrame(colours, np.array([[31, 29]]))


def test_foreground_seeds_lie_on_the_blob_and_background_seeds_off_it():
    seeds = place_seeds(make_blob())
    rows, columns = np.indices(seeds.shape)
    distance = np.hypot(rows - 30, columns - 30)
    assert seeds[31, 29] == FOREGROUND
    assert distance[seeds == FOREGROUND].max() <= 10
    assert distance[seeds == BACKGROUND].min() >= 8
    assert (seeds == BACKGROUND).sum() >= 8


def test_borders_are_found_in_all_directions():
    rows, columns = np.indices((41, 41))
    saliency = np.clip(1 - np.maximum(np.hypot(rows - 20, columns - 20) - 8, 0), 0, 1)
    borders = find_borders(saliency, np.array([20, 20]))
    assert len(borders) == 16
    assert all(9 <= np.hypot(y - 20, x - 20) <= 13 for y, x in borders)


def test_where_saliency_never_falls_there_is_no_border():
    rising = np.hypot(*np.indices((9, 9)) - 4.0 * np.ones((2, 1, 1)))
    assert find_borders(rising, np.array([4, 4])) == []
