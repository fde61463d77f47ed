"""Masks that take no learning, by hand."""

import numpy as np
import pytest

from fewpoint.core import AreaBound, ImageSequence, PointSet
from fewpoint.methods.competitors.results import ASSUMED_BOUND
from fewpoint.methods.competitors.trivial import AllPositive, HalfDisc, draw_discs

SEQUENCE = ImageSequence.from_array(np.zeros((4, 60, 80), np.uint8))
POINTS = PointSet.from_rows([(0, 30, 40), (1, 30, 15), (1, 30, 65)], absent=[3])


def test_all_positive_marks_every_pixel_but_those_of_absent_frames():
    masks = AllPositive().segment(SEQUENCE, POINTS, AreaBound(0.1), seed=0).masks
    assert masks[:3].all() and not masks[3].any()


def test_a_disc_covers_half_the_bound_round_its_click():
    """Half of 0.1 x 60 x 80 pixels is 240: a disc of radius 8.74, counted in pixels within a few of that."""
    result = HalfDisc().segment(SEQUENCE, POINTS, AreaBound(0.1), seed=0)
    rows, columns = np.nonzero(result.masks[0])
    assert len(rows) == pytest.approx(240, abs=10)
    assert (rows.mean(), columns.mean()) == (30, 40)
    assert np.hypot(rows - 30, columns - 40).max() <= 8.74


def test_two_clicks_give_the_union_and_no_click_gives_nothing():
    masks = HalfDisc().segment(SEQUENCE, POINTS, AreaBound(0.1), seed=0).masks
    assert masks[1].sum() == 2 * masks[0].sum()
    assert not masks[2:].any()


def test_a_disc_is_cut_at_the_frame():
    whole = draw_discs(PointSet.from_rows([(0, 30, 40)]), 0.05, (1, 60, 80))
    corner = draw_discs(PointSet.from_rows([(0, 0, 0)]), 0.05, (1, 60, 80))
    assert corner.sum() < 0.35 * whole.sum()


def test_priors_are_the_shares_of_the_masks_and_probabilities_are_certain():
    result = HalfDisc().segment(SEQUENCE, POINTS, AreaBound(0.1), seed=0)
    np.testing.assert_array_equal(result.priors.mean, result.masks.mean(axis=(1, 2)))
    np.testing.assert_array_equal(result.probabilities.values, result.masks)
    assert len(result.history) == 0


def test_without_a_bound_one_is_assumed_and_said_so():
    result = HalfDisc().segment(SEQUENCE, POINTS, None, seed=0)
    assert result.bound is ASSUMED_BOUND
    assert result.masks[0].sum() == pytest.approx(ASSUMED_BOUND.fraction / 2 * 60 * 80, abs=10)
