"""A run that is to stop does so within its present step: reading, cutting, learning, predicting, choosing masks."""

from dataclasses import replace

import numpy as np
import pytest

from fewpoint.core import EpochFinished, StageFinished, StageStarted
from fewpoint.core.job import EVERY, GivenBound, Job, OutputChoice, PlainPoints
from fewpoint.core.progress import Event, StageProgress, StepsTaken, WorkGoesOn
from fewpoint.evaluation.phantom import make_objects
from fewpoint.io.jobs import read_changes
from fewpoint.io.runs import load_result
from fewpoint.learning import checkpoints
from fewpoint.runs.jobs import StoppedError, run_job, run_until_stopped
from fewpoint.runs.partial import LastLook
from synthetic import save_settings
from tiny_runs import TINY

MOMENTS = (WorkGoesOn, StageProgress, StepsTaken, EpochFinished)  # at which the page's runs may stop
PHANTOM = make_objects(n_frames=4, size=(48, 40))


@pytest.fixture
def job(tmp_path) -> Job:
    np.save(tmp_path / "frames.npy", PHANTOM.sequence.frames)
    return Job(
        input=str(tmp_path / "frames.npy"),
        points=PlainPoints.of(PHANTOM.points),
        bounds=((EVERY, GivenBound(0.4)),),
        changes=read_changes(save_settings(TINY, tmp_path / "tiny.toml")),
        device="cpu",
        outputs=OutputChoice(report=False),
    )


@pytest.mark.parametrize("stage", ["superpixels", "learning", "prediction", "masks"])
def test_a_stop_in_a_stage_ends_the_run_before_the_stage_is_over(job, tmp_path, stage):
    told = []

    def stop(event: Event) -> None:
        told.append(event)
        if StageStarted(stage) in [replace(each, steps=0) for each in told if isinstance(each, StageStarted)]:
            assert not isinstance(event, StageFinished)
            if isinstance(event, MOMENTS):
                raise StoppedError

    result, stopped = run_until_stopped(job, tmp_path / "run", stop, LastLook())
    assert stopped
    assert (result is None) == (stage in ("superpixels", "learning"))  # nothing had been seen by then


def test_a_stop_while_files_are_read_ends_the_run_before_its_folder_is_made(job, tmp_path):
    def stop(event: Event) -> None:
        raise StoppedError

    assert run_until_stopped(job, tmp_path / "run", stop, LastLook()) == (None, True)
    assert not (tmp_path / "run").exists()


def test_what_an_earlier_start_saw_is_kept_by_a_stop_while_files_are_read(job, tmp_path, monkeypatch):
    monkeypatch.setattr(checkpoints, "LEAST_SECONDS", 0)
    look = LastLook()

    def kill(event: Event) -> None:
        if look.saw_something and isinstance(event, EpochFinished):
            raise KeyboardInterrupt

    def stop(event: Event) -> None:
        raise StoppedError

    with pytest.raises(KeyboardInterrupt):
        run_until_stopped(job, tmp_path / "run", kill, look)
    result, stopped = run_until_stopped(job, tmp_path / "run", stop, LastLook())
    assert stopped and all(each.masks.any() for each in result.objects)
    np.testing.assert_array_equal(load_result(tmp_path / "run").labels.values, result.labels.values)


def test_work_between_stages_asks_too(job, tmp_path):
    """Where points are followed and links between superpixels found."""
    asked, open_stages = [], []

    def listen(event: Event) -> None:
        if isinstance(event, StageStarted):
            open_stages.append(event.stage)
        elif isinstance(event, StageFinished):
            open_stages.pop()
        elif isinstance(event, WorkGoesOn) and not open_stages:
            asked.append(event)

    run_job(job, tmp_path / "run", listen)
    assert asked
