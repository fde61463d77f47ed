"""Objects that lie far apart learn in groups, one after another, in one run."""

from dataclasses import replace

import numpy as np
import pytest

from fewpoint.core import (
    AreaBound,
    EpochFinished,
    ImageSequence,
    Message,
    ObjectResult,
    PointSet,
    PriorEstimate,
    PriorHistory,
    ProbabilityMaps,
    StepsTaken,
)
from fewpoint.core.settings import override_from_text
from fewpoint.io.atomic import read_json
from fewpoint.io.formats import Outputs
from fewpoint.io.runs import load_result
from fewpoint.pipeline.groups import group_objects
from fewpoint.pipeline.task import Task
from fewpoint.runs.exports import join_objects
from fewpoint.runs.runner import run_task
from tiny_runs import TINY, stop_and_go_on

SETTINGS = override_from_text(
    TINY, ["clicks.focus=2", "diffusion.enabled=true", "warmup.epochs=3", "rounds.round_epochs=2"]
)
FRAMES, SIDE = 3, 160
PLACES = {"far": (130, 132), "near": (30, 39), "small": (28, 24)}  # the middle of each object


def make_far_task(settings=SETTINGS, places=PLACES, **given) -> Task:
    """Bright discs in noise, a click on each of them on every frame."""
    frames = np.random.default_rng(0).integers(0, 60, (FRAMES, SIDE, SIDE)).astype(np.uint8)
    rows, columns = np.indices((SIDE, SIDE))
    for number, (y, x) in enumerate(places.values()):
        frames[:, np.hypot(rows - y, columns - x) < 8] += 80 + 50 * number
    clicks = [((frame, *place), name) for frame in range(FRAMES) for name, place in places.items()]
    points = PointSet.from_rows([row for row, _ in clicks], [], [name for _, name in clicks])
    outputs = Outputs(report=False)
    return Task(ImageSequence.from_array(frames), points, AreaBound(0.01), settings, 0, "cpu", outputs, **given)


@pytest.fixture(scope="module")
def whole():
    return run_task(make_far_task())


def test_objects_close_together_are_one_group_and_a_distant_one_another():
    assert group_objects(make_far_task()) == (("far",), ("near", "small"))


def test_objects_are_not_parted_where_the_frames_are_not_reduced():
    fine = override_from_text(SETTINGS, [f"training.max_side={SIDE}"])
    assert group_objects(make_far_task(fine)) == (("far", "near", "small"),)


def test_whole_frames_are_one_group():
    assert len(group_objects(make_far_task(override_from_text(SETTINGS, ["clicks.focus=0"])))) == 1


def test_an_object_in_between_does_not_chain_distant_ones_together():
    places = {"a": (20, 20), "b": (20, 50), "c": (20, 80), "d": (20, 110)}
    groups = group_objects(make_far_task(places=places))
    assert len(groups) > 1
    assert sorted(sum(groups, ())) == ["a", "b", "c", "d"]


def test_masks_of_all_groups_share_no_pixel_and_hold_their_clicks(whole):
    points = make_far_task().points
    assert [label.name for label in whole.objects] == ["far", "near", "small"]
    for name in PLACES:
        assert whole[name].masks[tuple(points.of_object(name).coordinates.T)].all()
    assert "train in 2 groups: far; near, small" in whole.notes[0]


def test_a_group_of_one_is_that_objects_own_run(whole):
    task = make_far_task()
    alone = run_task(task.of_object("far"))
    np.testing.assert_array_equal(whole["far"].probabilities.values, alone.probabilities.values)
    assert not (whole["far"].masks & ~alone.masks).any()


@pytest.mark.nightly
@pytest.mark.parametrize("stop", [2, 9])
def test_a_run_stopped_in_any_group_goes_on_to_the_same_result(tmp_path, whole, stop):
    result = stop_and_go_on(make_far_task(), tmp_path / "run", stop)
    np.testing.assert_array_equal(result.labels.values, whole.labels.values)
    np.testing.assert_array_equal(load_result(tmp_path / "run").labels.values, whole.labels.values)
    manifest = read_json(tmp_path / "run" / "manifest.json")
    assert manifest["state"] == "finished"
    assert [entry["objects"] for entry in manifest["groups"].values()] == [["far"], ["near", "small"]]
    assert all("plan" in entry for entry in manifest["groups"].values())


def test_epochs_of_all_groups_are_told_as_one_course():
    told = []
    run_task(make_far_task(), listener=told.append)
    done = [event.epochs_done for event in told if isinstance(event, EpochFinished | StepsTaken)]
    totals = {event.total for event in told if isinstance(event, EpochFinished | StepsTaken)}
    assert done == sorted(done)
    assert len(totals) == 1
    assert totals.pop() / 2 < done[-1]
    assert [event.text for event in told if isinstance(event, Message) and event.text.startswith("group")] == [
        "group 1 of 2: far",
        "group 2 of 2: near, small",
    ]


def make_result(mask: list[int], values: list[float]) -> ObjectResult:
    priors = PriorEstimate(np.zeros(1), np.zeros(1), np.zeros(1))
    maps = ProbabilityMaps(np.array([[values]], np.float32))
    return ObjectResult(np.array([[mask]], bool), maps, priors, PriorHistory.empty(1), AreaBound(0.5))


def test_joined_results_tell_ties_and_leave_each_object_its_clicks():
    parts = (make_result([1, 1, 1, 1], [0.9, 0.6, 0.7, 0.1]), make_result([0, 1, 1, 1], [0.9, 0.8, 0.7, 0.9]))
    (a, b), notes = join_objects(parts)
    assert (a.masks + 2 * b.masks)[0, 0].tolist() == [1, 2, 1, 2]
    assert notes == ("1 pixels are as likely one object as another: they went to the first by name",)
    clicks = (PointSet.from_rows([(0, 0, 3)]), PointSet.from_rows([(0, 0, 1)]))
    (a, b), _ = join_objects(parts, clicks)
    assert (a.masks + 2 * b.masks)[0, 0].tolist() == [1, 2, 1, 1]


def test_an_object_that_is_kept_loses_no_pixel_but_to_a_click_on_another():
    parts = (make_result([1, 1, 1, 1], [0.9, 0.9, 0.9, 0.9]), make_result([0, 1, 1, 0], [0.1, 0.1, 0.1, 0.1]))
    clicks = (PointSet.from_rows([(0, 0, 1)]), PointSet.from_rows([(0, 0, 2)]))
    (a, b), _ = join_objects(parts, clicks, (False, True))
    assert (a.masks + 2 * b.masks)[0, 0].tolist() == [1, 1, 2, 1]


def test_points_of_other_groups_are_negatives_and_names_bounds_and_marks_are_kept():
    task = make_far_task()
    points = replace(task.points, negatives=np.array([[0, 1, 1], [0, 2, 2]]), negative_objects=("far", "near"))
    some = replace(task, points=points, own_bounds=(("far", AreaBound(0.2)), ("near", AreaBound(0.3)))).of_objects(
        ("near", "small")
    )
    assert some.points.object_names == ("near", "small")
    assert some.own_bounds == (("near", AreaBound(0.3)),)
    assert some.points.negatives.tolist() == [[0, 2, 2], *([frame, 130, 132] for frame in range(FRAMES))]
    assert some.points.negative_objects == ("near", "", "", "")
