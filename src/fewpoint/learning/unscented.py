"""The unscented Kalman filter with bounded states, as pure functions of a Gaussian.

Wan and van der Merwe (2000) with the clipped sigma points of Kandepu et al. (2008): points are projected into the
bounds when they are drawn and after the transition, so that the estimate never leaves them.
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True, eq=False)
class Gaussian:
    """mean: (N,). covariance: (N, N)."""

    mean: np.ndarray
    covariance: np.ndarray


@dataclass(frozen=True)
class Spread:
    """Sigma points lie alpha * sqrt(N + kappa) deviations out; beta weighs the centre in the covariance."""

    alpha: float = 1.0
    beta: float = 0.0
    kappa: float = 0.0


Transition = Callable[[np.ndarray], np.ndarray]


def sigma_points(state: Gaussian, spread: Spread) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Points (2N + 1, N), the mean first, with their weights for means and for covariances."""
    count = len(state.mean)
    scale = spread.alpha**2 * (count + spread.kappa)
    root = np.linalg.cholesky(scale * state.covariance)
    points = np.vstack([state.mean, state.mean + root.T, state.mean - root.T])
    weights = np.full(2 * count + 1, 0.5 / scale)
    weights[0] = (scale - count) / scale
    covariance_weights = weights.copy()
    covariance_weights[0] += 1 - spread.alpha**2 + spread.beta
    return points, weights, covariance_weights


def predict(
    state: Gaussian, transition: Transition, noise: np.ndarray, bounds: tuple[float, float], spread: Spread = Spread()
) -> Gaussian:
    """Carry the state through the transition (which maps rows of states to rows), adding noise (N, N)."""
    points, weights, covariance_weights = sigma_points(state, spread)
    moved = np.clip(transition(np.clip(points, *bounds)), *bounds)
    mean = weights @ moved
    centred = moved - mean
    return Gaussian(mean, centred.T @ (covariance_weights[:, np.newaxis] * centred) + noise)


def correct(state: Gaussian, observation: np.ndarray, noise: np.ndarray, bounds: tuple[float, float]) -> Gaussian:
    """Update with a direct observation (N,) of the state with noise (N, N); the mean is clipped to the bounds.

    The observation is linear, so that the unscented update equals the Kalman one: no points are drawn. The covariance
    is Joseph's sum of two squares, which rounding cannot make indefinite however small the noise.
    """
    gain = np.linalg.solve(state.covariance + noise, state.covariance).T
    mean = state.mean + gain @ (observation - state.mean)
    rest = np.eye(len(mean)) - gain
    covariance = rest @ state.covariance @ rest.T + gain @ noise @ gain.T
    return Gaussian(np.clip(mean, *bounds), (covariance + covariance.T) / 2)
