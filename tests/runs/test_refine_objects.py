"""Several objects of a finished run put right by changed points, whichever of them there still are."""

import shutil
from dataclasses import replace
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest

from fewpoint.api.segmenting import refine
from fewpoint.core import AreaBound, EpochFinished, Message, PointSet, Result, StepsTaken, Words
from fewpoint.core.settings import override_from_text
from fewpoint.evaluation.phantom import ObjectsPhantom, make_objects
from fewpoint.io.atomic import read_json
from fewpoint.io.formats import Outputs
from fewpoint.io.runs import RunFolder, load_result
from fewpoint.pipeline.groups import group_objects
from fewpoint.pipeline.previous import PreviousRun
from fewpoint.pipeline.task import Task
from fewpoint.runs.previous import load_previous
from fewpoint.runs.runner import run_and_keep, run_task
from pipeline.test_groups import make_far_task
from tiny_runs import TINY

SETTINGS = override_from_text(
    TINY,
    [
        "training.max_side=48",
        "warmup.epochs=8",
        "rounds.round_networks=2",
        "clicks.focus=1",
        "diffusion.enabled=true",
        "refine.epochs=2",
    ],
)
ONE, TWO, THREE = NAMES = ("object 1", "object 2", "object 3")
QUIET = Outputs(report=False)
Row = tuple[int, int, int]
REFINED = ["refinement, network 1"] * 2 + ["refinement, network 2"] * 2


@pytest.fixture(scope="module")
def phantom() -> ObjectsPhantom:
    return make_objects(5, (64, 64), objects=3)


def points_on(phantom: ObjectsPhantom, names: tuple[str, ...], negatives: tuple[tuple[Row, str], ...] = ()) -> PointSet:
    """The phantom's clicks on some of its objects."""
    placed = zip(map(tuple, phantom.points.coordinates.tolist()), phantom.points.objects, strict=True)
    rows, objects = zip(*((row, name) for row, name in placed if name in names), strict=True)
    refused = [row for row, _ in negatives], [name for _, name in negatives]
    return PointSet.from_rows(list(rows), [], objects, *refused)


def make_objects_task(phantom: ObjectsPhantom, names: tuple[str, ...] = NAMES[:2], **given) -> Task:
    points = points_on(phantom, names)
    return Task(phantom.sequence, points, AreaBound(0.1), SETTINGS, device="cpu", outputs=QUIET, **given)


def run_in(path: Path, task: Task) -> tuple[Result, PreviousRun]:
    with RunFolder.open(path, task.identity()) as folder:
        return run_and_keep(task, folder)


@pytest.fixture(scope="module")
def first(phantom, tmp_path_factory) -> tuple[Path, Result, PreviousRun]:
    """A finished run on two objects: its folder, its result and what it keeps."""
    path = tmp_path_factory.mktemp("runs") / "first"
    return path, *run_in(path, make_objects_task(phantom))


def phases_of(result: Result) -> dict[str, list[str]]:
    return {each.name: [record.phase for record in each.history.records] for each in result.objects}


def assert_same(one: Result, other: Result) -> None:
    assert [each.label for each in one.objects] == [each.label for each in other.objects]
    np.testing.assert_array_equal(one.labels.values, other.labels.values)
    for own, same in zip(one.objects, other.objects, strict=True):
        np.testing.assert_array_equal(own.probabilities.values, same.probabilities.values)


def find_farthest(phantom: ObjectsPhantom, result: Result, name: str, frame: int = 2) -> Row:
    """The pixel of an object's mask on a frame that lies farthest from the click there."""
    rows, columns = np.nonzero(result[name].masks[frame])
    clicks = points_on(phantom, (name,)).coordinates
    (_, y, x), *_ = clicks[clicks[:, 0] == frame].tolist()
    place = int(np.hypot(rows - y, columns - x).argmax())
    return frame, int(rows[place]), int(columns[place])


def test_a_negative_on_one_object_changes_that_object_alone(phantom, first):
    _, before, previous = first
    for name, other in ((ONE, TWO), (TWO, ONE)):
        place = find_farthest(phantom, before, name)
        negatives = ((place, name),)
        refined = refine(previous, phantom.sequence, points_on(phantom, (ONE, TWO), negatives))
        assert not refined[name].masks[place]
        np.testing.assert_array_equal(refined[other].masks, before[other].masks)
        np.testing.assert_array_equal(refined[other].probabilities.values, before[other].probabilities.values)
        assert phases_of(refined) == {ONE: REFINED, TWO: REFINED}


def test_a_refinement_with_nothing_new_to_say_changes_nothing_and_trains_nothing(phantom, first):
    path, before, previous = first
    for run in (path, previous):
        after = refine(run, phantom.sequence, points_on(phantom, (ONE, TWO)))
        assert_same(after, before)
        assert phases_of(after) == {ONE: [], TWO: []}
        assert [each.bound for each in after.objects] == [AreaBound(0.1)] * 2


def test_a_bound_that_is_given_again_says_nothing_new_and_another_one_does(phantom, first):
    _, before, previous = first
    task = replace(make_objects_task(phantom), previous=previous)
    assert_same(run_task(task), before)
    assert phases_of(run_task(replace(task, bound=AreaBound(0.2)))) == {ONE: REFINED, TWO: REFINED}
    other = run_task(replace(task, own_bounds=((ONE, AreaBound(0.2)),)))
    np.testing.assert_array_equal(other[TWO].masks, before[TWO].masks)
    assert not np.array_equal(other[ONE].probabilities.values, before[ONE].probabilities.values)


def test_a_folder_and_what_was_kept_in_memory_refine_alike_and_again(phantom, first, tmp_path):
    path, before, kept = first
    points = points_on(phantom, (ONE, TWO), ((find_farthest(phantom, before, ONE), ONE),))
    refined = refine(path, phantom.sequence, points, out=tmp_path / "second")
    in_memory, kept_again = run_and_keep(replace(make_objects_task(phantom), points=points, bound=None, previous=kept))
    assert_same(refined, in_memory)
    assert_same(load_result(tmp_path / "second"), refined)
    plain = points_on(phantom, (ONE, TWO))
    assert_same(refine(tmp_path / "second", phantom.sequence, plain), refine(kept_again, phantom.sequence, plain))
    assert not np.array_equal(refined.labels.values, before.labels.values)


def test_a_refined_run_keeps_superpixels_and_settings_and_names_its_start(phantom, first, tmp_path):
    path, _, _ = first
    paths = [path, tmp_path / "second", tmp_path / "third"]
    for number, (start, out) in enumerate(pairwise(paths)):
        points = points_on(phantom, (ONE, TWO), (((number, 0, 0), ONE),))
        refine(start, phantom.sequence, points, out=out)
    runs = [load_previous(each) for each in paths]
    manifests = [read_json(each / "manifest.json") for each in paths]
    expected = ["random weights", *(f"refined from {run.model.digest[:16]}" for run in runs[:2])]
    assert [manifest["identity"]["start"] for manifest in manifests] == expected
    assert [manifest["refined_from"] for manifest in manifests] == [None, str(paths[0]), str(paths[1])]
    assert len({run.model.digest for run in runs}) == 3
    assert {run.settings == SETTINGS for run in runs} == {True}
    # Two objects have finer superpixels than the settings ask for one, and no finer ones from run to run.
    used = [each["groups"]["group-1"]["plan"]["superpixels"]["count"] for each in manifests]
    assert len(set(used)) == 1
    assert used[0] > SETTINGS.superpixels.count
    for run in runs[1:]:
        np.testing.assert_array_equal(run.groups[0].superpixels.labels, runs[0].groups[0].superpixels.labels)
        assert run.groups[0].box == runs[0].groups[0].box


def test_clicks_of_two_objects_in_one_superpixel_part_it(phantom, first):
    path, _, previous = first
    (group,) = previous.groups
    top, _, left, _ = group.box
    (frame, y, x), *_ = points_on(phantom, (TWO,)).coordinates.tolist()
    labels = group.superpixels.labels[frame]
    places = np.argwhere(labels == labels[y - top, x - left]) + np.array([top, left])
    near = next(place for place in map(tuple, places.tolist()) if place != (y, x))
    rows = [*map(tuple, points_on(phantom, (ONE, TWO)).coordinates.tolist()), (frame, *near)]
    points = PointSet.from_rows(rows, objects=[*points_on(phantom, (ONE, TWO)).objects, ONE])
    refined = refine(path, phantom.sequence, points)
    for name in (ONE, TWO):
        assert refined[name].masks[tuple(points.of_object(name).coordinates.T)].all()


def test_what_was_deleted_from_a_finished_run_is_made_from_scratch(phantom, first, tmp_path):
    path, _, _ = first
    shutil.copytree(path, tmp_path / "bare")
    shutil.rmtree(tmp_path / "bare" / "stages")
    (group,) = load_previous(tmp_path / "bare").groups
    assert (group.superpixels, group.logits) == (None, ())
    points = points_on(phantom, (ONE, TWO))
    one, other = (refine(each, phantom.sequence, points) for each in (path, tmp_path / "bare"))
    np.testing.assert_array_equal(one.labels.values, other.labels.values)  # nothing was said since


def test_a_click_in_the_mask_of_another_object_corrects_both(phantom, first):
    _, before, previous = first
    place = find_farthest(phantom, before, TWO)
    points = points_on(phantom, (ONE, TWO))
    more = PointSet.from_rows([*map(tuple, points.coordinates.tolist()), place], [], [*points.objects, ONE])
    refined = refine(previous, phantom.sequence, more)
    assert refined[ONE].masks[place]
    assert (before[TWO].masks & ~refined[TWO].masks).sum() > 1  # more of it than the pixel


def test_what_is_outlined_of_one_group_is_not_taken_by_another(phantom, first):
    path, _, _ = first
    outline = phantom.labels[2] == 1  # where the first object is, the new one is said to be
    rows = [row for row in map(tuple, phantom.points.coordinates.tolist()) if row[0] != 2]
    names = [name for frame, name in zip(phantom.points.frames, phantom.points.objects, strict=True) if frame != 2]
    refined = refine(path, phantom.sequence, PointSet.from_rows(rows, [], names), words={THREE: Words.of({2: outline})})
    np.testing.assert_array_equal(refined[THREE].masks[2], outline)
    assert not refined[ONE].masks[2][outline].any()


@pytest.mark.parametrize("left", [(ONE,), (TWO,)])
def test_an_object_without_points_is_dropped_and_the_other_stays(phantom, first, left, tmp_path):
    path, before, kept = first
    points = points_on(phantom, left)
    refined = refine(path, phantom.sequence, points, out=tmp_path / "second")
    assert phases_of(refined) == {left[0]: []}
    np.testing.assert_array_equal(refined.masks, before[left[0]].masks)
    assert_same(refine(kept, phantom.sequence, points), refined)
    assert refined.bound == AreaBound(0.1)
    # Two have become one; the run on it has its place at the top of the folder.
    corrected = points_on(phantom, left, (((0, 0, 0), left[0]),))
    assert phases_of(refine(tmp_path / "second", phantom.sequence, corrected)) == {left[0]: REFINED}


def test_a_new_object_is_trained_from_scratch_and_known_ones_stay(phantom, first, tmp_path):
    path, before, kept = first
    points = points_on(phantom, NAMES)
    refined = refine(path, phantom.sequence, points, out=tmp_path / "second")
    assert [each.name for each in refined.objects] == list(NAMES)
    phases = phases_of(refined)
    for name in (ONE, TWO):
        assert phases[name] == []
        np.testing.assert_array_equal(refined[name].masks, before[name].masks)
    assert phases[THREE] == ["warm-up"] * 8 + ["round 1, network 1"] * 6 + ["round 1, network 2"] * 6
    for name in NAMES:
        assert refined[name].masks[tuple(points.of_object(name).coordinates.T)].all()
    assert refined[THREE].masks.sum() > 2 * len(points_on(phantom, (THREE,)))
    assert_same(refine(kept, phantom.sequence, points), refined)
    again = refine(tmp_path / "second", phantom.sequence, points)
    assert_same(again, refined)
    assert phases_of(again) == {key: [] for key in NAMES}
    assert any("objects train in 2 groups: object 1, object 2; object 3" in note for note in again.notes)


@pytest.mark.nightly
@pytest.mark.parametrize("known", [ONE, "", THREE])
def test_objects_added_to_a_run_on_one_are_trained_from_scratch_and_it_is_refined_by_its_name(phantom, known):
    """Of several objects none is the one without a name, or with another one."""
    points = points_on(phantom, (known or ONE,))
    alone = replace(points, objects=()) if not known else points
    _, kept = run_and_keep(replace(make_objects_task(phantom), points=alone))
    assert kept.objects == (known,)
    refined = refine(kept, phantom.sequence, points_on(phantom, (ONE, TWO)))
    phases = phases_of(refined)
    assert phases[TWO][0] == "warm-up"
    assert (phases[ONE] == []) == (known == ONE)


@pytest.mark.nightly
def test_epochs_are_counted_on_from_a_long_group_to_a_short_one(phantom):
    """A new object is trained first here, in five times the epochs that the known ones are refined in."""
    _, kept = run_and_keep(make_objects_task(phantom, (TWO, THREE)))
    told = []
    points = points_on(phantom, NAMES, (((0, 0, 0), TWO),))
    refine(kept, phantom.sequence, points, listener=told.append)
    events = [event for event in told if isinstance(event, EpochFinished | StepsTaken)]
    done = [event.epochs_done for event in events]
    assert done == sorted(done)
    assert [event.total for event in events if isinstance(event, EpochFinished)] == [40] * 20 + [24] * 4
    assert done[-1] == 24


@pytest.mark.parametrize(("then", "now"), [("", ONE), (ONE, ""), (ONE, "renamed")])
def test_a_single_object_is_refined_whatever_it_is_called_now(phantom, then, now):
    points = points_on(phantom, (ONE,))
    named = {name: replace(points, objects=(name,) * len(points) if name else ()) for name in (then, now)}
    before, kept = run_and_keep(replace(make_objects_task(phantom), points=named[then]))
    refined = refine(kept, phantom.sequence, named[now])
    assert phases_of(refined) == {now or "object": []}
    np.testing.assert_array_equal(refined.masks, before.masks)
    corrected = refine(kept, phantom.sequence, replace(named[now], negatives=np.zeros((1, 3), np.int64)))
    assert phases_of(corrected) == {now or "object": REFINED}


# Groups of objects that lie far apart.
FAR = override_from_text(
    SETTINGS, ["training.max_side=32", "clicks.focus=2", "rounds.round_networks=1", "warmup.epochs=4"]
)


@pytest.fixture(scope="module")
def groups(tmp_path_factory) -> tuple[Path, Result, PreviousRun]:
    path = tmp_path_factory.mktemp("runs") / "groups"
    return path, *run_in(path, make_far_task(FAR))


@pytest.mark.parametrize("name", ["far", "near"])
def test_a_click_in_one_group_changes_no_pixel_of_the_others(groups, name):
    path, before, _ = groups
    points = make_far_task(FAR).points
    frame, y, x = points.of_object(name).coordinates[0].tolist()
    rows = [*map(tuple, points.coordinates.tolist()), (frame, y + 1, x)]
    more = PointSet.from_rows(rows, [], [*points.objects, name])
    refined = refine(path, make_far_task(FAR).sequence, more)
    assert [record.phase for record in refined[name].history.records] == ["refinement"] * 2
    for other in {each.name for each in before.objects} - {name}:
        np.testing.assert_array_equal(refined[other].masks, before[other].masks)
        np.testing.assert_array_equal(refined[other].probabilities.values, before[other].probabilities.values)


def test_a_click_outside_the_part_worked_on_widens_it_and_changes_its_own_object_alone(groups):
    _, before, previous = groups
    task, place = make_far_task(FAR), (0, 70, 70)
    assert previous.groups[1].objects == ("near", "small") and previous.groups[1].box[1] <= 70
    rows = [*map(tuple, task.points.coordinates.tolist()), place]
    more = PointSet.from_rows(rows, [], [*task.points.objects, "near"])
    refined, kept = run_and_keep(replace(task, bound=None, points=more, previous=previous))
    assert kept.groups[1].box[1] > 70
    assert refined["near"].masks[place]
    for other in ("far", "small"):
        np.testing.assert_array_equal(refined[other].masks, before[other].masks)


def test_groups_with_nothing_new_to_say_stay_as_they_are_group_by_group(groups, tmp_path):
    path, before, kept = groups
    task = make_far_task(FAR)
    told = []
    refined = refine(path, task.sequence, task.points, out=tmp_path / "second", listener=told.append)
    assert [event.text for event in told if isinstance(event, Message) and event.text.startswith("group")] == [
        "group 1 of 2: far",
        "group 2 of 2: near, small",
    ]
    assert phases_of(refined) == {key: [] for key in [each.name for each in before.objects]}
    assert_same(refined, before)
    assert_same(refine(kept, task.sequence, task.points), refined)
    again = load_previous(tmp_path / "second")
    assert [group.objects for group in again.groups] == [("far",), ("near", "small")]
    assert [group.box for group in again.groups] == [group.box for group in kept.groups]
    for group, other in zip(again.groups, kept.groups, strict=True):
        np.testing.assert_array_equal(group.superpixels.labels, other.superpixels.labels)


def test_objects_stay_in_the_groups_that_they_were_refined_from(groups):
    _, _, kept = groups
    task = make_far_task(FAR)
    fine = override_from_text(FAR, ["training.max_side=160"])
    assert group_objects(replace(task, settings=fine)) == (("far", "near", "small"),)
    assert group_objects(replace(task, settings=fine, previous=kept)) == (("far",), ("near", "small"))


@pytest.mark.parametrize("left", [("far",), ("near", "small"), ("small",), ("far", "small")])
def test_of_several_groups_those_with_points_stay(groups, left):
    path, before, kept = groups
    task = make_far_task(FAR)
    placed = zip(map(tuple, task.points.coordinates.tolist()), task.points.objects, strict=True)
    rows, names = zip(*((row, name) for row, name in placed if name in left), strict=True)
    points = PointSet.from_rows(list(rows), [], names)
    refined = refine(path, task.sequence, points)
    assert phases_of(refined) == {key: [] for key in left}
    for name in left:
        np.testing.assert_array_equal(refined[name].masks, before[name].masks)
    assert_same(refine(kept, task.sequence, points), refined)
