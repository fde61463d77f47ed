"""How long a run will take, and what a time limit leaves of its schedule."""

import threading
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest
import torch

from fewpoint.core import Message, PointSet
from fewpoint.core.settings import as_table, override_from_text
from fewpoint.errors import RunConflictError, SettingsError
from fewpoint.io.atomic import read_json
from fewpoint.io.runs import RunFolder
from fewpoint.methods.registry import PRESETS
from fewpoint.pipeline import group as group_module
from fewpoint.pipeline import members
from fewpoint.pipeline import pace as pace_module
from fewpoint.pipeline.pace import (
    FIRST_STEPS,
    SAFETY,
    TIMED_STEPS,
    TRIES,
    Fitted,
    Pace,
    _clock_steps,
    estimate_seconds,
    fit_into_limit,
    fit_schedule,
)
from fewpoint.pipeline.plan import Plan
from fewpoint.runs import runner as run_module
from fewpoint.runs.runner import run_task
from tiny_runs import TINY, make_task

PACE = Pace(step=0.1, look=1.0, masks=3.0, steps=4)
SHORT = override_from_text(TINY, ["warmup.epochs=4", "rounds.round_epochs=4"])
HALF_OF_SHORT = override_from_text(SHORT, ["warmup.epochs=2", "rounds.round_epochs=2"])
ACCURATE, FAST, PAPER = (PRESETS[name].plan() for name in ("accurate", "fast", "paper"))
# So slow that a limit of 100 s leaves half of SHORT: a network takes 10 s an epoch and nothing else takes time.
SLOW = Pace(step=10.0, look=0.0, masks=0.0, steps=1)
TWO_OBJECTS = PointSet.from_rows([(0, 20, 20), (0, 5, 5)], objects=("a", "b"))


def change_fast(*assignments: str) -> Plan:
    """The plan of the preset fast with some settings changed."""
    return override_from_text(PRESETS["fast"], list(assignments)).plan()


@pytest.fixture
def slow(monkeypatch) -> None:
    """Every machine has the pace SLOW, and no time passes before learning; no report is drawn."""
    monkeypatch.setattr(group_module, "measure_pace", lambda *given: SLOW)
    monkeypatch.setattr(run_module.StageLog, "spent", lambda log: 0.0)
    monkeypatch.setattr(run_module, "write_report", lambda *given: None)


def limited(seconds: float = 50 * SAFETY):
    return replace(make_task(SHORT), time_limit_s=seconds)


def test_the_estimate_by_hand():
    """Two networks of 10 epochs and one of 5; five passes make a prediction that counts, four of them mirrored."""
    plan = change_fast("warmup.epochs=10", "rounds.networks=2", "rounds.round_epochs=5")
    first = 10 * 4 * 0.1 + (2 + 5) * 1.0
    later = 5 * 4 * 0.1 + (1 + 5) * 1.0
    assert estimate_seconds(plan, PACE) == pytest.approx(2 * first + later + 2 * 3.0)


def test_the_estimate_of_the_paper_counts_a_look_an_epoch_of_its_estimation_and_else_every_fourth():
    looks = 49 // 4 + 100 + 99 // 4
    assert estimate_seconds(PAPER, PACE) == pytest.approx(250 * 0.4 + looks + 1 + 3)


@pytest.mark.parametrize("plan", [PAPER, ACCURATE, FAST])
@pytest.mark.parametrize("share", [0.1, 0.3, 0.6, 0.9])
def test_what_is_fitted_fits_and_more_time_never_gives_less(plan, share):
    pace = replace(PACE, look=0.01, masks=0.0)
    whole = SAFETY * estimate_seconds(plan, pace)
    fitted, longer = (fit_schedule(plan, pace, seconds * whole) for seconds in (share, share + 0.05))
    assert SAFETY * estimate_seconds(fitted.plan, pace) <= share * whole
    assert estimate_seconds(longer.plan, pace) >= estimate_seconds(fitted.plan, pace)
    assert fitted.note.startswith("shortened to ")


def test_a_schedule_that_fits_is_left_alone():
    assert fit_schedule(FAST, PACE, 1e6) == Fitted(FAST)


def test_a_network_less_comes_before_less_than_half_of_the_epochs():
    pace = Pace(step=1.0, look=0.0, masks=0.0, steps=1)  # 120 s: three networks and two of 24 epochs each
    several = replace(ACCURATE, rounds=replace(ACCURATE.rounds, networks=3, round_networks=2))
    half, third = (fit_schedule(several, pace, SAFETY * seconds).plan for seconds in (60, 40))
    assert (half.rounds.networks, half.rounds.round_networks, half.phases.warmup_epochs) == (3, 2, 12)
    assert (third.rounds.networks, third.rounds.round_networks, third.phases.warmup_epochs) == (1, 1, 20)
    least = fit_schedule(several, pace, SAFETY * 2)
    assert least.note == (
        "shortened to 1 of 24 warm-up epochs, 1 of 3 networks, 1 of 2 networks of a further round, "
        "1 of 24 epochs of a further round"
    )


def test_networks_that_learn_side_by_side_take_the_time_of_one():
    alone = estimate_seconds(FAST, SLOW)  # no looks, no masks: three networks of 16 epochs, 10 s each
    assert alone == 3 * 16 * 10
    assert estimate_seconds(FAST, replace(SLOW, at_once=2)) == 2 * 16 * 10
    three = change_fast("rounds.networks=3")
    assert estimate_seconds(three, replace(SLOW, at_once=2)) == (1.5 + 1) * 16 * 10


def test_the_only_network_of_a_further_round_has_its_own_step():
    divided = replace(SLOW, alone=4.0)
    assert estimate_seconds(FAST, divided) == 2 * 16 * 10 + 16 * 4
    several = change_fast("rounds.round_networks=2")
    assert estimate_seconds(several, divided) == 4 * 16 * 10


def test_a_limit_too_short_for_one_epoch_is_refused_with_the_least_that_would_do():
    pace = Pace(step=1.0, look=0.0, masks=0.0, steps=60)  # two networks of one epoch: 120 s, with safety 138 s
    with pytest.raises(SettingsError, match=r"at least 2\.8 minutes .*got 2;") as caught:
        fit_into_limit(FAST, pace, limit_s=120, spent_s=30)
    assert "\n" not in str(caught.value)
    assert fit_into_limit(FAST, pace, limit_s=2.8 * 60, spent_s=30).plan.phases.warmup_epochs == 1


def test_a_schedule_kept_as_plain_values_comes_back():
    fitted = Fitted(ACCURATE.shorten(0.3), "shortened")
    assert Fitted.from_table(ACCURATE, fitted.as_table()) == fitted


def test_a_limited_run_is_a_run_with_the_shorter_schedule(slow):
    events = []
    result = run_task(limited(), listener=events.append)
    plain = run_task(make_task(HALF_OF_SHORT))
    np.testing.assert_array_equal(result.probabilities.values, plain.probabilities.values)
    np.testing.assert_array_equal(result.masks, plain.masks)
    told = [event.text for event in events if isinstance(event, Message)]
    assert told == ["time limit: shortened to 2 of 4 warm-up epochs, 2 of 4 epochs of a further round"]


def test_a_limited_run_keeps_its_schedule_over_starts(slow, tmp_path, monkeypatch):
    whole = run_task(limited())

    def interrupt(event) -> None:
        if type(event).__name__ == "EpochFinished":
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt), RunFolder.open(tmp_path / "run", limited().identity()) as folder:
        run_task(limited(), folder, interrupt)
    monkeypatch.setattr(group_module, "measure_pace", None)  # nothing is measured again
    with RunFolder.open(tmp_path / "run", limited().identity()) as folder:
        resumed = run_task(limited(), folder)
    np.testing.assert_array_equal(resumed.probabilities.values, whole.probabilities.values)
    manifest = read_json(tmp_path / "run" / "manifest.json")
    assert manifest["schedule"]["epochs"]["phases.warmup_epochs"] == 2
    assert manifest["groups"]["group-1"]["plan"]["phases"]["warmup_epochs"] == 2
    assert manifest["settings"] == as_table(SHORT)
    assert "2 of 4 warm-up epochs" in read_json(tmp_path / "run" / "summary.json")["time_limit"]


def test_another_limit_is_another_run(slow, tmp_path):
    with RunFolder.open(tmp_path / "run", limited(60).identity()):
        pass
    with pytest.raises(RunConflictError, match=r"time limit \(1 min, now 2 min\)"):
        RunFolder.open(tmp_path / "run", limited(120).identity())


def test_a_limit_too_short_leaves_no_folder(slow, tmp_path):
    with (
        pytest.raises(SettingsError, match="at least"),
        RunFolder.open(tmp_path / "run", limited(1).identity()) as folder,
    ):
        run_task(limited(1), folder)
    assert not (tmp_path / "run").exists()


@pytest.mark.parametrize("points", [{}, {"points": TWO_OBJECTS}], ids=["one object", "two objects"])
def test_a_hopeless_limit_is_refused_before_superpixels_are_cut(points, tmp_path):
    events, task = [], replace(make_task(SHORT), **points, time_limit_s=1e-3)
    with (
        pytest.raises(SettingsError, match=r"--time-limit must be at least .* minutes here"),
        RunFolder.open(tmp_path / "run", task.identity()) as folder,
    ):
        run_task(task, folder, events.append)
    assert not events
    assert not (tmp_path / "run").exists()


def test_a_run_without_a_limit_is_not_looked_at_before_its_superpixels(monkeypatch):
    monkeypatch.setattr("fewpoint.pipeline.pace._glance", None)
    run_task(make_task(SHORT))


def test_measuring_the_pace_does_not_change_the_masks():
    plain = run_task(make_task(SHORT))
    generous = run_task(replace(make_task(SHORT), time_limit_s=36_000))
    np.testing.assert_array_equal(generous.probabilities.values, plain.probabilities.values)


class Stepper:
    """Stands for a trainer, and waits at every try for as many others."""

    samples = SimpleNamespace(frames=torch.zeros(1))

    def __init__(self, others: threading.Barrier) -> None:
        self.others, self.steps = others, 0

    def try_steps(self, count: int) -> None:
        self.others.wait(timeout=180)
        self.steps += count


@pytest.mark.parametrize("count", [1, 3])
def test_networks_that_learn_at_once_are_clocked_at_once(count):
    barrier = threading.Barrier(count)
    trainers = [Stepper(barrier) for _ in range(count)]
    assert _clock_steps(trainers) > 0
    assert {trainer.steps for trainer in trainers} == {FIRST_STEPS + TRIES * TIMED_STEPS}


@pytest.mark.parametrize(("cores", "clocked"), [(1, 1), (2, 2), (8, 2)])
def test_a_rehearsal_has_as_many_networks_as_learn_at_once(monkeypatch, cores, clocked):
    asked = []
    monkeypatch.setattr(members, "free_cores", lambda: cores)
    monkeypatch.setattr(pace_module, "_clock_steps", lambda trainers: asked.append(len(trainers)) or 0.1)
    settings = override_from_text(SHORT, ["rounds.networks=2", "training.threads=1", "training.parts=1"])
    run_task(replace(make_task(settings), time_limit_s=1000.0))
    assert asked == [clocked]
