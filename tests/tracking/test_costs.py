"""Costs of visits."""

import numpy as np
import pytest

from fewpoint.errors import InputError
from fewpoint.tracking.costs import visit_costs


def test_costs_are_negative_log_odds():
    odds = np.array([1 / 9, 1, 4, 99])
    np.testing.assert_allclose(visit_costs(odds / (1 + odds)), -np.log(odds), atol=1e-12)


def test_certainty_costs_the_clipped_log_odds():
    limit = np.log(0.99 / 0.01)
    np.testing.assert_allclose(visit_costs(np.array([0.0, 1.0]), clip=0.01), [limit, -limit], rtol=1e-12)


def test_swapping_object_and_background_changes_the_sign():
    probabilities = np.linspace(0, 1, 101)
    np.testing.assert_allclose(visit_costs(1 - probabilities), -visit_costs(probabilities), atol=1e-9)


def test_half_precision_ones_stay_finite():
    assert np.isfinite(visit_costs(np.array([0, 1], np.float16))).all()


@pytest.mark.parametrize("wrong", [-0.1, 1.1, np.nan])
def test_what_is_not_a_probability_is_refused(wrong):
    with pytest.raises(InputError, match=r"\[0, 1\]"):
        visit_costs(np.array([0.5, wrong]))
