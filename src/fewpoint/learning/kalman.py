"""The Kalman filter with a bounded mean, as pure functions of a Gaussian.

The paper names the unscented filter with clipped sigma points (Kandepu et al., 2008). Transition and observation are
linear, so that without clipping both filters are the same; and clipped points lose the variance by which the filter
weighs what it observes: docs/fidelity.md. The printed one is in unscented.py.
"""

from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True, eq=False)
class Gaussian:
    """mean: (N,). covariance: (N, N)."""

    mean: np.ndarray
    covariance: np.ndarray


def predict(
    state: Gaussian, transition: np.ndarray, control: float, noise: np.ndarray, bounds: tuple[float, float]
) -> Gaussian:
    """Carry the state through clip(A m - u), A P A' + Q. transition, noise: (N, N) A and Q; control: u."""
    mean = np.clip(transition @ state.mean - control, *bounds)
    return Gaussian(mean, transition @ state.covariance @ transition.T + noise)


def correct(state: Gaussian, observation: np.ndarray, noise: np.ndarray, bounds: tuple[float, float]) -> Gaussian:
    """Update with a direct observation (N,) of the state with noise (N, N); the mean is clipped to the bounds.

    The covariance is Joseph's sum of two squares, which rounding cannot make indefinite however small the noise.
    """
    gain = np.linalg.solve(state.covariance + noise, state.covariance).T
    mean = state.mean + gain @ (observation - state.mean)
    rest = np.eye(len(mean)) - gain
    covariance = rest @ state.covariance @ rest.T + gain @ noise @ gain.T
    return Gaussian(np.clip(mean, *bounds), (covariance + covariance.T) / 2)
