"""The share of each frame that shows the object, estimated from epoch to epoch."""

import numpy as np

from fewpoint.core import AreaBound, PriorEstimate
from fewpoint.learning import kalman, unscented
from fewpoint.learning.kalman import Gaussian
from fewpoint.learning.settings import PriorSettings

FILTERS = {"kalman": kalman, "unscented": unscented}


def initial_state(n_frames: int, bound: AreaBound, settings: PriorSettings) -> Gaussian:
    """Every frame starts at the bound."""
    return Gaussian(np.full(n_frames, bound.fraction), settings.initial_variance * np.eye(n_frames))


def update_priors(
    state: Gaussian, observed: np.ndarray, epoch: int, horizon: int, bound: AreaBound, settings: PriorSettings
) -> Gaussian:
    """One step of the filter: smooth over frames, step down by the control input, take in the observation.

    observed: (T,) mean of f ** gamma on each frame. epoch: zero-based, of `horizon` epochs at most.
    """
    limits = (0.0, bound.fraction)
    identity = np.eye(len(state.mean))
    smoothing = smoothing_matrix(len(state.mean), settings.smoothing, ends=settings.hann_ends)
    control = control_input(epoch, horizon, settings) * bound.fraction
    chosen = FILTERS[settings.filter]
    predicted = chosen.predict(state, smoothing, control, settings.process_noise * identity, limits)
    return chosen.correct(predicted, np.clip(observed, *limits), settings.observation_noise * identity, limits)


def control_input(epoch: int, horizon: int, settings: PriorSettings) -> float:
    """u_k = u_0 + (u_T - u_0) k / T, as a share of the bound.

    >>> control_input(50, 100, PriorSettings(first_control=0.0, last_control=0.04))
    0.02
    """
    return settings.first_control + (settings.last_control - settings.first_control) * epoch / horizon


def find_swept_epoch(horizon: int, settings: PriorSettings) -> int:
    """The last epoch, counted from 1, after which the control input alone has left something of a prior at the bound.

    >>> find_swept_epoch(100, PriorSettings()), find_swept_epoch(100, PriorSettings(first_control=0, last_control=0))
    (67, 100)
    """
    steps = [control_input(epoch, horizon, settings) for epoch in range(horizon)]
    return int((np.cumsum(steps) < 1).sum())


def smoothing_matrix(n_frames: int, share: float, *, ends: bool = False) -> np.ndarray:
    """(T, T) Hann moving average over a window of share * T frames, at least three; rows sum to one.

    ends: keep the window's zero end points, with which a Hann window of length 3 is 0, 1, 0 and smooths nothing.

    >>> smoothing_matrix(3, 0.05)[1]
    array([0.25, 0.5 , 0.25])
    """
    length = max(3, 2 * (round(share * n_frames) // 2) + 1)
    window = np.hanning(length) if ends else np.hanning(length + 2)[1:-1]
    half = length // 2
    distance = np.arange(n_frames) - np.arange(n_frames)[:, np.newaxis]
    weights = np.where(np.abs(distance) <= half, window[np.clip(distance + half, 0, length - 1)], 0.0)
    return weights / weights.sum(axis=1, keepdims=True)


def estimate_from(state: Gaussian, observed: np.ndarray, absent: np.ndarray, bound: AreaBound) -> PriorEstimate:
    """The filter's state as the estimate shown to a user; frames marked absent have prior 0 without deviation.

    The deviation is that of the state within its bounds: no wider than a uniform guess over them.
    """
    widest = bound.fraction / np.sqrt(12)
    deviation = np.minimum(np.sqrt(np.diag(state.covariance)), widest)
    return PriorEstimate(np.where(absent, 0.0, state.mean), np.where(absent, 0.0, deviation), observed)
