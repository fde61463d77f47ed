"""A checkpoint is all that is needed to go on, to the bit."""

import hashlib
from dataclasses import replace
from io import BytesIO
from pathlib import Path
from pickle import UnpicklingError

import numpy as np
import pytest
import torch

from fewpoint.core import PointSet, ignore
from fewpoint.learning import checkpoints
from fewpoint.learning.checkpoints import BEGINNING, DIGEST, load_learning, save_learning, sparingly
from fewpoint.learning.estimators import FilteredPriors
from fewpoint.learning.phases import Course, Learning
from fewpoint.learning.settings import PhaseSettings, StoppingSettings, TrainingSettings
from learning.conftest import build_all_samples, click, only

PHASES = PhaseSettings(2, 1e-2, estimation_epochs=5, estimation_rate=1e-2, final_epochs=2, final_rate=1e-2)
# The rule holds at once: epochs 3 and 4 are the window, learning returns to 3, and two epochs follow.
STOPPING = StoppingSettings(variance=10.0, window=2, minimum=0, halts=True)


def save_to(path: Path, learning: Learning) -> None:
    with open(path, "wb") as file:
        save_learning(learning, file)


def weights_of(learning: Learning) -> dict[str, torch.Tensor]:
    return {name: value.clone() for name, value in learning.trainer.network.state_dict().items()}


def assert_same(first: Learning, second: Learning) -> None:
    there = weights_of(second)
    assert all(torch.equal(value, there[name]) for name, value in weights_of(first).items())
    for mine, other in zip(first.courses, second.courses, strict=True):
        assert_same_course(mine, other)


def assert_same_course(first: Course, second: Course) -> None:
    here, there = first.progress, second.progress
    assert repr(here.records) == repr(there.records)  # NaN is not equal to itself
    for name in ("phase", "phase_epoch", "stop", "selected_epoch"):
        assert getattr(here, name) == getattr(there, name)
    for name in ("priors", "observed", "positive_share"):
        np.testing.assert_array_equal(*(getattr(one.history(4), name) for one in (here, there)))
    np.testing.assert_array_equal(here.state.mean, there.state.mean)
    np.testing.assert_array_equal(here.state.covariance, there.state.covariance)
    np.testing.assert_array_equal(here.priors, there.priors)
    for name in ("mean", "deviation", "observed"):
        np.testing.assert_array_equal(getattr(first.priors(), name), getattr(second.priors(), name))


@pytest.mark.parametrize("statistics", ["running", "sequence"])
def test_learning_taken_up_after_any_epoch_ends_as_if_it_had_never_stopped(learning, tmp_path, statistics):
    training = TrainingSettings(batch=2, frames_per_epoch=1, statistics=statistics)
    whole = learning(PHASES, STOPPING, training=training)
    whole.run(ignore, lambda state: save_to(tmp_path / f"{state.courses[0].progress.epoch}.pt", state))
    phases = [record.phase for record in only(whole).progress.records]
    assert phases == ["warm-up"] * 2 + ["estimation"] * 2 + ["final"] * 2
    for epoch in range(1, 7):
        resumed = learning(PHASES, STOPPING, training=training)
        load_learning(resumed, tmp_path / f"{epoch}.pt")
        assert only(resumed).progress.epoch == epoch
        resumed.run(ignore, ignore)
        assert_same(whole, resumed)


def test_learning_taken_up_between_two_looks_at_the_network_looks_at_the_same_epochs(learning, tmp_path):
    phases = PhaseSettings.only_warm_up(6, 1e-2)
    whole = learning(phases)
    whole.run(ignore, lambda state: save_to(tmp_path / f"{state.courses[0].progress.epoch}.pt", state))
    for epoch in (2, 4, 5):
        resumed = learning(phases)
        load_learning(resumed, tmp_path / f"{epoch}.pt")
        resumed.run(ignore, ignore)
        assert_same(whole, resumed)


@pytest.mark.nightly
def test_learning_of_several_objects_taken_up_after_any_epoch_ends_as_if_it_had_never_stopped(learning, tmp_path):
    def start() -> Learning:
        points = PointSet.from_rows([(0, 13, 14), (2, 13, 14)])
        given = learning(PHASES, STOPPING, *build_all_samples(4, [click([0, 1, 3]), points]))
        never = FilteredPriors(stopping=StoppingSettings(variance=1e-12, window=2, minimum=0))
        given.courses[1].schedule = replace(given.schedule, estimator=never)
        return given

    whole = start()
    whole.run(ignore, lambda state: save_to(tmp_path / f"{state.courses[1].progress.epoch}.pt", state))
    # The first object stops after two epochs of the estimation, the second takes all five: they end at 6 and 9.
    assert [(course.progress.epoch, course.progress.selected_epoch) for course in whole.courses] == [(6, 3), (9, 7)]
    for epoch in range(1, 10):
        resumed = start()
        load_learning(resumed, tmp_path / f"{epoch}.pt")
        assert [course.progress.epoch for course in resumed.courses] == [min(epoch, 6), epoch]
        resumed.run(ignore, ignore)
        assert_same(whole, resumed)


def test_a_checkpoint_of_another_network_of_the_run_is_passed_over(learning, tmp_path):
    first, second = learning(PHASES), learning(PHASES)
    first.run_epoch()
    with open(tmp_path / "a.pt", "wb") as file:
        save_learning(first, file, owner="network 1")
    load_learning(second, tmp_path / "a.pt", owner="network 2")
    assert only(second).progress.epoch == 0
    load_learning(second, tmp_path / "a.pt", owner="network 1")
    assert_same(first, second)


def test_a_checkpoint_loaded_is_the_one_saved(learning, tmp_path):
    first, second = learning(PHASES, STOPPING), learning(PHASES, STOPPING)
    for _ in range(3):
        first.run_epoch()
    assert only(first).remembered is not None and first.window is not None
    save_to(tmp_path / "a.pt", first)
    load_learning(second, tmp_path / "a.pt")
    assert_same(first, second)
    assert only(second).remembered["epoch"] == 3
    assert all(torch.equal(value, second.window["network"][name]) for name, value in weights_of(first).items())
    for name, moments in first.window["optimiser"].items():
        assert all(map(torch.equal, moments, second.window["optimiser"][name]))


def test_a_remembered_state_does_not_change_as_training_goes_on(learning):
    given = learning(PHASES, StoppingSettings(variance=10.0, window=4, minimum=0))
    for _ in range(3):
        given.run_epoch()
    kept = [*given.window["network"].values(), *(each for some in given.window["optimiser"].values() for each in some)]
    before = [value.clone() for value in kept]
    given.run_epoch()
    assert all(map(torch.equal, before, kept))


def test_a_checkpoint_holds_tensors_and_plain_values_only(learning):
    stream = BytesIO()
    given = learning(PHASES, STOPPING)
    given.run_epoch()
    save_learning(given, stream)
    stream.seek(len(BEGINNING) + DIGEST)
    payload = torch.load(BytesIO(stream.read()), weights_only=True)  # refuses anything else
    assert set(payload) == {"owner", "trainer", "courses", "window"}


def test_a_checkpoint_that_would_run_code_is_not_loaded(learning, tmp_path):
    stream = BytesIO()
    torch.save({"trainer": Path("x")}, stream)
    data = stream.getvalue()
    (tmp_path / "evil.pt").write_bytes(BEGINNING + hashlib.sha256(data).digest() + data)
    with pytest.raises(UnpicklingError):
        load_learning(learning(PHASES), tmp_path / "evil.pt")


@pytest.mark.parametrize("place", [0, 30, 2000, -5])
def test_a_checkpoint_of_which_a_bit_has_changed_is_passed_over(learning, tmp_path, place):
    first, second = learning(PHASES), learning(PHASES)
    first.run_epoch()
    save_to(tmp_path / "a.pt", first)
    data = bytearray((tmp_path / "a.pt").read_bytes())
    data[place] ^= 4
    (tmp_path / "a.pt").write_bytes(data)
    load_learning(second, tmp_path / "a.pt")
    assert only(second).progress.epoch == 0
    (tmp_path / "a.pt").write_bytes(b"")
    load_learning(second, tmp_path / "a.pt")
    assert only(second).progress.epoch == 0


def test_a_state_too_soon_after_the_start_or_the_last_one_saved_is_passed_over(monkeypatch):
    now, saved = [0.0], []
    monkeypatch.setattr(checkpoints.time, "monotonic", lambda: now[0])
    save = sparingly(saved.append)
    for moment in (0.0, 4.0, 9.9, 10.0, 19.9, 20.1):
        now[0] = moment
        save(moment)
    assert saved == [10.0, 20.1]


def test_a_checkpoint_that_takes_long_is_written_seldom(monkeypatch):
    now, saved = [0.0], []
    monkeypatch.setattr(checkpoints.time, "monotonic", lambda: now[0])

    def write(moment: float) -> None:
        saved.append(moment)
        now[0] += 0.5  # a hundredth of the time means every fifty seconds

    save = sparingly(write)
    for moment in (0.0, 11.0, 60.0, 62.0, 112.0, 112.6):
        now[0] = moment
        save(moment)
    assert saved == [11.0, 62.0, 112.6]
