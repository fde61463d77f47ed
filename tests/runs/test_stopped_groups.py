"""A run of several groups of objects that is stopped in a later group: what earlier groups have found stays."""

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from fewpoint.core import EpochFinished, EpochPredicted, Result, StepsTaken
from fewpoint.core.job import EVERY, GivenBound, Job, OutputChoice, PlainPoints
from fewpoint.core.progress import Event
from fewpoint.io.jobs import read_changes
from fewpoint.io.runs import load_result
from fewpoint.learning import checkpoints
from fewpoint.runs.jobs import StoppedError, run_job, run_until_stopped
from fewpoint.runs.partial import LastLook
from pipeline.test_groups import SETTINGS, make_far_task
from synthetic import save_settings

LATER = ("near", "small")  # the second of two groups; the first is "far" alone


@pytest.fixture(scope="module")
def job(tmp_path_factory) -> Job:
    folder, task = tmp_path_factory.mktemp("groups"), make_far_task()
    np.save(folder / "frames.npy", task.sequence.frames)
    changes = read_changes(save_settings(SETTINGS, folder / "tiny.toml"))
    return Job(
        input=str(folder / "frames.npy"),
        points=PlainPoints.of(task.points),
        bounds=((EVERY, GivenBound(0.01)),),
        changes=changes,
        device="cpu",
        outputs=OutputChoice(report=False),
    )


@pytest.fixture(scope="module")
def whole(job, tmp_path_factory) -> Result:
    return run_job(job, tmp_path_factory.mktemp("whole") / "run")


@pytest.fixture(autouse=True)
def kept_at_once(monkeypatch):
    """What is left for a later start is written after every epoch, however short."""
    monkeypatch.setattr(checkpoints, "LEAST_SECONDS", 0)


def is_look_at_later(event: Event) -> bool:
    return isinstance(event, EpochPredicted) and event.object == LATER[-1]


def run_until(job: Job, out: Path, ends: Callable[[Event], bool], error=StoppedError) -> Result | None:
    """Run until the first epoch's end, or step, after an event: with StoppedError as a person stops it."""
    met = []

    def listen(event: Event) -> None:
        met.extend([event] if ends(event) else [])
        if met and isinstance(event, EpochFinished | StepsTaken):
            raise error

    result, stopped = run_until_stopped(job, out, listen, LastLook())
    assert stopped
    return result


def assert_first_group_is_that_of(result: Result | None, whole: Result) -> None:
    assert result is not None
    np.testing.assert_array_equal(result["far"].masks, whole["far"].masks)
    np.testing.assert_array_equal(result["far"].probabilities.values, whole["far"].probabilities.values)
    np.testing.assert_array_equal(result["far"].priors.mean, whole["far"].priors.mean)
    assert result["far"].bound == whole["far"].bound


def test_a_stop_in_the_second_group_keeps_the_masks_of_the_first_to_the_bit(job, whole, tmp_path):
    result = run_until(job, tmp_path / "run", is_look_at_later)
    assert_first_group_is_that_of(result, whole)
    for name in LATER:
        assert result[name].masks.sum() > 3  # more than its clicks
    assert not any("stopped before" in note for note in result.notes)
    np.testing.assert_array_equal(load_result(tmp_path / "run").labels.values, result.labels.values)


def test_so_does_a_stop_before_the_second_group_has_been_looked_at(job, whole, tmp_path):
    far = len(whole["far"].history.records)
    result = run_until(job, tmp_path / "run", lambda event: isinstance(event, StepsTaken) and event.epoch > far)
    assert_first_group_is_that_of(result, whole)
    assert {f"{name}: stopped before it was trained" for name in LATER} <= set(result.notes)


@pytest.mark.parametrize("first_step", [True, False])
def test_a_run_that_was_killed_and_taken_up_again_keeps_as_much(job, whole, tmp_path, first_step):
    """Stopped after its first step, or before that: while what was there is read again."""
    with pytest.raises(KeyboardInterrupt):
        run_until(job, tmp_path / "run", is_look_at_later, KeyboardInterrupt)

    def listen(event: Event) -> None:
        if not first_step or isinstance(event, StepsTaken):
            raise StoppedError

    result, stopped = run_until_stopped(job, tmp_path / "run", listen, LastLook())
    assert stopped
    assert_first_group_is_that_of(result, whole)
    for name in LATER:
        assert result[name].masks.sum() > 3
    assert not any("stopped before" in note for note in result.notes)
