"""The printed filter against filterpy's, its clipped points by hand, and what it makes of what is observed."""

import numpy as np
import pytest
from filterpy.kalman import MerweScaledSigmaPoints, UnscentedKalmanFilter
from hypothesis import given, settings
from hypothesis import strategies as st

from fewpoint.core import AreaBound
from fewpoint.learning import kalman, unscented
from fewpoint.learning.kalman import Gaussian
from fewpoint.learning.priors import initial_state, update_priors
from fewpoint.learning.settings import PriorSettings

MIXING = np.array([[0.8, 0.2, 0.0], [0.1, 0.8, 0.1], [0.0, 0.3, 0.7]])
NO_BOUNDS = (-np.inf, np.inf)


def random_state(count: int, variance: float) -> Gaussian:
    rng = np.random.default_rng(0)
    factor = rng.normal(size=(count, count))
    return Gaussian(rng.uniform(0.2, 0.6, count), variance * (factor @ factor.T / count + np.eye(count)))


@pytest.mark.parametrize(("process", "noise"), [(0.5, 50.0), (10.0, 0.05), (1e-3, 1e-3)])
def test_without_bounds_twenty_steps_equal_filterpys_unscented_filter_and_the_kalman_filter(process, noise):
    state = plain = random_state(3, 0.03)
    points = MerweScaledSigmaPoints(3, alpha=1.0, beta=0.0, kappa=0.0)
    other = UnscentedKalmanFilter(3, 3, dt=1.0, hx=lambda x: x, fx=lambda x, _: MIXING @ x - 0.01, points=points)
    other.x, other.P = state.mean.copy(), state.covariance.copy()
    other.Q, other.R = process * np.eye(3), noise * np.eye(3)
    rng = np.random.default_rng(1)
    for _ in range(20):
        observation = rng.uniform(0, 0.7, 3)
        state = unscented.predict(state, MIXING, 0.01, other.Q, NO_BOUNDS)
        plain = kalman.predict(plain, MIXING, 0.01, other.Q, NO_BOUNDS)
        other.predict()
        np.testing.assert_allclose(state.mean, other.x, rtol=1e-9, atol=1e-12)
        np.testing.assert_allclose(state.covariance, other.P, rtol=1e-9, atol=1e-12)
        state = unscented.correct(state, observation, other.R, NO_BOUNDS)
        plain = kalman.correct(plain, observation, other.R, NO_BOUNDS)
        other.update(observation)
        for each in ((other.x, other.P), (plain.mean, plain.covariance)):
            np.testing.assert_allclose(state.mean, each[0], rtol=1e-9, atol=1e-12)
            np.testing.assert_allclose(state.covariance, each[1], rtol=1e-8, atol=1e-12)


def test_points_are_clipped_when_drawn_and_after_the_transition_by_hand():
    """Variance 0.04: points 0.3 and -0.1, clipped to 0.3 and 0, less 0.05 to 0.25 and 0: mean 0.125, variance 1/64."""
    state = Gaussian(np.array([0.1]), np.array([[0.04]]))
    moved = unscented.predict(state, np.eye(1), 0.05, np.array([[0.5]]), (0.0, 0.4))
    assert moved.mean[0] == pytest.approx(0.125)
    assert moved.covariance[0, 0] == pytest.approx(0.125**2 + 0.5)


def test_the_correction_compares_with_clipped_points_by_hand():
    """Points 0.1 and 1.7 of the variance 0.64, clipped to 0.1 and 0.5: mean 0.3, variance 0.04, gain 0.04 / 0.2."""
    state = Gaussian(np.array([0.9]), np.array([[0.64]]))
    found = unscented.correct(state, np.array([0.0]), np.array([[0.16]]), (0.0, 0.5))
    assert found.mean[0] == pytest.approx(0.3 - 0.2 * 0.3)


@pytest.mark.parametrize(("process", "noise"), [(10.0, 0.05), (0.5, 50.0)])
def test_with_bounds_the_prior_is_about_half_the_bound_whatever_is_observed(process, noise):
    """Nothing or the bound is observed for thirty epochs; with the mean alone clipped, that makes the difference."""
    bound, means = AreaBound(0.06), {}
    for kind in ("unscented", "kalman"):
        chosen = PriorSettings(filter=kind, process_noise=process, observation_noise=noise)
        for observed in (0.0, bound.fraction):
            state = initial_state(25, bound, chosen)
            for epoch in range(30):
                state = update_priors(state, np.full(25, observed), epoch, 100, bound, chosen)
            means[kind, observed] = state.mean.mean() / bound.fraction
    assert all(0.4 < means["unscented", observed] < 0.6 for observed in (0.0, 0.06))
    assert means["unscented", 0.06] - means["unscented", 0.0] < 0.02
    assert means["kalman", 0.06] - means["kalman", 0.0] > 0.5


@settings(max_examples=60, deadline=None)
@given(st.integers(1, 6), st.floats(0.01, 0.9), st.floats(1e-6, 1e3), st.floats(1e-9, 1e3), st.floats(-1, 1))
def test_the_estimate_never_leaves_its_bounds(count, top, process, noise, control):
    rng = np.random.default_rng(count)
    state = Gaussian(rng.uniform(0, top, count), np.eye(count))
    for _ in range(4):
        state = unscented.predict(state, np.eye(count), control, process * np.eye(count), (0.0, top))
        assert (state.mean >= 0).all() and (state.mean <= top + 1e-12).all()
        state = unscented.correct(state, rng.uniform(-1, 2, count), noise * np.eye(count), (0.0, top))
        assert (state.mean >= 0).all() and (state.mean <= top).all()
