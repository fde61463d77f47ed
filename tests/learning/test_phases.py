"""The three phases: which priors, rates and weights each has, and what is told of them."""

import math
from collections.abc import Generator, Iterable
from itertools import repeat

import numpy as np
import pytest
import torch

from fewpoint.core import AreaBound, EpochFinished, EpochPredicted, EpochRecord, Message, PointSet, StepsTaken, ignore
from fewpoint.errors import FewpointError, SettingsError
from fewpoint.learning import phases as phases_module
from fewpoint.learning.phases import (
    DONE,
    ESTIMATION,
    FINAL,
    WARM_UP,
    Learning,
    Observation,
    look_at,
    mean_record,
    one_cycle,
    sum_up,
)
from fewpoint.learning.priors import initial_state, update_priors
from fewpoint.learning.samples import SampleSet
from fewpoint.learning.settings import PhaseSettings, PriorSettings, StoppingSettings, TrainingSettings
from fewpoint.learning.training import StepMeans, Trainer
from learning.conftest import build_all_samples, click, only

BOUND = AreaBound(0.2)
CALM, WILD = 0.001, 0.5


def short(warm_up: int, estimation: int, final: int, **others) -> PhaseSettings:
    return PhaseSettings(warmup_epochs=warm_up, estimation_epochs=estimation, final_epochs=final, **others)


NOTHING_SEEN = np.zeros((4, 16), np.float16)
LOGITS = torch.zeros(4, 16, 16)  # of which pooling is told what to say


def observation(variance: float = CALM, level: float = 0.1) -> Observation:
    return Observation(np.full(4, level), np.full(4, level), variance, 0.8, NOTHING_SEEN)


@pytest.fixture
def script(monkeypatch):
    """A function: from now on, the network is seen to say these things; whether each look was exact comes back.

    Each look takes as many of the observations as there are objects that are looked at.
    """

    def play(observations: Iterable[Observation]) -> list[bool]:
        remaining, exact_ones = iter(observations), []

        def look(trainer: Trainer, exact: bool) -> torch.Tensor:
            exact_ones.append(exact)
            return torch.zeros(trainer.samples.n_frames, len(trainer.objects), 16, 16)

        monkeypatch.setattr(phases_module, "look_at", look)
        monkeypatch.setattr(phases_module, "sum_up", lambda logits, samples, gamma: next(remaining))
        return exact_ones

    return play


def run_to_the_end(learning: Learning) -> tuple[list, dict[int, dict]]:
    """The events, and the weights after each epoch."""
    events, weights = [], {}

    def save(state: Learning) -> None:
        weights[state.courses[0].progress.epoch] = {
            name: value.clone() for name, value in state.trainer.network.state_dict().items()
        }

    learning.run(events.append, save)
    return [event for event in events if not isinstance(event, StepsTaken)], weights


def phases_of(learning: Learning) -> list[str]:
    return [record.phase for record in only(learning).progress.records]


@pytest.mark.parametrize("epochs", [(2, 3, 1), (2, 0, 0), (0, 2, 0), (0, 0, 2), (1, 0, 1), (1, 1, 0)])
def test_phases_follow_one_another_and_empty_ones_are_skipped(learning, epochs):
    given = learning(short(*epochs))
    given.run(ignore, ignore)
    expected = [phase for phase, count in zip((WARM_UP, ESTIMATION, FINAL), epochs, strict=True) for _ in range(count)]
    assert phases_of(given) == expected
    assert [record.epoch for record in only(given).progress.records] == list(range(1, sum(epochs) + 1))
    assert only(given).progress.phase == DONE


@pytest.mark.parametrize(
    ("epochs", "expected"),
    [
        ((2, 2, 2), [False, True, True, True]),
        ((5, 0, 0), [False, True]),
        ((1, 0, 2), [False, True]),
    ],
)
def test_observations_that_decide_something_are_exact(learning, script, epochs, expected):
    asked = script(repeat(observation()))
    learning(short(*epochs)).run(ignore, ignore)
    assert asked == expected


def test_with_no_epochs_at_all_there_is_nothing_to_do(learning):
    given = learning(short(0, 0, 0))
    given.run(ignore, ignore)
    assert len(only(given).progress.history(4)) == 0
    np.testing.assert_array_equal(only(given).priors().mean, [0.1] * 4)


def test_the_priors_of_each_phase(learning, samples, script):
    points = PointSet.from_rows([(0, 5, 6), (3, 5, 6)], absent=[2])
    given = learning(short(2, 2, 2), StoppingSettings(), samples(4, points))
    script([observation(level=0.05)] * 6)
    given.run(ignore, ignore)
    history = only(given).progress.history(4)
    first = update_priors(initial_state(4, BOUND, PriorSettings()), np.full(4, 0.05), 0, 2, BOUND, PriorSettings())
    second = update_priors(first, np.full(4, 0.05), 1, 2, BOUND, PriorSettings())
    present = [0, 1, 3]
    rows = [[0.1] * 4, [0.1] * 4, [0.2] * 4, first.mean, second.mean, second.mean]
    np.testing.assert_allclose(history.priors[:, present], np.array(rows)[:, present], rtol=1e-6)
    assert (history.priors[:, 2] == 0).all()
    assert [record.mean_prior for record in history.records] == pytest.approx(history.priors.mean(1), rel=1e-6)
    np.testing.assert_array_equal(only(given).priors().mean[present], second.mean[present])
    assert (only(given).priors().mean[2], only(given).priors().deviation[2]) == (0, 0)


def test_the_trainer_gets_the_priors_and_rates_of_the_phase(learning, monkeypatch):
    given = learning(short(1, 1, 1, warmup_rate=0.3, estimation_rate=0.2, final_rate=0.1))
    seen = []

    def spy(priors: torch.Tensor, rates: list[float], tell: object) -> Generator[None, None, tuple[StepMeans, ...]]:
        seen.append((priors[:, 0].tolist(), rates))
        yield
        return (StepMeans(1.0, 0.5, 0.5, 0.0),)

    monkeypatch.setattr(given.trainer, "take_steps", spy)
    given.run(ignore, ignore)
    assert [rates for _, rates in seen] == [[0.3, 0.3], [0.2, 0.2], [0.1, 0.1]]
    expected = [[0.1] * 4, [0.2] * 4, only(given).priors().mean]
    np.testing.assert_allclose([priors for priors, _ in seen], expected, rtol=1e-6)


def test_without_estimation_the_last_phase_keeps_the_prior_of_the_warm_up(learning):
    given = learning(short(1, 0, 1, warmup_prior=0.75))
    given.run(ignore, ignore)
    np.testing.assert_allclose(only(given).progress.history(4).priors, 0.15, rtol=1e-6)


def test_without_estimation_the_share_predicted_is_the_prior_shown(learning, samples, script):
    given = learning(short(1, 0, 0), StoppingSettings(), samples(4, PointSet.from_rows([(0, 5, 6)], absent=[3])))
    seen = Observation(np.array([0.1, 0.1, 0.2, 0.3]), np.array([0.15, 0.1, 0.1, 0.3]), CALM, 0.9, NOTHING_SEEN)
    script([seen])
    given.run(ignore, ignore)
    estimate = only(given).priors()
    assert estimate.mean.tolist() == [0.15, 0.1, 0.1, 0.0]
    np.testing.assert_allclose(estimate.deviation, [0.05, 0, 0.1, 0])
    np.testing.assert_array_equal(estimate.observed, seen.observed)


@pytest.mark.parametrize(
    ("variances", "window", "selected"),
    [([CALM, WILD, CALM, CALM], 2, 4), ([CALM, CALM, CALM], 3, 2), ([WILD, CALM], 1, 3)],
)
def test_learning_returns_to_the_weights_and_priors_at_the_start_of_the_window(
    learning, script, variances, window, selected
):
    given = learning(short(1, 10, 2), StoppingSettings(0.007, window, 0, halts=True))
    levels = [0.19 - 0.02 * epoch for epoch in range(len(variances))]
    script([observation(), *map(observation, variances, levels)])
    weights, moments, states = {}, {}, {}
    while only(given).progress.phase != FINAL:
        if only(given).progress.epoch:
            weights[only(given).progress.epoch] = {n: v.clone() for n, v in given.trainer.network.state_dict().items()}
            kept = given.trainer.state_dict()["optimiser"]
            moments[only(given).progress.epoch] = {n: [v.clone() for v in values] for n, values in kept.items()}
            states[only(given).progress.epoch] = only(given).progress.state
        given.run_epoch()
    records = only(given).progress.records
    assert len(records) == 1 + len(variances)
    assert [record.stopped for record in records] == [False] * len(variances) + [True]
    assert only(given).progress.selected_epoch == selected
    if selected in weights:  # with a window of one, the start is the epoch that halts
        now = given.trainer.network.state_dict()
        assert all(torch.equal(value, now[name]) for name, value in weights[selected].items())
        for name, values in given.trainer.state_dict()["optimiser"].items():
            assert all(map(torch.equal, values, moments[selected][name]))
        np.testing.assert_array_equal(only(given).progress.priors, states[selected].mean)
        np.testing.assert_array_equal(only(given).progress.state.covariance, states[selected].covariance)
        latest = weights[max(weights)]
        assert selected == max(weights) or not all(torch.equal(value, now[name]) for name, value in latest.items())


def test_the_last_phase_uses_the_priors_of_the_start_of_the_window(learning, script):
    given = learning(short(0, 10, 2), StoppingSettings(0.007, 2, 0, halts=True))
    script([observation(WILD, 0.02), observation(CALM, 0.19), observation(CALM, 0.02), *[observation()] * 2])
    events, _ = run_to_the_end(given)
    history = only(given).progress.history(4)
    assert history.selected_epoch == 2
    # Row k holds the priors used in epoch k + 1, which are those estimated after epoch k.
    np.testing.assert_array_equal(history.priors[3], history.priors[2])
    np.testing.assert_array_equal(history.priors[4], history.priors[2])
    assert [record.stop_streak for record in history.records] == [0, 1, 2, 0, 0]
    assert not [event for event in events if isinstance(event, Message)]


def test_an_estimation_that_goes_on_ends_with_what_its_window_selected(learning, script):
    weights, results = [], []
    for halts in (True, False):
        given = learning(short(1, 5, 0), StoppingSettings(0.007, 2, 0, halts=halts))
        script([observation(), observation(WILD, 0.02), *[observation(CALM, 0.19)] * 2, *[observation(CALM, 0.02)] * 2])
        given.run(ignore, ignore)
        weights.append(given.trainer.network.state_dict())
        results.append(only(given).progress)
    halted, went_on = results
    assert (halted.epoch, went_on.epoch) == (4, 6)
    assert halted.selected_epoch == went_on.selected_epoch == 3
    assert [record.stopped for record in went_on.records] == [False, False, False, True, False, False]
    np.testing.assert_array_equal(halted.state.mean, went_on.state.mean)
    assert all(torch.equal(value, weights[1][name]) for name, value in weights[0].items())


@pytest.mark.parametrize("halts", [True, False])
def test_where_priors_are_swept_away_before_the_rule_holds_the_first_epoch_that_it_could_select_is_taken(
    learning, script, halts
):
    """The control input takes 0.4 of the bound an epoch: after two epochs something is left, after three nothing."""
    sweeping = PriorSettings(first_control=0.4, last_control=0.4)
    given = learning(short(1, 6, 0), StoppingSettings(0.007, 2, 1, halts=halts), priors=sweeping)
    script([observation()] + [observation(WILD)] * 3 + [observation(CALM, 0.0)] * 3)
    events, weights = run_to_the_end(given)
    progress = only(given).progress
    assert progress.epoch == (4 if halts else 7)
    assert progress.selected_epoch == 3
    assert not any(record.stopped for record in progress.records)
    np.testing.assert_array_equal(np.float32(progress.state.mean), progress.history(4).priors[3])
    assert all(torch.equal(value, weights[3][name]) for name, value in given.trainer.network.state_dict().items())
    assert [event.text for event in events if isinstance(event, Message)] == [
        f"priors: the stopping rule did not hold within {progress.epoch} epochs"
    ]


def test_where_the_rule_never_holds_the_last_epoch_is_taken_and_the_user_is_told(learning, script):
    given = learning(short(1, 3, 1), StoppingSettings(0.007, 2, 0))
    script([observation(WILD)] * 5)
    events, _ = run_to_the_end(given)
    messages = [event for event in events if isinstance(event, Message)]
    assert only(given).progress.selected_epoch == 4
    assert [message.warning for message in messages] == [True]
    assert "stopping rule did not hold within" in messages[0].text
    kinds = [type(event) for event in events if not isinstance(event, EpochPredicted)]
    assert kinds == [EpochFinished] * 4 + [Message] + [EpochFinished]
    np.testing.assert_array_equal(only(given).progress.history(4).priors[4], np.float32(only(given).priors().mean))


def test_the_share_on_any_one_frame_can_hold_the_rule_off(learning, script):
    given = learning(short(0, 3, 0), StoppingSettings(0.007, 1, 0, halts=True))
    large = Observation(np.full(4, 0.1), np.array([0.0, 0.2, 0.0, 0.0]), CALM, 0.8, NOTHING_SEEN)
    script([large, large, observation()])
    given.run(ignore, ignore)
    assert [record.stop_streak for record in only(given).progress.records] == [0, 0, 1]
    assert [record.largest_positive_share for record in only(given).progress.records] == [0.2, 0.2, 0.1]


def test_each_epoch_is_told_and_saved_once(learning):
    given = learning(short(2, 1, 1))
    events, weights = run_to_the_end(given)
    finished = [event for event in events if isinstance(event, EpochFinished)]
    assert tuple(event.record for event in finished) == only(given).progress.records
    assert {event.total for event in finished} == {4}
    assert list(weights) == [1, 2, 3, 4]


def test_every_step_is_told(learning):
    events = []
    learning(short(2, 0, 1)).run(events.append, ignore)
    steps = [event for event in events if isinstance(event, StepsTaken)]  # two of two frames make an epoch
    assert [(event.epoch, event.done, event.steps) for event in steps] == [
        (epoch, step, 2) for epoch in (1, 2, 3) for step in (1, 2)
    ]
    assert {event.total for event in steps} == {3}
    assert [event.epochs_done for event in steps] == [0.5, 1, 1.5, 2, 2.5, 3]


def test_what_an_epoch_predicts_is_told_before_its_record(learning):
    events, _ = run_to_the_end(learning(short(1, 0, 1)))
    epochs = [event.epoch if isinstance(event, EpochPredicted) else event.record.epoch for event in events]
    assert epochs == [1, 1, 2, 2]
    assert [type(event) for event in events] == [EpochPredicted, EpochFinished] * 2


def test_the_priors_told_are_the_filter_s_in_the_estimation_and_the_share_predicted_elsewhere(
    learning, samples, script
):
    points = PointSet.from_rows([(0, 5, 6), (3, 5, 6)], absent=[2])
    given = learning(short(1, 10, 1), StoppingSettings(0.007, 2, 0, halts=True), samples(4, points))
    script([observation(level=0.05), observation(level=0.06), observation(level=0.07), observation(level=0.08)])
    events, _ = run_to_the_end(given)
    first = update_priors(initial_state(4, BOUND, PriorSettings()), np.full(4, 0.06), 0, 10, BOUND, PriorSettings())
    second = update_priors(first, np.full(4, 0.07), 1, 10, BOUND, PriorSettings())
    present = np.array([1, 1, 0, 1])
    # The rule halts after the second epoch of the estimation, whose own estimate is told all the same.
    expected = [0.05 * present, first.mean * present, second.mean * present, 0.08 * present]
    np.testing.assert_array_equal([event.priors for event in events if isinstance(event, EpochPredicted)], expected)


def test_history_holds_what_was_used_and_seen(learning, script):
    seen = [observation(0.1 * epoch, 0.02 * epoch) for epoch in range(1, 4)]
    given = learning(short(0, 3, 0))
    script(seen)
    given.run(ignore, ignore)
    history = only(given).progress.history(4)
    assert history.priors.dtype == history.observed.dtype == history.positive_share.dtype == np.float32
    np.testing.assert_allclose(history.observed, np.outer([0.02, 0.04, 0.06], np.ones(4)), rtol=1e-6)
    np.testing.assert_array_equal(history.observed, history.positive_share)
    assert [record.negative_variance for record in history.records] == pytest.approx([0.1, 0.2, 0.3])
    assert {record.click_probability for record in history.records} == {0.8}
    assert all(math.isfinite(record.loss) for record in history.records)


@pytest.mark.parametrize(
    ("epochs", "expected"),
    [((9, 0, 0), [4, 8, 9]), ((5, 0, 6), [4, 5, 9, 11]), ((1, 0, 0), [1]), ((6, 2, 3), [4, 6, 7, 8, 11])],
)
def test_every_epoch_of_the_estimation_is_looked_at_and_else_every_fourth_and_the_last_of_a_phase(
    learning, epochs, expected
):
    given = learning(short(*epochs))
    events, _ = run_to_the_end(given)
    assert [event.epoch for event in events if isinstance(event, EpochPredicted)] == expected
    history = only(given).progress.history(4)
    seen = np.isin(np.arange(1, len(history) + 1), expected)
    for name in ("click_probability", "negative_variance", "largest_positive_share"):
        figures = np.array([getattr(record, name) for record in history.records])
        np.testing.assert_array_equal(np.isfinite(figures), seen)
    for rows in (history.observed, history.positive_share):
        np.testing.assert_array_equal(np.isfinite(rows), np.repeat(seen[:, np.newaxis], 4, axis=1))
    assert np.isfinite(history.priors).all()
    assert all(math.isfinite(record.loss) for record in history.records)


def test_how_often_the_network_is_looked_at_changes_neither_weights_nor_priors(learning, monkeypatch):
    results = []
    for every in (1, 4):
        monkeypatch.setattr(phases_module, "OBSERVED_EVERY", every)
        given = learning(short(6, 0, 0))
        _, weights = run_to_the_end(given)
        results.append((weights[6], only(given).priors()))
    (often, often_priors), (seldom, seldom_priors) = results
    assert all(torch.equal(value, seldom[name]) for name, value in often.items())
    np.testing.assert_array_equal(often_priors.mean, seldom_priors.mean)
    np.testing.assert_array_equal(often_priors.deviation, seldom_priors.deviation)


@pytest.mark.parametrize("epochs", [(5, 0, 0), (2, 0, 1), (1, 2, 2), (1, 4, 0), (0, 0, 0)])
@pytest.mark.parametrize("statistics", ["running", "sequence"])
def test_the_prediction_is_that_of_the_last_weights_whether_they_were_just_observed_or_not(
    learning, epochs, statistics
):
    training = TrainingSettings(batch=2, frames_per_epoch=1, statistics=statistics, mirrors=True)
    # The rule of the fourth case holds at once: the weights after its end are not those last observed.
    given = learning(short(*epochs), StoppingSettings(variance=10.0, window=2, minimum=0), training=training)
    given.run(ignore, ignore)
    predicted = given.predict()
    given.seen = None
    torch.testing.assert_close(predicted, given.predict(), rtol=0, atol=0)


@pytest.mark.parametrize(("exact", "expected"), [(True, ("sequence", True)), (False, ("running", False))])
def test_what_nothing_depends_on_is_seen_without_mirrors_and_with_running_averages(
    trainer, samples, monkeypatch, exact, expected
):
    asked = []

    def predict(network: object, given: object, settings: TrainingSettings) -> torch.Tensor:
        asked.append((settings.statistics, settings.mirrors))
        return torch.zeros(4, 1, 16, 16)

    monkeypatch.setattr(phases_module, "predict_logits", predict)
    look_at(trainer(samples(4), training=TrainingSettings(statistics="sequence", mirrors=True)), exact)
    assert asked == [expected]


def test_an_observation_sums_up_the_prediction_of_every_superpixel(samples, monkeypatch):
    # Sixteen superpixels of a sixteenth of the frame each: one at 0.75, clicked, one at 0.25, the others at 0.
    probabilities = torch.zeros(4, 16)
    probabilities[:, 5], probabilities[:, 6] = 0.75, 0.25
    monkeypatch.setattr(phases_module, "pool_probabilities", lambda *given: probabilities)
    seen = sum_up(LOGITS, samples(4), 2.0)
    np.testing.assert_allclose(seen.observed, (0.75**2 + 0.25**2) / 16)
    np.testing.assert_allclose(seen.share, 1 / 16)
    assert seen.click_probability == 0.75
    # Of the fifteen below one half: mean 1/60, mean square 1/240.
    assert seen.negative_variance == pytest.approx(1 / 240 - 1 / 3600)
    assert seen.probabilities.dtype == np.float16
    np.testing.assert_array_equal(seen.probabilities, probabilities.numpy())


def test_a_superpixel_that_is_no_sample_is_told_as_improbable(samples, monkeypatch):
    """One that has no pixel at the working size has a mean logit of 0, and so half a probability from nothing."""
    given = samples(4, PointSet.from_rows([(0, 5, 6)], absent=[3]))
    given.areas[1, 7] = 0
    monkeypatch.setattr(phases_module, "pool_probabilities", lambda *given: torch.full((4, 16), 0.5))
    expected = np.full((4, 16), 0.5)
    expected[1, 7] = expected[3] = 0
    np.testing.assert_array_equal(sum_up(LOGITS, given, 2.0).probabilities, expected)


def test_with_no_pseudo_negative_their_variance_is_zero(samples, monkeypatch):
    monkeypatch.setattr(phases_module, "pool_probabilities", lambda *given: torch.full((4, 16), 0.5))
    seen = sum_up(LOGITS, samples(4), 2.0)
    assert (seen.negative_variance, seen.share.tolist()) == (0.0, [1.0] * 4)


def test_one_cycle_rises_to_its_peak_at_three_tenths_and_falls_to_nothing():
    rates = [one_cycle(2.0, step, 100) for step in range(101)]
    assert (rates[0], rates[30], rates[100]) == (pytest.approx(0.2), pytest.approx(2.0), pytest.approx(0.0))
    assert rates[65] == pytest.approx(1.0)  # half way down the cosine
    assert all(np.diff(rates[:31]) > 0)
    assert all(np.diff(rates[30:]) < 0)


def test_one_cycle_spans_the_warm_up_step_by_step(learning, monkeypatch):
    given = learning(short(5, 1, 1, schedule="one-cycle", warmup_rate=1.0, estimation_rate=0.5, final_rate=0.25))
    seen = []

    def spy(priors: torch.Tensor, rates: list[float], tell: object) -> Generator[None, None, tuple[StepMeans, ...]]:
        seen.extend(rates)
        yield
        return (StepMeans(1.0, 1.0, 0.0, 0.0),)

    monkeypatch.setattr(given.trainer, "take_steps", spy)
    given.run(ignore, ignore)
    assert seen[:10] == [one_cycle(1.0, step, 10) for step in range(10)]
    assert seen[10:] == [0.5, 0.5, 0.25, 0.25]


@pytest.mark.parametrize("loss", [math.nan, math.inf])
def test_a_loss_that_is_no_number_ends_learning_with_a_way_out_and_is_not_saved(learning, monkeypatch, loss):
    given = learning(short(1, 2, 0))
    saved = []
    real = given.trainer.take_steps

    def diverge(priors: torch.Tensor, rates: list[float], tell: object) -> Generator[None, None, tuple[StepMeans, ...]]:
        means = yield from real(priors, rates)
        return means if not saved else (StepMeans(loss, 1.0, 1.0, 0.0),)

    monkeypatch.setattr(given.trainer, "take_steps", diverge)
    with pytest.raises(FewpointError, match=r"diverged in epoch 2 \(estimation.*lower the learning rate") as caught:
        given.run(ignore, lambda state: saved.append(only(state).progress.epoch))
    assert "\n" not in str(caught.value)
    assert saved == [1]


def test_weights_that_are_no_numbers_after_the_last_step_are_noticed(learning):
    """Also after an epoch that nobody looks at."""
    given = learning(short(3, 0, 0, warmup_rate=1e30))
    with pytest.raises(FewpointError, match=r"epoch 1 \(warm-up.*lower the learning rate"):
        given.run(ignore, ignore)


@pytest.mark.parametrize(
    "wrong", [{"warmup_epochs": -1}, {"final_rate": 0.0}, {"warmup_prior": 0.0}, {"schedule": "cosine"}]
)
def test_meaningless_settings_are_refused_by_name(wrong):
    with pytest.raises(SettingsError, match=f"phases.{next(iter(wrong))}"):
        PhaseSettings(**wrong)


def two_objects() -> tuple[SampleSet, ...]:
    """Four frames; b is clicked on two of them, and another is marked absent for it."""
    return build_all_samples(4, [click([0, 1, 2, 3]), PointSet.from_rows([(0, 13, 14), (1, 13, 14)], absent=[3])])


def phases_by_object(learning: Learning) -> list[list[str]]:
    return [[record.phase for record in course.progress.records] for course in learning.courses]


RULE = StoppingSettings(0.007, 2, 0, halts=True)
# Looks at a and b in turn: after the warm-up and twice in the estimation, whose rule then holds for a. Its last phase
# is looked at after its second epoch only, that of b after the last of all.
A_HALTS = [
    *(observation(WILD, 0.01), observation(WILD, 0.02)),
    *(observation(CALM, 0.03), observation(WILD, 0.04)),
    *(observation(CALM, 0.05), observation(WILD, 0.06)),
    observation(WILD, 0.07),
    *(observation(CALM, 0.08), observation(WILD, 0.09)),
    observation(CALM, 0.1),
]


def filter_through(levels: list[float]) -> list[np.ndarray]:
    """The means of the filter after each epoch of an estimation of at most four."""
    settings = PriorSettings()
    states = [initial_state(4, BOUND, settings)]
    for epoch, level in enumerate(levels):
        states.append(update_priors(states[-1], np.full(4, level), epoch, 4, BOUND, settings))
    return [state.mean for state in states]


def test_each_object_stops_by_its_own_rule_and_goes_on_with_its_own_priors(learning, script):
    given = learning(short(1, 4, 2), RULE, *two_objects())
    script(A_HALTS)
    given.run(ignore, ignore)
    assert phases_by_object(given) == [
        [WARM_UP, ESTIMATION, ESTIMATION, FINAL, FINAL],
        [WARM_UP, *[ESTIMATION] * 4, FINAL, FINAL],
    ]
    first, second = (course.progress for course in given.courses)
    assert (first.selected_epoch, second.selected_epoch) == (2, 5)
    of_a, of_b = filter_through([0.03, 0.05]), filter_through([0.04, 0.06, 0.07, 0.09])
    # a goes back to what was estimated where its window starts; b takes the last.
    expected = [np.full(4, 0.1), of_a[0], of_a[1], of_a[1], of_a[1]]
    np.testing.assert_allclose(first.history(4).priors, expected, rtol=1e-6)
    expected = np.array([np.full(4, 0.1), *of_b, of_b[4]]) * [1, 1, 1, 0]
    np.testing.assert_allclose(second.history(4).priors, expected, rtol=1e-6)


def test_what_is_told_of_several_objects_says_of_which(learning, script):
    given = learning(short(1, 4, 2), RULE, *two_objects())
    script(A_HALTS)
    events, _ = run_to_the_end(given)
    predicted = [(event.object, event.epoch) for event in events if isinstance(event, EpochPredicted)]
    both = [(name, epoch) for epoch in (1, 2, 3) for name in "ab"]
    assert predicted == [*both, ("b", 4), ("a", 5), ("b", 5), ("b", 7)]
    finished = [event.record for event in events if isinstance(event, EpochFinished)]
    assert [record.epoch for record in finished] == [1, 2, 3, 4, 5, 6, 7]
    for told, *own in zip(finished[:5], *(course.progress.records for course in given.courses), strict=False):
        assert told.loss == pytest.approx((own[0].loss + own[1].loss) / 2)
    messages = [event.text for event in events if isinstance(event, Message)]
    assert messages == ["priors of b: the stopping rule did not hold within 5 epochs"]


def test_the_weights_of_several_objects_do_not_go_back_with_one_of_them(learning, script):
    """Until a's rule holds after epoch 3, nothing depends on the rule: the weights are those of a run without one."""
    never = StoppingSettings(1e-9, 2, 0)
    weights = []
    for stopping in (RULE, never):
        given = learning(short(1, 4, 2), stopping, *two_objects())
        script(A_HALTS)
        for _ in range(3):
            given.run_epoch()
        assert given.window is None
        weights.append(given.trainer.network.state_dict())
    assert all(torch.equal(value, weights[1][name]) for name, value in weights[0].items())


def test_the_trainer_gets_the_priors_of_each_object_and_the_largest_rate_until_all_are_done(
    learning, script, monkeypatch
):
    phases = short(1, 4, 2, warmup_rate=0.3, estimation_rate=0.2, final_rate=0.1)
    given = learning(phases, RULE, *two_objects())
    script(A_HALTS)
    seen = []

    def spy(priors: torch.Tensor, rates: list[float], tell: object) -> Generator[None, None, tuple[StepMeans, ...]]:
        seen.append((priors.numpy().copy(), rates))
        yield
        return (StepMeans(1.0, 0.5, 0.5, 0.0), StepMeans(2.0, 0.5, 1.5, 0.0))

    monkeypatch.setattr(given.trainer, "take_steps", spy)
    given.run(ignore, ignore)
    assert [rates[0] for _, rates in seen] == [0.3, *[0.2] * 4, 0.1, 0.1]
    for number, course in enumerate(given.courses):
        used = course.progress.history(4).priors
        np.testing.assert_array_equal([priors[:, number] for priors, _ in seen[: len(used)]], used)
    # a is done after five epochs; the network goes on with the priors with which a ended.
    assert all((priors[:, 0] == np.float32(given.courses[0].progress.state.mean)).all() for priors, _ in seen[5:])
    assert [course.progress.records[-1].loss for course in given.courses] == [1.0, 2.0]


def test_the_loss_of_any_object_that_is_no_number_ends_learning(learning, monkeypatch):
    given = learning(short(1, 0, 0), RULE, *two_objects())

    def diverge(*given: object) -> Generator[None, None, tuple[StepMeans, ...]]:
        yield
        return (StepMeans(1.0, 1.0, 0.0, 0.0), StepMeans(math.nan, 1.0, 0.0, 0.0))

    monkeypatch.setattr(given.trainer, "take_steps", diverge)
    with pytest.raises(FewpointError, match=r"diverged in epoch 1 \(warm-up"):
        given.run(ignore, ignore)


def test_the_prediction_holds_a_map_per_object_and_frame(learning):
    given = learning(short(1, 0, 0), RULE, *two_objects())
    given.run(ignore, ignore)
    predicted = given.predict()
    assert predicted.shape == (4, 2, 16, 16)
    for course, samples in zip(given.courses, given.trainer.objects, strict=True):
        seen = sum_up(predicted[:, course.number], samples, 2.0)
        np.testing.assert_array_equal(course.progress.rows[-1][1], seen.observed)


def test_a_single_object_learns_the_same_whatever_its_name(learning):
    plain, named = learning(short(1, 2, 1)), learning(short(1, 2, 1))
    only(named).name = "liver"
    events, weights = run_to_the_end(plain)
    others, same = run_to_the_end(named)
    assert all(torch.equal(value, same[4][name]) for name, value in weights[4].items())
    names = [{event.object for event in each if isinstance(event, EpochPredicted)} for each in (events, others)]
    assert names == [{""}, {"liver"}]


def test_the_record_of_several_objects_is_their_mean_in_the_phase_of_the_one_that_learns_longest():
    first = EpochRecord(5, FINAL, 1.0, 0.2, 0.8, 0.0, 0.5, 0.1, 0.01, 0.2, stop_streak=0)
    second = EpochRecord(7, ESTIMATION, 2.0, 0.4, 1.6, 0.5, 0.7, 0.3, 0.03, 0.4, stop_streak=3)
    mean = mean_record([first, second])
    assert (mean.epoch, mean.phase, mean.stop_streak) == (7, ESTIMATION, 3)
    figures = (mean.loss, mean.positive_risk, mean.negative_risk, mean.ascent_share, mean.click_probability)
    assert figures == pytest.approx((1.5, 0.3, 1.2, 0.25, 0.6))
    assert (mean.mean_prior, mean.negative_variance, mean.largest_positive_share) == pytest.approx((0.2, 0.02, 0.3))
    assert mean_record([first]) is first
