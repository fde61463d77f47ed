"""How each method finds the priors, by hand and through the phases."""

from collections.abc import Callable

import numpy as np
import pytest

from fewpoint.core import AreaBound, EpochRecord, Message, PointSet, ignore
from fewpoint.learning import phases as phases_module
from fewpoint.learning.estimators import (
    AlternatingPrior,
    FilteredPriors,
    GivenPriors,
    PriorEstimator,
    Sighting,
    update_prior,
)
from fewpoint.learning.kalman import Gaussian
from fewpoint.learning.phases import Learning, Observation, Schedule
from fewpoint.learning.settings import PhaseSettings, PriorSettings, StoppingSettings
from fewpoint.learning.stopping import StopState
from learning.conftest import make_samples, make_trainer, only

BOUND = AreaBound(0.2)
PHASES = PhaseSettings(warmup_epochs=2, estimation_epochs=3, final_epochs=2)
ABSENT = 2
LEVELS = [0.11, 0.12, 0.04, 0.5, 0.13]  # observed: in the warm-up's last epoch, the estimation, and at the end
ALL = [FilteredPriors(), AlternatingPrior(0.005), GivenPriors(np.full(4, 0.1))]


def see(*observed: float, absent: tuple[int, ...] = (), epoch: int = 0) -> Sighting:
    return Sighting(np.array(observed), np.isin(np.arange(len(observed)), absent), epoch, horizon=10)


def record(variance: float, share: float) -> EpochRecord:
    return EpochRecord(1, "estimation", 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, variance, share)


@pytest.fixture
def learn(monkeypatch) -> Callable[[PriorEstimator], Learning]:
    """A function: learn to the end, while the network is seen at LEVELS on all frames; one of four is marked absent."""

    def run(estimator: PriorEstimator, listener: Callable = ignore) -> Learning:
        levels = iter(LEVELS)

        def observe(*given: object) -> Observation:
            level = next(levels)
            seen = np.where(np.arange(4) == ABSENT, 0.9, level)
            return Observation(seen, seen / 2, 0.5, 0.8, np.zeros((4, 16), np.float16))

        monkeypatch.setattr(phases_module, "sum_up", observe)
        trainer = make_trainer(make_samples(4, PointSet.from_rows([(0, 5, 6), (3, 5, 6)], absent=[ABSENT])))
        learning = Learning.start(trainer, {"": BOUND}, Schedule(PHASES, estimator))
        learning.run(listener, ignore)
        return learning

    return run


def test_a_filter_between_equal_uncertainties_goes_half_way():
    """One frame at 0.1, variance 1 + 3 after the process's noise, 4 of the observation: the gain is a half."""
    settings = PriorSettings(process_noise=3e-6, observation_noise=4e-6, first_control=0.0, last_control=0.0)
    state = Gaussian(np.array([0.1]), np.array([[1e-6]]))
    after = FilteredPriors(settings).update(state, see(0.11), BOUND)
    np.testing.assert_allclose(after.mean, [0.105], rtol=1e-6)
    np.testing.assert_allclose(after.covariance, [[2e-6]], rtol=1e-6)


def test_a_filter_starts_at_the_bound_with_the_variance_of_its_settings():
    state = FilteredPriors(PriorSettings(initial_variance=0.05)).start(2, BOUND)
    np.testing.assert_array_equal(state.mean, [0.2, 0.2])
    np.testing.assert_array_equal(state.covariance, np.diag([0.05, 0.05]))


@pytest.mark.parametrize(
    ("variance", "share", "expected"),
    [(0.006, 0.19, StopState(2, held=True, calm=1)), (0.008, 0.19, StopState()), (0.006, 0.2, StopState())],
)
def test_a_filter_ends_by_variance_and_share(variance, share, expected):
    estimator = FilteredPriors(stopping=StoppingSettings(variance=0.007, window=2, minimum=0))
    assert estimator.judge(StopState(streak=1), see(0.1, epoch=1), record(variance, share), BOUND) == expected


def test_the_alternating_prior_starts_at_the_bound_and_is_one_for_all_frames():
    np.testing.assert_array_equal(AlternatingPrior(0.005).start(3, BOUND).mean, [0.2] * 3)


@pytest.mark.parametrize(
    ("observed", "expected"), [((0.05, 0.15), 0.1), ((0.1, 0.3), 0.2), ((0.1, 0.32), 0.145), ((0.9, 0.9), 0.145)]
)
def test_the_alternating_prior_follows_the_mean_prediction_up_to_the_bound_and_steps_down_above_it(observed, expected):
    state = Gaussian(np.full(2, 0.15), np.zeros((0, 0)))
    after = AlternatingPrior(0.005).update(state, see(*observed), BOUND)
    np.testing.assert_allclose(after.mean, [expected] * 2)


def test_the_alternating_prior_leaves_absent_frames_out_of_the_mean():
    state = Gaussian(np.full(3, 0.15), np.zeros((0, 0)))
    after = AlternatingPrior(0.005).update(state, see(0.04, 0.9, 0.06, absent=(1,)), BOUND)
    np.testing.assert_allclose(after.mean, [0.05] * 3)


def test_the_alternating_prior_never_reaches_zero_by_its_steps():
    assert update_prior(0.003, np.array([0.9]), bound=0.1, step=0.005) == 0.005


@pytest.mark.parametrize("estimator", [AlternatingPrior(0.005), GivenPriors(np.full(4, 0.1))])
def test_without_a_rule_nothing_ends_the_estimation_and_no_epoch_is_selected(estimator, learn):
    assert estimator.judge(StopState(), see(0.1, epoch=4), record(0.0, 0.0), BOUND) == StopState()
    events = []
    progress = only(learn(estimator, events.append)).progress
    assert [each.phase for each in progress.records] == ["warm-up"] * 2 + ["estimation"] * 3 + ["final"] * 2
    assert progress.selected_epoch == 0
    assert not [event for event in events if isinstance(event, Message)]


@pytest.mark.parametrize("estimator", ALL, ids=lambda each: type(each).__name__)
def test_the_prior_of_an_absent_frame_is_zero_in_every_phase(estimator, learn):
    learning = learn(estimator)
    assert (only(learning).progress.history(4).priors[:, ABSENT] == 0).all()
    assert only(learning).priors().mean[ABSENT] == 0


def test_given_priors_are_used_unchanged_in_every_phase(learn):
    given = np.array([0.05, 0.3, 0.2, 0.01])
    learning = learn(GivenPriors(given))
    expected = np.tile(np.float32([0.05, 0.3, 0, 0.01]), (7, 1))
    np.testing.assert_array_equal(only(learning).progress.history(4).priors, expected)


def test_the_alternating_prior_is_half_the_bound_then_follows_and_the_last_phase_keeps_it(learn):
    history = only(learn(AlternatingPrior(0.005))).progress.history(4)
    # Seen after the estimation's epochs: 0.12, 0.04, and 0.5, which is above the bound.
    expected = [0.1, 0.1, 0.2, 0.12, 0.04, 0.035, 0.035]
    np.testing.assert_allclose(history.priors[:, [0, 1, 3]], np.outer(expected, np.ones(3)), rtol=1e-6)


@pytest.mark.parametrize("estimator", [AlternatingPrior(0.005), GivenPriors(np.full(4, 0.1))])
def test_without_a_filter_the_share_predicted_is_what_a_user_is_shown(estimator, learn):
    estimate = only(learn(estimator)).priors()
    last = LEVELS[-1]
    np.testing.assert_allclose(estimate.mean, [last / 2, last / 2, 0, last / 2])
    np.testing.assert_allclose(estimate.deviation, [last / 2, last / 2, 0, last / 2])
