"""Probabilities that masks can be cut from again."""

import numpy as np

from fewpoint.core import AreaBound, ObjectResult, PriorEstimate, PriorHistory, ProbabilityMaps
from fewpoint.pipeline.calibration import CUT, calibrate, sharpen


def build(maps, masks) -> ObjectResult:
    nothing = PriorEstimate(*[np.zeros(len(masks))] * 3)
    return ObjectResult(masks, ProbabilityMaps(maps), nothing, PriorHistory.empty(len(masks)), AreaBound(0.5))


def test_masks_are_what_is_cut_from_the_probabilities_whatever_they_were():
    random = np.random.default_rng(0)
    maps, masks = random.random((4, 9, 9)).astype(np.float16), random.random((4, 9, 9)) > 0.5
    found = calibrate(build(maps, masks))
    assert (found.masks == masks).all() and ((found.probabilities.values >= CUT) == masks).all()


def test_odds_are_squared_and_order_is_kept():
    given = np.linspace(0.001, 0.999, 500)
    squared = sharpen(given)
    np.testing.assert_allclose(squared / (1 - squared), (given / (1 - given)) ** 2, rtol=1e-9)
    assert ((squared >= CUT) == (given >= CUT)).all() and (np.diff(squared) > 0).all()
