"""A run from frames to masks: in memory, in a folder, and on inputs that are hard to learn from."""

import re
import shutil
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from fewpoint import __version__
from fewpoint.api.segmenting import segment
from fewpoint.core import (
    AreaBound,
    EpochFinished,
    EpochPredicted,
    ImageSequence,
    Message,
    PointSet,
    Result,
    StageFinished,
    StageStarted,
    SuperpixelsReady,
)
from fewpoint.core.settings import as_table, override_from_text
from fewpoint.errors import FewpointError, InputError
from fewpoint.evaluation.phantom import make_objects, make_phantom
from fewpoint.io.atomic import read_json
from fewpoint.io.formats import Outputs
from fewpoint.io.masks import read_masks
from fewpoint.io.runs import RunFolder, load_result
from fewpoint.io.tables import read_history_records, read_priors
from fewpoint.learning import checkpoints
from fewpoint.pipeline import group, stages
from fewpoint.pipeline.task import Task
from fewpoint.runs import runner as run_module
from fewpoint.runs.previous import load_previous
from fewpoint.runs.runner import run_task
from tiny_runs import METHODS, TINY, TINY_PAPER, make_task

STAGES = ["superpixels", "learning", "prediction", "masks", "report"]
SHORT = override_from_text(TINY, ["warmup.epochs=1", "rounds.round_epochs=1"])
SHORT_PAPER = override_from_text(
    TINY_PAPER, ["phases.warmup_epochs=1", "phases.estimation_epochs=1", "phases.final_epochs=1"]
)
EPOCHS = {"default": 2, "paper": 3}  # of these two
BOTH = pytest.mark.parametrize("short", [SHORT, SHORT_PAPER], ids=["default", "paper"])


@dataclass(frozen=True, eq=False)
class Finished:
    """A finished run: what was asked, its folder, its result, and all that was told on the way."""

    task: Task
    path: Path
    result: Result
    events: list


@pytest.fixture(scope="module", params=METHODS)
def finished(request, tmp_path_factory) -> Finished:
    path, events = tmp_path_factory.mktemp("runs") / "run", []
    task = make_task(METHODS[request.param])
    with RunFolder.open(path, task.identity()) as folder:
        result = run_task(task, folder, events.append)
    return Finished(task, path, result, events)


@pytest.fixture
def no_report(monkeypatch) -> None:
    """Leave the report out: drawing it takes longer than all the rest."""
    monkeypatch.setattr(run_module, "write_report", lambda *given: None)


def looked_at(result: Result) -> list[int]:
    """The epochs after which the network was looked at."""
    return [record.epoch for record in result.history.records if np.isfinite(record.click_probability)]


def run_in(path: Path, task: Task, listener=lambda event: None) -> Result:
    with RunFolder.open(path, task.identity()) as folder:
        return run_task(task, folder, listener)


def test_the_object_is_found(finished):
    # The clicks alone cover a fiftieth of the object; a mask of them would have hardly any recall.
    truth = make_phantom(n_frames=5, size=(40, 48)).truth
    result = finished.result
    assert result.masks.any(axis=(1, 2)).all()
    assert (result.masks & truth).sum() / result.masks.sum() > 2 * truth.mean()


def test_memory_and_folder_give_the_same_result(finished):
    kept, result = finished.result, run_task(finished.task)
    np.testing.assert_array_equal(result.masks, kept.masks)
    np.testing.assert_array_equal(result.probabilities.values, kept.probabilities.values)
    np.testing.assert_array_equal(result.priors.mean, kept.priors.mean)
    assert repr(result.history.records) == repr(kept.history.records)


def test_masks_are_judged_once_the_report_is_announced_and_before_the_run_counts_as_finished(
    tmp_path, monkeypatch, no_report
):
    events, examine, seen = [], run_module.examine, []

    def judge(task: Task, result: Result) -> object:
        stages = [event.stage for event in events if isinstance(event, StageStarted)]
        seen.append((stages, read_json(tmp_path / "run" / "manifest.json")["state"]))
        return examine(task, result)

    monkeypatch.setattr(run_module, "examine", judge)
    run_in(tmp_path / "run", make_task(SHORT), events.append)
    assert seen == [(STAGES, "running")]
    assert read_json(tmp_path / "run" / "summary.json")["health"]["score"] >= 0


def test_a_run_without_a_report_leaves_all_the_rest(finished, tmp_path):
    task = replace(make_task(SHORT), outputs=Outputs(report=False))
    with RunFolder.open(tmp_path / "run", task.identity()) as folder:
        run_task(task, folder)
        assert folder.finished
    names = {path.name for path in (tmp_path / "run").iterdir()}
    left = {path.name for path in finished.path.iterdir()} - names
    assert left == {"report.html", "overlay.png"}


@BOTH
def test_another_seed_gives_other_probabilities(short):
    one, other = (run_task(make_task(short, seed=seed)).probabilities.values for seed in (1, 2))
    assert not np.array_equal(one, other)


def test_every_file_of_a_finished_folder(finished):
    path, result = finished.path, finished.result
    masks = sorted((path / "masks").iterdir())
    assert [file.name for file in masks] == [f"{index:04d}.png" for index in range(5)]
    for file, mask in zip(masks, result.masks, strict=True):
        with Image.open(file) as image:
            assert image.size == (48, 40)
            assert set(np.unique(image).tolist()) <= {0, 255}
            np.testing.assert_array_equal(np.asarray(image) == 255, mask)
    np.testing.assert_array_equal(read_masks(path), result.masks)
    np.testing.assert_array_equal(load_result(path).probabilities.values, result.probabilities.values)
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
    path, result = finished.path, finished.result
    manifest = read_json(path / "manifest.json")
    assert manifest["state"] == "finished"
    assert manifest["identity"] == vars(finished.task.identity())
    assert manifest["identity"]["method"] == finished.task.settings.method
    assert manifest["identity"]["version"] == __version__
    assert manifest["identity"]["seed"] == 0
    assert all(re.fullmatch("[0-9a-f]{64}", manifest["identity"][part]) for part in ("sequence", "points", "settings"))
    assert manifest["settings"] == as_table(finished.task.settings)
    assert manifest["device"].startswith("cpu")
    assert list(manifest["seconds"]) == ["preparing", *STAGES]
    assert all(seconds > 0 for seconds in manifest["seconds"].values())
    assert manifest["result"]["frames"] == 5
    assert manifest["result"]["mean_share"] == pytest.approx(result.masks.mean())
    assert manifest["result"]["epochs"] == len(result.history)


def test_stages_are_told_in_order_and_epochs_within_learning(finished):
    result, events = finished.result, finished.events
    told = [event for event in events if isinstance(event, StageStarted | StageFinished)]
    assert [event.stage for event in told] == [stage for stage in STAGES for _ in range(2)]
    assert not any(event.reused for event in told if isinstance(event, StageFinished))
    epochs = [event.record for event in events if isinstance(event, EpochFinished)]
    assert repr(tuple(epochs)) == repr(result.history.records)


def test_superpixels_are_told_once_and_fit_what_each_epoch_predicts(finished):
    path, result, events = finished.path, finished.result, finished.events
    (told,) = [event.superpixels for event in events if isinstance(event, SuperpixelsReady)]
    np.testing.assert_array_equal(told.labels, np.load(path / "stages" / "superpixels.npz")["labels"])
    predicted = [event for event in events if isinstance(event, EpochPredicted)]
    assert [event.epoch for event in predicted] == looked_at(result)
    assert {event.probabilities.shape for event in predicted} == {(5, told.counts.max())}
    assert {event.probabilities.dtype for event in predicted} == {np.dtype(np.float16)}


def test_a_finished_folder_is_read_not_computed_and_left_untouched(finished, monkeypatch):
    path, result = finished.path, finished.result
    before = {file: (file.read_bytes(), file.stat().st_mtime_ns) for file in path.rglob("*.*") if file.is_file()}
    for name in ("cut_superpixels", "prepare_learning", "enlarge_maps"):
        monkeypatch.setattr(stages, name, None)
    monkeypatch.setattr(group, "choose_labels", None)
    events = []
    again = run_in(path, finished.task, events.append)
    np.testing.assert_array_equal(again.masks, result.masks)
    np.testing.assert_array_equal(again.probabilities.values, result.probabilities.values)
    np.testing.assert_array_equal(again.priors.deviation, result.priors.deviation)
    assert events == [Message("already finished, nothing to do")]
    results = [file for file in before if "stages" not in file.parts and file.name != ".lock"]
    assert {file: (file.read_bytes(), file.stat().st_mtime_ns) for file in results} == {
        file: before[file] for file in results
    }


def test_a_finished_run_without_its_stages_is_not_trained_again_for_another_format(finished, tmp_path, monkeypatch):
    path = tmp_path / "run"
    shutil.copytree(finished.path, path)
    shutil.rmtree(path / "stages")
    monkeypatch.setattr(stages, "prepare_learning", None)
    events = []
    again = run_in(path, replace(finished.task, outputs=Outputs.of(["coco"])), events.append)
    np.testing.assert_array_equal(again.masks, finished.result.masks)
    assert not any(isinstance(event, StageStarted | EpochFinished) for event in events)
    pictures = read_json(path / "masks.json")["images"]
    assert len(pictures) == len(finished.task.sequence)
    assert (path / "masks" / "0000.png").exists()  # what was there stays


def test_what_a_run_finds_out_stands_in_its_plan_and_never_in_its_settings(tmp_path):
    """Two objects, one of them with sparse clicks: all that a plan is adapted to."""
    settings = override_from_text(
        TINY, ["warmup.epochs=4", "rounds.sparse_rounds=2", "clicks.focus=1", "training.max_side=64"]
    )
    phantom = make_objects(5, (64, 64))
    placed = zip(map(tuple, phantom.points.coordinates.tolist()), phantom.points.objects, strict=True)
    rows, names = zip(*((row, name) for row, name in placed if name == "object 1" or row[0] in (0, 4)), strict=True)
    points = PointSet.from_rows(list(rows), objects=names)
    task = Task(phantom.sequence, points, None, settings, 0, "cpu", Outputs(report=False))
    run_in(tmp_path / "run", task)
    manifest = read_json(tmp_path / "run" / "manifest.json")
    assert manifest["settings"] == as_table(settings)
    assert manifest["identity"] == vars(task.identity())
    (used,) = (entry["plan"] for entry in manifest["groups"].values())
    assert (settings.rounds.rounds, used["rounds"]["rounds"]) == (1, 2)
    assert used["superpixels"]["count"] > settings.superpixels.count
    assert load_previous(tmp_path / "run").settings == settings


def test_an_interrupt_during_training_leaves_a_folder_that_goes_on(finished, tmp_path, no_report, monkeypatch):
    task, whole = finished.task, finished.result
    monkeypatch.setattr(checkpoints, "LEAST_SECONDS", 0)

    def interrupt(event) -> None:
        if isinstance(event, EpochFinished) and event.record.epoch == 3:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        run_in(tmp_path / "run", task, interrupt)
    assert read_json(tmp_path / "run" / "manifest.json")["state"] == "running"
    events = []
    resumed = run_in(tmp_path / "run", task, events.append)
    epochs = [event.record.epoch for event in events if isinstance(event, EpochFinished)]
    assert epochs == list(range(3, len(whole.history) + 1))
    predicted = [event.epoch for event in events if isinstance(event, EpochPredicted)]
    assert predicted == [epoch for epoch in looked_at(whole) if epoch >= 3]
    assert len(predicted) < len(epochs)  # not every epoch but those of an estimation
    assert sum(isinstance(event, SuperpixelsReady) for event in events) == 1
    reused = {event.stage: event.reused for event in events if isinstance(event, StageFinished)}
    assert reused == {stage: stage == "superpixels" for stage in STAGES}
    np.testing.assert_array_equal(resumed.masks, whole.masks)
    assert repr(resumed.history.records) == repr(whole.history.records)


def test_the_bound_is_estimated_and_told_where_none_is_given():
    events = []
    result = run_task(replace(make_task(SHORT), bound=None), listener=events.append)
    assert next(event.text for event in events if isinstance(event, Message)) == f"size limit: {result.bound.origin}"
    assert result.bound.origin.startswith("estimated")


@pytest.mark.parametrize(
    "settings",
    [
        override_from_text(TINY_PAPER, ["phases.warmup_epochs=12"]),
        override_from_text(TINY_PAPER, ["phases.warmup_epochs=12", "tracking.enabled=false"]),
        override_from_text(TINY, ["warmup.epochs=12"]),
    ],
    ids=["paper", "paper without tracking", "default"],
)
def test_absent_frames_have_empty_masks_zero_probability_and_prior(settings):
    result = run_task(make_task(settings, absent=(1, 4)))
    shown = result.masks.any(axis=(1, 2))
    assert not shown[[1, 4]].any()
    assert shown[[0, 2, 3]].any()
    assert (result.probabilities.values[[1, 4]] == 0).all()
    assert (result.priors.mean[[1, 4]] == 0).all()
    assert (result.priors.deviation[[1, 4]] == 0).all()
    assert (result.history.priors[:, [1, 4]] == 0).all()


@pytest.mark.parametrize("assignments", [[], ["training.statistics=running"]])
@pytest.mark.parametrize("shape", [(3, 40, 40, 1), (1, 24, 33, 3), (2, 16, 16, 2)])
@BOTH
def test_frames_of_one_colour_give_masks_without_a_crash(short, assignments, shape):
    flat = ImageSequence.from_array(np.full(shape, 7, np.uint8))
    task = Task(flat, PointSet.from_rows([(0, 9, 9)]), None, override_from_text(short, assignments), device="cpu")
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
@BOTH
def test_sequences_of_any_length_and_size_are_segmented(short, n_frames, size, assignments):
    phantom = make_phantom(n_frames, size)
    settings = override_from_text(short, assignments)
    result = run_task(Task(phantom.sequence, phantom.points, None, settings, device="cpu"))
    assert result.masks.shape == (n_frames, *size)
    assert len(result.priors.mean) == n_frames
    assert len(result.history) == EPOCHS[short.method]


def test_a_run_that_diverges_says_so_and_keeps_its_folder(tmp_path, monkeypatch):
    monkeypatch.setattr(checkpoints, "LEAST_SECONDS", 0)
    task = make_task(override_from_text(SHORT_PAPER, ["phases.estimation_rate=1e30"]))
    with pytest.raises(FewpointError, match=r"diverged in epoch 2.*lower the learning rate"):
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
