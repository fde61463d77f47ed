"""The random walker's seeds and what it does with them, by hand."""

import numpy as np
import pytest

from fewpoint.core import AreaBound, ImageSequence, PointSet
from fewpoint.evaluation import score_masks
from fewpoint.methods.competitors.frames import SmallFrame
from fewpoint.methods.competitors.random_walker import BACKGROUND, FOREGROUND, RandomWalker, place_seeds, walk


def make_frame(size: tuple[int, int], *clicks: tuple[int, int]) -> SmallFrame:
    return SmallFrame(np.zeros((*size, 1), np.float32), np.array(clicks))


def test_seeds_are_discs_of_a_quarter_and_beyond_two_radii():
    """A bound of 0.0314 x 100 x 100 = 314 pixels is a disc of radius 10: seeds within 2.5 and from 20 on."""
    seeds = place_seeds(make_frame((100, 100), (50, 50)), AreaBound(0.0314159))
    row = seeds[50, 50:].tolist()
    assert row[:3] == [FOREGROUND] * 3 and row[3:20] == [0] * 17 and set(row[20:]) == {BACKGROUND}


def test_background_keeps_away_from_every_click():
    seeds = place_seeds(make_frame((100, 100), (50, 20), (50, 80)), AreaBound(0.0314159))
    assert seeds[50, 20] == seeds[50, 80] == FOREGROUND
    assert (seeds[50, 80:100] != BACKGROUND).all()


def test_a_bound_that_fills_the_frame_leaves_its_farthest_twentieth_as_background():
    seeds = place_seeds(make_frame((40, 40), (20, 20)), AreaBound(0.9))
    assert (seeds == BACKGROUND).mean() == pytest.approx(0.05, abs=0.01)


def test_on_a_line_probability_falls_evenly_from_seed_to_seed():
    """Without contrast a walker between seeds at 0 and 4 is at 1/4, 2/4, 3/4 of the way."""
    seeds = np.array([[FOREGROUND, 0, 0, 0, BACKGROUND]] * 2)
    colours = np.zeros((2, 5, 1))
    colours[:, 4] = 1e-6  # not quite even: an image without any contrast has no scale
    np.testing.assert_allclose(walk(colours, seeds)[0, :4], [1, 0.75, 0.5, 0.25], atol=0.02)


def test_a_walker_does_not_cross_a_strong_edge():
    colours = np.zeros((5, 9, 1))
    colours[:, 5:] = 1
    seeds = np.zeros((5, 9), int)
    seeds[2, 0], seeds[2, 8] = FOREGROUND, BACKGROUND
    probability = walk(colours, seeds)
    assert (probability[:, :5] > 0.9).all() and (probability[:, 5:] < 0.1).all()


def test_without_background_all_is_foreground():
    assert (walk(np.zeros((3, 3, 1)), np.array([[FOREGROUND, 0, 0]] * 3)) == 1).all()


def test_a_frame_without_a_click_stays_empty():
    sequence = ImageSequence.from_array(np.random.default_rng(0).integers(0, 255, (2, 30, 30), np.uint8))
    masks = RandomWalker().segment(sequence, PointSet.from_rows([(0, 15, 15)]), AreaBound(0.1), seed=0).masks
    assert masks[0].any() and not masks[1].any()


def test_it_finds_an_even_object_to_its_border():
    """A square of 16 x 16 pixels in a frame of 60 x 60, clicked near a corner."""
    truth = np.zeros((1, 60, 60), bool)
    truth[0, 20:36, 22:38] = True
    noise = np.random.default_rng(0).normal(0, 3, truth.shape)
    sequence = ImageSequence.from_array((np.where(truth, 160, 90) + noise).astype(np.uint8))
    masks = RandomWalker().segment(sequence, PointSet.from_rows([(0, 32, 25)]), AreaBound(0.1), seed=0).masks
    assert score_masks(masks, truth).pooled.f1 > 0.95
