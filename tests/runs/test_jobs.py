"""Jobs read and run."""

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from fewpoint.core import EpochFinished
from fewpoint.core.job import EVERY, GivenBound, Job, OutputChoice, PlainPoints
from fewpoint.errors import FewpointError, InputError
from fewpoint.evaluation.phantom import make_objects
from fewpoint.io.jobs import read_changes
from fewpoint.runs.jobs import StoppedError, read_job, run_job, run_until_stopped
from fewpoint.runs.partial import LastLook
from synthetic import TINY, save_settings

SIZE = (48, 40)
PHANTOM = make_objects(n_frames=4, size=SIZE)


@pytest.fixture
def job(tmp_path) -> Job:
    """Two objects, of which one has a bound of its own."""
    np.save(tmp_path / "frames.npy", PHANTOM.sequence.frames)
    return Job(
        input=str(tmp_path / "frames.npy"),
        points=PlainPoints.of(PHANTOM.points),
        bounds=((EVERY, GivenBound(0.4)), ("object 2", GivenBound(box=(1, 2, 3, 30, 38)))),
        preset="paper",
        changes=read_changes(save_settings(TINY, tmp_path / "tiny.toml")),
        seed=3,
        device="cpu",
        outputs=OutputChoice(report=False),
    )


def test_a_task_is_what_the_job_says(job):
    task = read_job(job)
    assert task.bound.fraction == 0.4
    assert [(name, bound.fraction) for name, bound in task.own_bounds] == [("object 2", 28 * 35 / (48 * 40))]
    assert (task.settings, task.seed, task.device) == (TINY, 3, "cpu")
    assert not task.outputs.report


def test_frames_in_memory_are_given_with_the_job(job):
    task = read_job(replace(job, input=""), PHANTOM.sequence)
    assert task.sequence is PHANTOM.sequence
    with pytest.raises(InputError, match="must name its input"):
        read_job(replace(job, input=""))


def test_another_method_is_a_task_without_a_plan(job):
    task = read_job(replace(job, method="half-disc", preset=None, changes=()))
    assert (task.method, task.settings, task.uses_pipeline) == ("half-disc", None, False)


def test_the_run_to_be_refined_brings_its_settings_and_must_be_of_the_same_frames(job, tmp_path):
    run_job(job, tmp_path / "first")
    again = replace(job, preset=None, changes=(), refine=str(tmp_path / "first"))
    task = read_job(again)
    assert task.previous is not None and task.settings.training == TINY.training
    np.save(tmp_path / "other.npy", PHANTOM.sequence.frames[:, ::-1])
    with pytest.raises(InputError, match="only be refined on its own frames"):
        read_job(replace(again, input=str(tmp_path / "other.npy")))


def test_a_run_that_is_stopped_ends_with_what_was_last_seen(job, tmp_path):
    look = LastLook()

    def stop(event) -> None:
        if isinstance(event, EpochFinished) and look.saw_something:
            raise StoppedError

    result, stopped = run_until_stopped(job, tmp_path / "out", stop, look)
    assert stopped and result is not None
    assert all(each.masks.any() for each in result.objects)
    assert json.loads((tmp_path / "out" / "manifest.json").read_text())["stopped_after_epoch"] >= 1


def test_a_run_that_is_stopped_at_once_has_no_result(job, tmp_path):
    def stop(event) -> None:
        raise StoppedError

    assert run_until_stopped(job, tmp_path / "out", stop, LastLook()) == (None, True)
    assert not issubclass(StoppedError, FewpointError)


def test_a_run_that_nobody_stops_is_that_of_run_job(job, tmp_path):
    result, stopped = run_until_stopped(job, tmp_path / "out", lambda event: None, LastLook())
    other = run_job(job, Path(tmp_path / "other"))
    assert not stopped
    for one, two in zip(result.objects, other.objects, strict=True):
        np.testing.assert_array_equal(one.masks, two.masks)
