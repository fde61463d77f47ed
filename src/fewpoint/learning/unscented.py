"""The unscented Kalman filter with clipped sigma points, as the paper prints it; pure functions of a Gaussian.

Wan and van der Merwe (2000) with the bounds of Kandepu et al. (2008): points are moved into the bounds when they are
drawn, before the transition and before the observation, and after the transition. Without bounds this is the Kalman
filter of kalman.py, since transition and observation are linear. With bounds it is there to be compared with: clipped
points lose the variance by which an observation is weighed.
"""

import numpy as np

from fewpoint.learning.kalman import Gaussian


def sigma_points(state: Gaussian) -> tuple[np.ndarray, np.ndarray]:
    """(2N, N) points and their (2N,) weights: the mean plus and minus each column of the root of N P, P the covariance.

    >>> sigma_points(Gaussian(np.array([0.5]), np.array([[0.04]])))[0].round(3).tolist()
    [[0.7], [0.3]]
    """
    count = len(state.mean)
    root = np.linalg.cholesky(count * state.covariance)
    return np.vstack([state.mean + root.T, state.mean - root.T]), np.full(2 * count, 0.5 / count)


def predict(
    state: Gaussian, transition: np.ndarray, control: float, noise: np.ndarray, bounds: tuple[float, float]
) -> Gaussian:
    """Carry clipped points through clip(A x - u); their mean, and their covariance plus Q. Arguments: see kalman.py."""
    points, weights = sigma_points(state)
    moved = np.clip(np.clip(points, *bounds) @ transition.T - control, *bounds)
    mean, covariance = _moments(moved, weights)
    return Gaussian(mean, covariance + noise)


def correct(state: Gaussian, observation: np.ndarray, noise: np.ndarray, bounds: tuple[float, float]) -> Gaussian:
    """Update with a direct observation (N,) with noise (N, N), which clipped points, drawn anew, are compared with."""
    points, weights = sigma_points(state)
    expected, spread = _moments(np.clip(points, *bounds), weights)
    gain = np.linalg.solve(spread + noise, spread).T
    mean = expected + gain @ (observation - expected)
    rest = np.eye(len(mean)) - gain
    covariance = rest @ state.covariance @ rest.T + gain @ noise @ gain.T
    return Gaussian(np.clip(mean, *bounds), (covariance + covariance.T) / 2)


def _moments(points: np.ndarray, weights: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Weighted mean and covariance of (P, N) points."""
    mean = weights @ points
    centred = points - mean
    return mean, centred.T @ (weights[:, np.newaxis] * centred)
