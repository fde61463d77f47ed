"""The filter against filterpy's, against a plain Kalman filter, and at its limits."""

import time

import numpy as np
import pytest
from filterpy.kalman import MerweScaledSigmaPoints, UnscentedKalmanFilter
from hypothesis import given, settings
from hypothesis import strategies as st

from fewpoint.learning.unscented import Gaussian, Spread, correct, predict, sigma_points

ROTATION = np.array([[0.8, 0.2, 0.0], [0.1, 0.8, 0.1], [0.0, 0.3, 0.7]])
NO_BOUNDS = (-np.inf, np.inf)


def random_state(count: int, variance: float, seed: int = 0) -> Gaussian:
    rng = np.random.default_rng(seed)
    factor = rng.normal(size=(count, count))
    covariance = variance * (factor @ factor.T / count + np.eye(count))
    return Gaussian(rng.uniform(0.2, 0.6, count), covariance)


def reference(state: Gaussian, bounds: tuple[float, float], control: float, process: float, noise: float):
    """filterpy's filter; it knows no bounds, so that they go into the transition."""

    def move(point: np.ndarray, _: float) -> np.ndarray:
        return np.clip(ROTATION @ np.clip(point, *bounds) - control, *bounds)

    count = len(state.mean)
    points = MerweScaledSigmaPoints(count, alpha=1.0, beta=0.0, kappa=0.0)
    other = UnscentedKalmanFilter(count, count, dt=1.0, hx=lambda point: point, fx=move, points=points)
    other.x, other.P = state.mean.copy(), state.covariance.copy()
    other.Q, other.R = process * np.eye(count), noise * np.eye(count)
    return other


@pytest.mark.parametrize(
    ("bounds", "variance", "process", "noise"),
    [
        (NO_BOUNDS, 0.03, 0.5, 50.0),
        (NO_BOUNDS, 0.03, 0.5, 0.01),
        ((0.0, 0.7), 0.03, 0.5, 50.0),
        ((0.0, 0.7), 0.03, 0.001, 0.001),
    ],
)
def test_twenty_steps_equal_those_of_filterpy_with_and_without_clipping(bounds, variance, process, noise):
    state = random_state(3, variance)
    other = reference(state, bounds, 0.01, process, noise)
    rng = np.random.default_rng(1)
    for _ in range(20):
        observation = rng.uniform(0, 0.7, 3)
        predicted = predict(state, lambda points: points @ ROTATION.T - 0.01, process * np.eye(3), bounds)
        state = correct(predicted, observation, noise * np.eye(3), bounds)
        other.predict()
        np.testing.assert_allclose(predicted.mean, other.x, rtol=1e-10, atol=1e-12)
        np.testing.assert_allclose(predicted.covariance, other.P, rtol=1e-10, atol=1e-12)
        other.update(observation)
        other.x = np.clip(other.x, *bounds)
        np.testing.assert_allclose(state.mean, other.x, rtol=1e-10, atol=1e-12)
        np.testing.assert_allclose(state.covariance, other.P, rtol=1e-9, atol=1e-12)


def test_clipping_acts_in_the_bounded_cases():
    state = random_state(3, 0.03)
    points, _, _ = sigma_points(state, Spread())
    assert points.min() < 0
    assert points.max() > 0.7


def test_far_from_the_bounds_it_is_a_plain_kalman_filter_with_a_clipped_mean():
    bounds, process, noise = (0.0, 0.7), 1e-6, 4e-6
    state = Gaussian(np.array([0.3, 0.4, 0.5]), 1e-6 * np.eye(3))
    mean, covariance = state.mean, state.covariance
    rng = np.random.default_rng(2)
    for _ in range(50):
        observation = 0.4 + 0.01 * rng.standard_normal(3)
        predicted = predict(state, lambda points: points @ ROTATION.T - 1e-4, process * np.eye(3), bounds)
        state = correct(predicted, observation, noise * np.eye(3), bounds)
        mean, covariance = ROTATION @ mean - 1e-4, ROTATION @ covariance @ ROTATION.T + process * np.eye(3)
        gain = covariance @ np.linalg.inv(covariance + noise * np.eye(3))
        mean = np.clip(mean + gain @ (observation - mean), *bounds)
        covariance = (np.eye(3) - gain) @ covariance
        np.testing.assert_allclose(state.mean, mean, rtol=1e-10)
        np.testing.assert_allclose(state.covariance, covariance, rtol=1e-8, atol=1e-18)


@pytest.mark.parametrize("spread", [Spread(), Spread(0.5, 2.0, 1.0)])
def test_sigma_points_have_the_mean_and_covariance_they_stand_for(spread):
    state = random_state(4, 0.1)
    points, weights, covariance_weights = sigma_points(state, spread)
    assert points.shape == (9, 4)
    assert weights.sum() == pytest.approx(1)
    np.testing.assert_allclose(weights @ points, state.mean, rtol=1e-12)
    centred = points - state.mean
    # The centre point has no distance from the mean: its weight, and with it beta, does not show here.
    np.testing.assert_allclose(centred.T @ (covariance_weights[:, None] * centred), state.covariance, rtol=1e-12)


def test_an_observation_of_little_noise_is_believed_and_one_of_much_is_not():
    state = Gaussian(np.array([0.5]), np.array([[1.0]]))
    for noise, expected in ((1e-9, 0.1), (1e9, 0.5), (1.0, 0.3)):
        updated = correct(state, np.array([0.1]), np.array([[noise]]), (0, 1))
        assert updated.mean[0] == pytest.approx(expected, abs=1e-8)


@settings(max_examples=60, deadline=None)
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
        state = predict(state, lambda points: points - control, process * np.eye(count), (0.0, top))
        assert (state.mean >= -1e-15).all() and (state.mean <= top * (1 + 1e-12)).all()
        state = correct(state, rng.uniform(-1, 2, count), noise * np.eye(count), (0.0, top))
        assert (state.mean >= 0).all() and (state.mean <= top).all()
        assert np.linalg.eigvalsh(state.covariance).min() > 0


@pytest.mark.parametrize("noise", [50.0, 1e-18])
@pytest.mark.parametrize("count", [1, 2, 3, 40])
def test_a_hundred_steps_leave_the_covariance_symmetric_and_positive(count, noise):
    state = Gaussian(np.full(count, 0.2), 0.03 * np.eye(count))
    rng = np.random.default_rng(0)
    for _ in range(100):
        state = predict(state, lambda points: points - 0.001, 0.5 * np.eye(count), (0.0, 0.2))
        state = correct(state, rng.uniform(0, 0.2, count), noise * np.eye(count), (0.0, 0.2))
    np.testing.assert_array_equal(state.covariance, state.covariance.T)
    assert np.linalg.eigvalsh(state.covariance).min() > 0


def test_a_step_for_three_hundred_frames_takes_well_under_a_second():
    state = Gaussian(np.full(300, 0.2), 0.03 * np.eye(300))
    started = time.process_time()
    for _ in range(3):
        state = predict(state, lambda points: points - 0.001, 0.5 * np.eye(300), (0.0, 0.2))
        state = correct(state, np.full(300, 0.1), 50.0 * np.eye(300), (0.0, 0.2))
    assert (time.process_time() - started) / 3 < 0.5
    assert np.linalg.eigvalsh(state.covariance).min() > 0
