"""A run whose arrays lie in files gives what one in memory gives."""

from dataclasses import replace

import numpy as np
import pytest

from fewpoint.core import AreaBound, paging
from fewpoint.evaluation.phantom import make_objects, make_phantom
from fewpoint.io.formats import Outputs
from fewpoint.io.images import read_sequence
from fewpoint.io.runs import RunFolder, load_result
from fewpoint.methods.registry import OwnSettings
from fewpoint.pipeline.task import Task
from fewpoint.runs.runner import run_task
from fewpoint.superpixels.diffusion import DiffusionSettings
from tiny_runs import TINY, TINY_PAPER
from videos import save_video

QUIET = Outputs(report=False)
SMOOTH = replace(
    TINY,
    diffusion=DiffusionSettings(enabled=True),
    clicks=replace(TINY.clicks, focus=2.0, carry=1),
)


def run_twice(task: Task, folder, monkeypatch) -> tuple:
    """The result of a run in memory, and of one whose arrays all lie in files, in a folder."""
    plain = run_task(replace(task, sequence=replace(task.sequence, frames=np.array(task.sequence.frames))))
    monkeypatch.setattr(paging, "LARGE_BYTES", 1)
    monkeypatch.setattr(paging, "KEPT_BYTES", 1000)
    with RunFolder.open(folder, task.identity()) as run:
        return plain, run_task(task, run)


@pytest.mark.nightly
@pytest.mark.parametrize("settings", [TINY_PAPER, SMOOTH], ids=["paper", "default"])
def test_masks_and_probabilities_of_a_streamed_video_are_those_in_memory(tmp_path, monkeypatch, settings: OwnSettings):
    phantom = make_phantom(n_frames=6, size=(48, 64), channels=3)
    sequence = read_sequence(save_video(tmp_path / "video.mkv", phantom.sequence.frames))
    task = Task(sequence, phantom.points, AreaBound(0.25), settings, device="cpu", outputs=QUIET)
    plain, streamed = run_twice(task, tmp_path / "run", monkeypatch)
    assert isinstance(streamed.masks, np.memmap)
    np.testing.assert_array_equal(streamed.masks, plain.masks)
    np.testing.assert_array_equal(streamed.probabilities.values, plain.probabilities.values)
    stored = load_result(tmp_path / "run")
    np.testing.assert_array_equal(stored.masks, plain.masks)
    np.testing.assert_array_equal(stored.probabilities.values, plain.probabilities.values)
    assert (plain.areas == plain.masks.sum(axis=(1, 2))).all()


@pytest.mark.nightly
def test_a_streamed_run_goes_on_from_its_artefacts(tmp_path, monkeypatch):
    phantom = make_phantom(n_frames=5, size=(40, 48))
    task = Task(phantom.sequence, phantom.points, AreaBound(0.25), SMOOTH, device="cpu", outputs=QUIET)
    plain, _ = run_twice(task, tmp_path / "run", monkeypatch)
    with RunFolder.open(tmp_path / "run", task.identity()) as run:
        np.testing.assert_array_equal(run_task(task, run).masks, plain.masks)


@pytest.mark.nightly
def test_label_maps_of_streamed_objects_are_those_in_memory(tmp_path, monkeypatch):
    phantom = make_objects(5, (48, 48), objects=2)
    task = Task(phantom.sequence, phantom.points, AreaBound(0.2), SMOOTH, device="cpu", outputs=QUIET)
    plain, streamed = run_twice(task, tmp_path / "run", monkeypatch)
    np.testing.assert_array_equal(streamed.labels.values, plain.labels.values)
    np.testing.assert_array_equal(load_result(tmp_path / "run").labels.values, plain.labels.values)
