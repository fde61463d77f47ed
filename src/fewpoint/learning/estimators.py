"""How the prior of each frame is found while a network learns: one estimator per method.

An estimator is stateless. The state of the priors is passed along as a Gaussian, so that it can be saved.
"""

from dataclasses import dataclass
from typing import Protocol

import numpy as np

from fewpoint.core import AreaBound, EpochRecord
from fewpoint.learning.kalman import Gaussian
from fewpoint.learning.priors import find_swept_epoch, initial_state, update_priors
from fewpoint.learning.settings import PriorSettings, StoppingSettings
from fewpoint.learning.stopping import StopState, is_calm, update_stop

CERTAIN = np.zeros((0, 0))  # covariance of priors that come without a deviation


@dataclass(frozen=True, eq=False)
class Sighting:
    """What was observed after an epoch of the estimation.

    observed: (T,) mean of f ** gamma on each frame. absent: (T,) bool. epoch: from zero, of `horizon` at most.
    """

    observed: np.ndarray
    absent: np.ndarray
    epoch: int
    horizon: int


class PriorEstimator(Protocol):
    """gamma: exponent of the observation, the mean of f(x) ** gamma on each frame.

    has_rule: whether a rule ends the estimation and selects an epoch.
    """

    @property
    def gamma(self) -> float: ...

    @property
    def has_rule(self) -> bool: ...

    def start(self, n_frames: int, bound: AreaBound) -> Gaussian:
        """The state with which the estimation begins."""
        ...

    def constant(self, n_frames: int, prior: float) -> np.ndarray:
        """(T,) priors while nothing is estimated. prior: the warm-up's, for every frame."""
        ...

    def update(self, state: Gaussian, seen: Sighting, bound: AreaBound) -> Gaussian:
        """The state after an epoch."""
        ...

    def judge(self, stop: StopState, seen: Sighting, record: EpochRecord, bound: AreaBound) -> StopState:
        """The state of the stopping rule after an epoch."""
        ...


@dataclass(frozen=True)
class FilteredPriors:
    """SSnnPU: a Kalman-type filter over the frames, until its stopping rule holds."""

    priors: PriorSettings = PriorSettings()
    stopping: StoppingSettings = StoppingSettings()
    has_rule: bool = True

    @property
    def gamma(self) -> float:
        return self.priors.gamma

    def start(self, n_frames: int, bound: AreaBound) -> Gaussian:
        return initial_state(n_frames, bound, self.priors)

    def constant(self, n_frames: int, prior: float) -> np.ndarray:
        return np.full(n_frames, prior)

    def update(self, state: Gaussian, seen: Sighting, bound: AreaBound) -> Gaussian:
        return update_priors(state, seen.observed, seen.epoch, seen.horizon, bound, self.priors)

    def judge(self, stop: StopState, seen: Sighting, record: EpochRecord, bound: AreaBound) -> StopState:
        """The rule must begin to hold before the control input has swept priors away: then it holds of nothing."""
        calm = is_calm(record.negative_variance, record.largest_positive_share, bound.fraction, self.stopping)
        latest = find_swept_epoch(seen.horizon, self.priors)
        return update_stop(stop, seen.epoch + 1, calm, latest, self.stopping)


@dataclass(frozen=True)
class AlternatingPrior:
    """AlterEstPU: one prior for all frames, which alternates with the network; see update_prior. No rule ends it."""

    step: float
    gamma: float = 1.0
    has_rule: bool = False

    def start(self, n_frames: int, bound: AreaBound) -> Gaussian:
        return Gaussian(np.full(n_frames, bound.fraction), CERTAIN)

    def constant(self, n_frames: int, prior: float) -> np.ndarray:
        return np.full(n_frames, prior)

    def update(self, state: Gaussian, seen: Sighting, bound: AreaBound) -> Gaussian:
        following = update_prior(state.mean[0], seen.observed[~seen.absent], bound.fraction, self.step)
        return Gaussian(np.full(len(state.mean), following), CERTAIN)

    def judge(self, stop: StopState, seen: Sighting, record: EpochRecord, bound: AreaBound) -> StopState:
        return stop


@dataclass(frozen=True, eq=False)
class GivenPriors:
    """Known priors, (T,), used in every phase; nothing is estimated."""

    priors: np.ndarray
    gamma: float = 1.0
    has_rule: bool = False

    def start(self, n_frames: int, bound: AreaBound) -> Gaussian:
        return Gaussian(self.priors, CERTAIN)

    def constant(self, n_frames: int, prior: float) -> np.ndarray:
        return self.priors

    def update(self, state: Gaussian, seen: Sighting, bound: AreaBound) -> Gaussian:
        return state

    def judge(self, stop: StopState, seen: Sighting, record: EpochRecord, bound: AreaBound) -> StopState:
        return stop


def update_prior(prior: float, predicted: np.ndarray, bound: float, step: float) -> float:
    """The next epoch's prior: the mean prediction of the frames, or if that exceeds the bound, a step less than now.

    >>> round(update_prior(0.2, np.array([0.05, 0.15]), bound=0.3, step=0.005), 3)
    0.1
    >>> round(update_prior(0.2, np.array([0.4, 0.6]), bound=0.3, step=0.005), 3)
    0.195
    """
    mean = float(predicted.mean())
    return mean if mean <= bound else max(float(prior) - step, step)
