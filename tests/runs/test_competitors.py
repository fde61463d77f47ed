"""Other methods by the same runner: one folder, one kind of result, several objects."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from fewpoint.core import AreaBound, Box, EpochFinished, PointSet, Result, StageFinished, StageStarted, Words
from fewpoint.core.settings import as_table, override
from fewpoint.errors import InputError, RunConflictError
from fewpoint.evaluation.phantom import make_objects
from fewpoint.io.atomic import read_json
from fewpoint.io.formats import Outputs
from fewpoint.io.runs import RunFolder, load_result
from fewpoint.methods.registry import find_settings, keep_known
from fewpoint.pipeline.task import Task
from fewpoint.runs import runner as run_module
from fewpoint.runs.previous import load_previous
from fewpoint.runs.runner import run_task
from synthetic import TINY_COMPETITORS
from tiny_runs import make_task

PHANTOM = make_objects(4, (48, 48))
METHODS = ["half-disc", "eel"]  # without settings, and with


def settings_of(method: str):
    """As small as tests need them; None for a method without any."""
    settings = find_settings(method)
    for key, value in keep_known(settings, TINY_COMPETITORS):
        settings = override(settings, key, value)
    return settings


def make_competitor_task(method: str, **given) -> Task:
    """Two objects."""
    return Task(PHANTOM.sequence, PHANTOM.points, AreaBound(0.2), settings_of(method), 0, "cpu", **given, method=method)


def run_in(path: Path, task: Task, listener=lambda event: None) -> Result:
    with RunFolder.open(path, task.identity()) as folder:
        return run_task(task, folder, listener)


@pytest.fixture(scope="module", params=METHODS)
def method(request) -> str:
    return request.param


@pytest.fixture(scope="module")
def finished(method, tmp_path_factory) -> tuple[Path, Result]:
    path = tmp_path_factory.mktemp("runs") / "run"
    return path, run_in(path, make_competitor_task(method))


def list_files(path: Path) -> set[str]:
    """What a user finds in a folder."""
    return {each.name for each in path.iterdir() if not each.name.startswith(".")}


def test_each_pixel_belongs_to_one_of_two_objects_and_each_click_to_its_own(finished):
    _, result = finished
    one, other = result.objects
    assert [one.name, other.name] == ["object 1", "object 2"]
    assert one.masks.any() and other.masks.any()
    assert not (one.masks & other.masks).any()
    for each in (one, other):
        assert each.masks[tuple(PHANTOM.points.of_object(each.name).coordinates.T)].all()


def test_pixels_that_both_objects_claim_go_to_the_first_and_the_result_says_so():
    """Every pixel is claimed by both."""
    result = run_task(make_competitor_task("all-positive"))
    clicked = np.zeros(PHANTOM.sequence.shape[:3], bool)
    clicked[tuple(PHANTOM.points.of_object("object 2").coordinates.T)] = True
    np.testing.assert_array_equal(result["object 2"].masks, clicked)
    np.testing.assert_array_equal(result["object 1"].masks, ~clicked)
    assert any("as likely one object as another" in note for note in result.notes)


def test_each_object_is_segmented_with_its_own_points_and_bound():
    small, large = AreaBound(0.02), AreaBound(0.3)
    task = replace(make_competitor_task("half-disc"), bound=small, own_bounds=(("object 2", large),))
    result = run_task(task)
    assert [each.bound for each in result.objects] == [small, large]
    assert result["object 2"].areas.sum() > 3 * result["object 1"].areas.sum()


def test_plain_words_hold_whatever_the_method_finds():
    """Every pixel is claimed by both; an outline settles the first object on frame 1, a box the other on frame 2."""
    drawn = np.zeros((48, 48), bool)
    drawn[tuple(PHANTOM.points.of_object("object 1").coordinates[1, 1:])] = True
    y, x = PHANTOM.points.of_object("object 2").coordinates[2, 1:].tolist()
    words = {"object 1": Words.of({1: drawn}), "object 2": Words(boxes=(Box(2, y - 1, x - 1, y + 2, x + 2),))}
    task = make_competitor_task("all-positive", words=tuple(words.items()))
    one, other = (each.masks for each in run_task(task).objects)
    np.testing.assert_array_equal(one[1], drawn)
    np.testing.assert_array_equal(other[1], ~drawn)
    assert other[2].any() and other[2].sum() == other[2, y - 1 : y + 2, x - 1 : x + 2].sum()


def test_the_folder_holds_the_files_of_a_run_of_the_default_method_but_for_networks(finished, tmp_path):
    path, _ = finished
    own = Task(PHANTOM.sequence, PHANTOM.points, AreaBound(0.2), make_task().settings, 0, "cpu")
    run_in(tmp_path / "own", own)
    assert list_files(path) == list_files(tmp_path / "own") - {"model.npz"}
    manifests = [read_json(each / "manifest.json") for each in (path, tmp_path / "own")]
    assert manifests[0].keys() == manifests[1].keys()
    assert manifests[0]["result"].keys() == manifests[1]["result"].keys()


def test_the_manifest_names_the_method_and_the_settings_that_were_asked_for(finished, method):
    manifest = read_json(finished[0] / "manifest.json")
    settings = settings_of(method)
    assert manifest["identity"]["method"] == method
    assert manifest["settings"] == ({} if settings is None else as_table(settings))
    assert (manifest["state"], manifest["groups"]) == ("finished", {})


def test_a_result_read_back_is_the_result(finished):
    path, result = finished
    again = load_result(path)
    np.testing.assert_array_equal(again.labels.values, result.labels.values)
    for own, same in zip(again.objects, result.objects, strict=True):
        assert (own.label, own.bound) == (same.label, same.bound)
        # Files hold 16 bits of a probability.
        np.testing.assert_array_equal(own.probabilities.values, same.probabilities.values.astype(np.float16))


def test_a_finished_run_is_read_and_written_in_another_format(finished, method, monkeypatch):
    path, result = finished
    monkeypatch.setattr(run_module, "build_competitor", None)
    again = run_in(path, make_competitor_task(method, outputs=Outputs.of(["coco"])))
    np.testing.assert_array_equal(again.labels.values, result.labels.values)
    assert len(read_json(path / "masks.json")["categories"]) == 2


def test_one_stage_is_told(method):
    told = []
    run_task(make_competitor_task(method), listener=told.append)
    stages = [type(event) for event in told if isinstance(event, StageStarted | StageFinished)]
    assert stages == [StageStarted, StageFinished]
    assert not any(isinstance(event, EpochFinished) for event in told)


def test_a_folder_of_another_method_is_refused(finished, method):
    with pytest.raises(RunConflictError, match=rf"method \({method}, now default\)"):
        RunFolder.open(finished[0], make_task().identity())


def test_only_runs_through_the_pipeline_can_be_refined(finished):
    with pytest.raises(InputError, match="must be a run of fewpoint's own method to be refined"):
        load_previous(finished[0])


def test_a_single_object_without_a_name_is_that_of_the_method_itself(method):
    points = PHANTOM.points.of_object("object 1")
    alone = PointSet.from_rows([tuple(row) for row in points.coordinates.tolist()])
    task = replace(make_competitor_task(method), points=alone)
    own = run_module.build_competitor(method, task.settings, "cpu")
    expected = own.segment(task.sequence, alone, task.bound, seed=0)
    np.testing.assert_array_equal(run_task(task).masks, expected.masks)
