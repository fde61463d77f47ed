"""The filter against filterpy's plain Kalman filter, whose mean alone is clipped, and at its limits."""

import numpy as np
import pytest
from filterpy.kalman import KalmanFilter
from hypothesis import given, settings
from hypothesis import strategies as st

from fewpoint.learning.kalman import Gaussian, correct, predict

MIXING = np.array([[0.8, 0.2, 0.0], [0.1, 0.8, 0.1], [0.0, 0.3, 0.7]])
NO_BOUNDS = (-np.inf, np.inf)


def random_state(count: int, variance: float, seed: int = 0) -> Gaussian:
    rng = np.random.default_rng(seed)
    factor = rng.normal(size=(count, count))
    covariance = variance * (factor @ factor.T / count + np.eye(count))
    return Gaussian(rng.uniform(0.2, 0.6, count), covariance)


@pytest.mark.parametrize("bounds", [NO_BOUNDS, (0.0, 0.7)])
@pytest.mark.parametrize(("process", "noise", "control"), [(0.5, 50.0, 0.05), (0.5, 0.01, 0.01), (1e-3, 1e-3, 0.2)])
def test_twenty_steps_equal_filterpys_kalman_filter_with_its_mean_clipped(bounds, process, noise, control):
    state = random_state(3, 0.03)
    other = KalmanFilter(dim_x=3, dim_z=3, dim_u=1)
    other.x, other.P = state.mean.copy(), state.covariance.copy()
    other.F, other.H, other.B = MIXING, np.eye(3), -np.ones((3, 1))
    other.Q, other.R = process * np.eye(3), noise * np.eye(3)
    rng, clipped = np.random.default_rng(1), 0
    for _ in range(20):
        observation = rng.uniform(-0.2, 0.9, 3)
        state = predict(state, MIXING, control, process * np.eye(3), bounds)
        other.predict(u=np.array([control]))
        clipped += int((np.clip(other.x, *bounds) != other.x).any())
        other.x = np.clip(other.x, *bounds)
        np.testing.assert_allclose(state.mean, other.x, rtol=1e-10, atol=1e-12)
        np.testing.assert_allclose(state.covariance, other.P, rtol=1e-10, atol=1e-12)
        state = correct(state, observation, noise * np.eye(3), bounds)
        other.update(observation)
        clipped += int((np.clip(other.x, *bounds) != other.x).any())
        other.x = np.clip(other.x, *bounds)
        np.testing.assert_allclose(state.mean, other.x, rtol=1e-10, atol=1e-12)
        np.testing.assert_allclose(state.covariance, other.P, rtol=1e-9, atol=1e-12)
    assert (clipped > 0) == (bounds != NO_BOUNDS)


def test_bounds_leave_the_covariance_alone():
    """A state that is pushed onto its bound is as uncertain as one that is not, and heeds the next observation."""
    state, noise = Gaussian(np.array([0.1]), np.array([[0.3]])), np.array([[0.5]])
    free, bounded = (predict(state, np.eye(1), 0.4, noise, bounds) for bounds in (NO_BOUNDS, (0.0, 0.2)))
    assert (free.mean[0], bounded.mean[0]) == (pytest.approx(-0.3), 0.0)
    assert free.covariance[0, 0] == bounded.covariance[0, 0] == pytest.approx(0.8)


def test_the_correction_weighs_the_observation_by_its_noise():
    state = Gaussian(np.array([0.5]), np.array([[1.0]]))
    for noise, expected in ((1e-9, 0.1), (1e9, 0.5), (1.0, 0.3)):
        updated = correct(state, np.array([0.1]), np.array([[noise]]), (0, 1))
        assert updated.mean[0] == pytest.approx(expected, abs=1e-8)


@settings(max_examples=60)
@given(
    st.integers(1, 6),
    st.floats(0.01, 0.9),
    st.floats(1e-6, 1e3),
    st.floats(1e-12, 1e3),
    st.floats(-1, 1),
    st.integers(0, 2**16),
)
def test_the_estimate_never_leaves_its_bounds(count, top, process, noise, control, seed):
    rng = np.random.default_rng(seed)
    state = Gaussian(rng.uniform(0, top, count), np.eye(count))
    for _ in range(4):
        state = predict(state, np.eye(count), control, process * np.eye(count), (0.0, top))
        assert (state.mean >= 0).all() and (state.mean <= top).all()
        state = correct(state, rng.uniform(-1, 2, count), noise * np.eye(count), (0.0, top))
        assert (state.mean >= 0).all() and (state.mean <= top).all()
        assert np.linalg.eigvalsh(state.covariance).min() > 0


@pytest.mark.parametrize("noise", [50.0, 1e-18])
@pytest.mark.parametrize("count", [1, 2, 3, 40])
def test_a_hundred_steps_leave_the_covariance_symmetric_and_positive(count, noise):
    state = Gaussian(np.full(count, 0.2), 0.03 * np.eye(count))
    rng = np.random.default_rng(0)
    for _ in range(100):
        state = predict(state, np.eye(count), 0.001, 0.5 * np.eye(count), (0.0, 0.2))
        state = correct(state, rng.uniform(0, 0.2, count), noise * np.eye(count), (0.0, 0.2))
    np.testing.assert_array_equal(state.covariance, state.covariance.T)
    assert np.linalg.eigvalsh(state.covariance).min() > 0
