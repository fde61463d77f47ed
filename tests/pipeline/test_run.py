"""A run from frames to masks: in memory, in a folder, and on inputs that are hard to learn from."""

import re
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from fewpoint import __version__
from fewpoint.core import (
    AreaBound,
    EpochFinished,
    EpochPredicted,
    ImageSequence,
    Message,
    PointSet,
    Segmentation,
    StageFinished,
    StageStarted,
    SuperpixelsReady,
)
from fewpoint.errors import FewpointError, InputError
from fewpoint.evaluation.phantom import make_phantom
from fewpoint.io.atomic import read_json
from fewpoint.io.formats import Outputs
from fewpoint.io.masks import read_masks
from fewpoint.io.runs import RunFolder, load_probabilities
from fewpoint.io.tables import read_history_records, read_priors
from fewpoint.learning import checkpoints
from fewpoint.pipeline import run as run_module
from fewpoint.pipeline import stages
from fewpoint.pipeline.config import as_table, override_from_text
from fewpoint.pipeline.run import run_task, segment
from fewpoint.pipeline.task import Task
from pipeline.tiny_runs import TINY, make_task

STAGES = ["superpixels", "learning", "prediction", "masks", "report"]
SHORT = override_from_text(
    TINY, ["phases.warmup_epochs=1", "phases.estimation_epochs=1", "phases.final_epochs=1", "refinement.rounds=0"]
)


@pytest.fixture(scope="module")
def finished(tmp_path_factory) -> Iterator[tuple[Path, Segmentation, list]]:
    """A finished run folder, its result, and all that was told on the way."""
    path, events = tmp_path_factory.mktemp("runs") / "run", []
    task = make_task()
    with RunFolder.open(path, task.identity()) as folder:
        result = run_task(task, folder, events.append)
    return path, result, events


@pytest.fixture
def no_report(monkeypatch) -> None:
    """Leave the report out: drawing it takes longer than all the rest."""
    monkeypatch.setattr(run_module, "write_report", lambda *given: None)


def looked_at(result: Segmentation) -> list[int]:
    """The epochs after which the network was looked at."""
    return [record.epoch for record in result.history.records if np.isfinite(record.click_probability)]


def run_in(path: Path, task: Task, listener=lambda event: None) -> Segmentation:
    with RunFolder.open(path, task.identity()) as folder:
        return run_task(task, folder, listener)


def test_the_object_is_found(finished):
    # The clicks alone cover a fiftieth of the object; a mask of them would have hardly any recall.
    truth = make_phantom(n_frames=5, size=(40, 48)).truth
    _, result, _ = finished
    assert result.masks.any(axis=(1, 2)).all()
    assert (result.masks & truth).sum() / result.masks.sum() > 2 * truth.mean()


def test_memory_and_folder_give_the_same_result(finished):
    _, kept, _ = finished
    result = run_task(make_task())
    np.testing.assert_array_equal(result.masks, kept.masks)
    np.testing.assert_array_equal(result.probabilities.values, kept.probabilities.values)
    np.testing.assert_array_equal(result.priors.mean, kept.priors.mean)
    assert repr(result.history.records) == repr(kept.history.records)


def test_a_run_without_a_report_leaves_all_the_rest(finished, tmp_path):
    task = replace(make_task(SHORT), outputs=Outputs(report=False))
    with RunFolder.open(tmp_path / "run", task.identity()) as folder:
        run_task(task, folder)
        assert folder.finished
    names = {path.name for path in (tmp_path / "run").iterdir()}
    left = {path.name for path in finished[0].iterdir()} - names
    assert left == {"report.html", "overlay.png"}


def test_another_seed_gives_other_probabilities(finished):
    result = run_task(make_task(SHORT, seed=1))
    assert not np.array_equal(result.probabilities.values, run_task(make_task(SHORT, seed=2)).probabilities.values)


def test_every_file_of_a_finished_folder(finished):
    path, result, _ = finished
    masks = sorted((path / "masks").iterdir())
    assert [file.name for file in masks] == [f"{index:04d}.png" for index in range(5)]
    for file, mask in zip(masks, result.masks, strict=True):
        with Image.open(file) as image:
            assert image.size == (48, 40)
            assert set(np.unique(image).tolist()) <= {0, 255}
            np.testing.assert_array_equal(np.asarray(image) == 255, mask)
    np.testing.assert_array_equal(read_masks(path), result.masks)
    np.testing.assert_array_equal(load_probabilities(path).values, result.probabilities.values)
    np.testing.assert_array_equal(read_priors(path / "priors.csv").mean, result.priors.mean)
    assert repr(read_history_records(path / "history.csv")) == repr(result.history.records)
    with Image.open(path / "overlay.png") as overlay:
        assert overlay.format == "PNG"
        assert min(overlay.size) >= 40
    page = (path / "report.html").read_text(encoding="utf-8")
    assert page.lower().startswith("<!doctype html")
    assert __version__ in page
    assert not list(path.rglob("*.partial"))


def test_the_manifest_says_what_was_run_on_what_and_what_came_of_it(finished):
    path, result, _ = finished
    manifest = read_json(path / "manifest.json")
    task = make_task()
    assert manifest["state"] == "finished"
    assert manifest["identity"] == vars(task.identity())
    assert manifest["identity"]["version"] == __version__
    assert manifest["identity"]["seed"] == 0
    assert all(re.fullmatch("[0-9a-f]{64}", manifest["identity"][part]) for part in ("sequence", "points", "settings"))
    assert manifest["settings"] == as_table(TINY)
    assert manifest["device"].startswith("cpu")
    assert list(manifest["seconds"]) == STAGES
    assert all(seconds > 0 for seconds in manifest["seconds"].values())
    assert manifest["result"]["frames"] == 5
    assert manifest["result"]["mean_share"] == pytest.approx(result.masks.mean())
    assert manifest["result"]["epochs"] == len(result.history)


def test_stages_are_told_in_order_and_epochs_within_learning(finished):
    _, result, events = finished
    told = [event for event in events if isinstance(event, StageStarted | StageFinished)]
    assert [event.stage for event in told] == [stage for stage in STAGES for _ in range(2)]
    assert not any(event.reused for event in told if isinstance(event, StageFinished))
    epochs = [event.record for event in events if isinstance(event, EpochFinished)]
    assert repr(tuple(epochs)) == repr(result.history.records)


def test_superpixels_are_told_once_and_fit_what_each_epoch_predicts(finished):
    path, result, events = finished
    (told,) = [event.superpixels for event in events if isinstance(event, SuperpixelsReady)]
    np.testing.assert_array_equal(told.labels, np.load(path / "stages" / "superpixels.npz")["labels"])
    predicted = [event for event in events if isinstance(event, EpochPredicted)]
    assert [event.epoch for event in predicted] == looked_at(result)
    assert {event.probabilities.shape for event in predicted} == {(5, told.counts.max())}
    assert {event.probabilities.dtype for event in predicted} == {np.dtype(np.float16)}


def test_a_finished_folder_is_read_not_computed_and_left_untouched(finished, monkeypatch):
    path, result, _ = finished
    before = {file: (file.read_bytes(), file.stat().st_mtime_ns) for file in path.rglob("*.*") if file.is_file()}
    for name in ("cut_superpixels", "prepare_learning", "enlarge_maps", "choose_masks"):
        monkeypatch.setattr(stages, name, None)
    events = []
    again = run_in(path, make_task(), events.append)
    np.testing.assert_array_equal(again.masks, result.masks)
    assert repr(again.history.records) == repr(result.history.records)
    np.testing.assert_array_equal(again.priors.deviation, result.priors.deviation)
    assert all(event.reused for event in events if isinstance(event, StageFinished))
    assert not any(isinstance(event, EpochFinished) for event in events)
    results = [file for file in before if "stages" not in file.parts and file.name != ".lock"]
    assert {file: (file.read_bytes(), file.stat().st_mtime_ns) for file in results} == {
        file: before[file] for file in results
    }


def test_an_interrupt_during_training_leaves_a_folder_that_goes_on(finished, tmp_path, no_report, monkeypatch):
    _, whole, _ = finished
    monkeypatch.setattr(checkpoints, "LEAST_SECONDS", 0)

    def interrupt(event) -> None:
        if isinstance(event, EpochFinished) and event.record.epoch == 4:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        run_in(tmp_path / "run", make_task(), interrupt)
    assert read_json(tmp_path / "run" / "manifest.json")["state"] == "running"
    events = []
    resumed = run_in(tmp_path / "run", make_task(), events.append)
    epochs = [event.record.epoch for event in events if isinstance(event, EpochFinished)]
    assert epochs == list(range(4, len(whole.history) + 1))
    predicted = [event.epoch for event in events if isinstance(event, EpochPredicted)]
    assert predicted == [epoch for epoch in looked_at(whole) if epoch >= 4]
    assert len(predicted) < len(epochs)  # not every epoch of the further round
    assert sum(isinstance(event, SuperpixelsReady) for event in events) == 1
    reused = {event.stage: event.reused for event in events if isinstance(event, StageFinished)}
    assert reused == {stage: stage == "superpixels" for stage in STAGES}
    np.testing.assert_array_equal(resumed.masks, whole.masks)
    assert repr(resumed.history.records) == repr(whole.history.records)


def test_the_bound_is_estimated_and_told_where_none_is_given():
    events = []
    result = run_task(replace(make_task(SHORT), bound=None), listener=events.append)
    assert next(event.text for event in events if isinstance(event, Message)) == f"bound: {result.bound.origin}"
    assert result.bound.origin.startswith("estimated")


@pytest.mark.parametrize("tracking", ["true", "false"])
def test_absent_frames_have_empty_masks_zero_probability_and_prior(tracking):
    settings = override_from_text(
        TINY, [f"tracking.enabled={tracking}", "phases.warmup_epochs=12", "refinement.rounds=0"]
    )
    result = run_task(make_task(settings, absent=(1, 4)))
    shown = result.masks.any(axis=(1, 2))
    assert not shown[[1, 4]].any()
    assert shown[[0, 2, 3]].any()
    assert (result.probabilities.values[[1, 4]] == 0).all()
    assert (result.priors.mean[[1, 4]] == 0).all()
    assert (result.priors.deviation[[1, 4]] == 0).all()
    assert (result.history.priors[:, [1, 4]] == 0).all()


@pytest.mark.parametrize("assignments", [[], ["phases.estimation_epochs=0"], ["training.statistics=running"]])
@pytest.mark.parametrize("shape", [(3, 40, 40, 1), (1, 24, 33, 3), (2, 16, 16, 2)])
def test_frames_of_one_colour_give_masks_without_a_crash(assignments, shape):
    flat = ImageSequence.from_array(np.full(shape, 7, np.uint8))
    task = Task(flat, PointSet.from_rows([(0, 9, 9)]), None, override_from_text(SHORT, assignments), device="cpu")
    result = run_task(task)
    assert result.masks.shape == shape[:3]
    assert np.isfinite(result.probabilities.values).all()


@pytest.mark.parametrize(
    ("n_frames", "size", "assignments"),
    [
        (1, (40, 48), []),
        (1, (16, 16), ["network.levels=5"]),
        (17, (16, 16), ["network.levels=5", "training.batch=1"]),
        (2, (200, 20), ["training.max_side=16", "superpixels.count=400"]),
        (3, (30, 30), ["network.norm=group", "training.batch=1"]),
        (2, (30, 30), ["superpixels.count=1"]),
    ],
)
def test_sequences_of_any_length_and_size_are_segmented(n_frames, size, assignments):
    phantom = make_phantom(n_frames, size)
    settings = override_from_text(SHORT, assignments)
    result = run_task(Task(phantom.sequence, phantom.points, None, settings, device="cpu"))
    assert result.masks.shape == (n_frames, *size)
    assert len(result.priors.mean) == n_frames
    assert len(result.history) == 3


def test_a_run_that_diverges_says_so_and_keeps_its_folder(tmp_path, monkeypatch):
    monkeypatch.setattr(checkpoints, "LEAST_SECONDS", 0)
    task = make_task(override_from_text(SHORT, ["phases.estimation_rate=1e30"]))
    with pytest.raises(FewpointError, match=r"diverged in epoch 2.*phases.estimation_rate"):
        run_in(tmp_path / "run", task)
    assert (tmp_path / "run" / "stages" / "checkpoint.pt").exists()
    assert read_json(tmp_path / "run" / "manifest.json")["state"] == "running"


def test_a_bound_too_small_for_the_clicks_is_refused_before_learning():
    events = []
    with pytest.raises(InputError, match="larger --max-fraction"):
        run_task(replace(make_task(), bound=AreaBound(0.001)), listener=events.append)
    assert [event.stage for event in events if isinstance(event, StageStarted)] == ["superpixels"]


@pytest.mark.parametrize("bound", [0.25, np.float32(0.25), AreaBound(0.25)])
def test_segment_takes_a_bound_as_a_number_or_as_itself(bound, monkeypatch):
    tasks = []
    monkeypatch.setattr(run_module, "run_task", lambda task, listener: tasks.append(task))
    given = make_task()
    segment(given.sequence, given.points, bound, settings=TINY, seed=3)
    assert tasks[0].bound == AreaBound(0.25)
    assert (tasks[0].settings, tasks[0].seed) == (TINY, 3)


def test_segment_takes_a_preset_by_name_and_estimates_a_missing_bound(monkeypatch):
    tasks = []
    monkeypatch.setattr(run_module, "run_task", lambda task, listener: tasks.append(task))
    given = make_task()
    segment(given.sequence, given.points, settings="paper")
    assert (tasks[0].bound, tasks[0].settings.network.base_width) == (None, 32)
