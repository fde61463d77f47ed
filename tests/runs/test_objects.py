"""A run on several objects: masks that share no pixel, in one folder, resumed where it stopped."""

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import highdicom
import numpy as np
import pytest
from PIL import Image

from dicom_series import save_series
from fewpoint.api.segmenting import segment
from fewpoint.core import (
    AreaBound,
    ImageSequence,
    PointSet,
    ProbabilityMaps,
    Result,
    SuperpixelMap,
)
from fewpoint.core.settings import override_from_text
from fewpoint.errors import InputError
from fewpoint.io.atomic import read_json
from fewpoint.io.formats import Outputs
from fewpoint.io.images import read_sequence
from fewpoint.io.masks import read_masks
from fewpoint.io.runs import RunFolder, load_result
from fewpoint.pipeline import members as members_module
from fewpoint.pipeline import stages
from fewpoint.pipeline.focus import Focus
from fewpoint.pipeline.group import _find_widening
from fewpoint.pipeline.masks import build_smoothers, choose_labels
from fewpoint.pipeline.previous import Cut
from fewpoint.pipeline.task import Task
from fewpoint.runs import runner as run_module
from fewpoint.runs.runner import run_task
from tiny_runs import TINY, make_task

FRAMES = 5
# Points carried along and values evened out.
SETTINGS = override_from_text(TINY, ["clicks.carry=1", "clicks.focus=2", "diffusion.enabled=true"])
UNSMOOTHED = override_from_text(SETTINGS, ["diffusion.enabled=false"])


def make_frames() -> np.ndarray:
    """Two bright blocks, the right one brighter, in noise."""
    frames = np.random.default_rng(0).integers(0, 60, (FRAMES, 40, 48)).astype(np.uint8)
    frames[:, 8:20, 6:18] += 90
    frames[:, 18:32, 28:42] += 180
    return frames


def make_objects_task(settings=SETTINGS) -> Task:
    """Clicks on both blocks; the left one is said to be absent on frame 3, and both on frame 4."""
    left = [(frame, 14, 12) for frame in range(3)]
    right = [(frame, 25, 35) for frame in range(4)]
    names = ["left"] * 3 + ["right"] * 4
    points = PointSet.from_rows(left + right, [4], names, absent_of=[(3, "left")])
    bounds = (("right", AreaBound(0.3)),)
    return Task(ImageSequence.from_array(make_frames()), points, None, settings, 0, "cpu", own_bounds=bounds)


@pytest.fixture(scope="module")
def finished(tmp_path_factory) -> Iterator[tuple[Path, Result, list]]:
    path, events = tmp_path_factory.mktemp("runs") / "run", []
    task = make_objects_task()
    with RunFolder.open(path, task.identity()) as folder:
        result = run_task(task, folder, events.append)
    return path, result, events


def test_every_click_lies_in_its_own_objects_mask_and_masks_share_no_pixel(finished):
    _, result, _ = finished
    task = make_objects_task()
    for name in ("left", "right"):
        frames, rows, columns = task.points.of_object(name).coordinates.T
        assert result[name].masks[frames, rows, columns].all()
    assert not (result["left"].masks & result["right"].masks).any()


def test_where_one_objects_clicks_are_sparse_a_second_round_is_averaged_with_the_first(monkeypatch):
    settings, task, seen = override_from_text(SETTINGS, ["rounds.sparse_rounds=2"]), make_objects_task(), []
    rows = [(0, 14, 12), (4, 14, 12), *((frame, 25, 35) for frame in range(5))]
    points = PointSet.from_rows(rows, objects=["left"] * 2 + ["right"] * 5)
    real = stages.enlarge_maps
    monkeypatch.setattr(stages, "enlarge_maps", lambda members, *rest: seen.append(members) or real(members, *rest))
    result = run_task(replace(task, points=points, settings=settings))
    for part in result.objects:
        assert list(dict.fromkeys(record.phase for record in part.history.records))[-2:] == ["round 1", "round 2"]
    assert [len(members) for members in seen] == [2, 2]
    assert not any(np.array_equal(*members) for members in seen)
    dense = run_task(replace(task, settings=settings))
    assert all(record.phase != "round 2" for record in dense.objects[0].history.records)


def test_each_object_is_kept_to_the_size_of_its_own_targets(monkeypatch):
    asked = []

    def find_excess(probabilities, targets, samples):
        asked.append(float(targets.mean()))
        return 100.0 * (len(asked) == 1)  # nothing is left of the first object, the second stays

    monkeypatch.setattr(members_module, "find_excess", find_excess)
    task = make_objects_task(override_from_text(UNSMOOTHED, ["rounds.sizes=0"]))
    left, right = (part.probabilities.values.astype(float).max() for part in run_task(task).objects)
    assert len(set(asked)) == 2  # of the round alone, and of each object by its own targets
    assert left < 1e-6 < 0.5 < right


def test_absent_marks_concern_their_object_alone(finished):
    _, result, _ = finished
    assert not result["left"].masks[3].any()
    assert result["right"].masks[3].any()
    assert not result.labels.values[4].any()
    assert result["left"].priors.mean[3] == 0 < result["right"].priors.mean[3]


def test_each_object_has_its_own_bound(finished):
    _, result, _ = finished
    assert result["right"].bound == AreaBound(0.3)
    assert "assumed" in result["left"].bound.origin


def test_the_folder_keeps_names_colours_and_labels(finished):
    path, result, _ = finished
    summary = read_json(path / "summary.json")
    assert [(each["value"], each["name"]) for each in summary["objects"]] == [(1, "left"), (2, "right")]
    assert [tuple(each["colour"]) for each in summary["objects"]] == [each.label.colour for each in result.objects]
    with Image.open(path / "masks" / "0001.png") as image:
        np.testing.assert_array_equal(np.asarray(image), result.labels.values[1])
        assert tuple(image.getpalette()[3:9]) == result.objects[0].label.colour + result.objects[1].label.colour
    np.testing.assert_array_equal(read_masks(path), result.labels.values > 0)
    page = (path / "report.html").read_text(encoding="utf-8")
    for number, name in ((1, "left"), (2, "right")):
        assert f'<a href="report-{number}.html">{name}</a>' in page
        assert name in (path / f"report-{number}.html").read_text(encoding="utf-8")


def test_a_result_read_back_is_the_result(finished):
    path, result, _ = finished
    again = load_result(path)
    assert [each.label for each in again.objects] == [each.label for each in result.objects]
    np.testing.assert_array_equal(again.labels.values, result.labels.values)
    for part, other in zip(again.objects, result.objects, strict=True):
        np.testing.assert_array_equal(part.probabilities.values, other.probabilities.values)
        np.testing.assert_array_equal(part.priors.mean, other.priors.mean)
        assert part.bound == other.bound


def test_the_name_of_a_single_object_changes_no_bit():
    task = make_task(SETTINGS)
    plain = run_task(task)
    named = run_task(replace(task, points=replace(task.points, objects=("liver",) * len(task.points))))
    assert named.masks.tobytes() == plain.masks.tobytes()
    assert named.probabilities.values.tobytes() == plain.probabilities.values.tobytes()
    assert repr(named.history.records) == repr(plain.history.records)


def test_the_identity_depends_on_who_was_clicked_and_on_each_bound():
    task = make_objects_task()
    swapped = replace(task.points, objects=tuple(reversed(task.points.objects)), absent_of=())
    assert replace(task, points=swapped).identity().points != task.identity().points
    assert replace(task, own_bounds=()).identity().bound != task.identity().bound
    with pytest.raises(InputError, match="bound is given for the object middle"):
        replace(task, own_bounds=(("middle", AreaBound(0.1)),))


def test_segment_takes_bounds_by_name(monkeypatch):
    tasks = []
    monkeypatch.setattr(run_module, "run_task", lambda task, listener: tasks.append(task))
    given = make_objects_task()
    segment(given.sequence, given.points, {"left": 0.2}, settings=TINY)
    assert tasks[0].bound is None
    assert tasks[0].own_bounds == (("left", AreaBound(0.2)),)


def choose_between(maps: tuple[list[float], ...], **negatives) -> tuple[list[int], int]:
    """The labels of a row of five superpixels of one pixel, the ends of which were clicked; and the ties."""
    superpixels = SuperpixelMap(np.arange(5, dtype=np.int32)[np.newaxis, np.newaxis])
    points = PointSet.from_rows([(0, 0, 0), (0, 0, 4)], objects=["a", "b"], **negatives)
    task = Task(ImageSequence.from_array(np.zeros((1, 1, 5), np.uint8)), points, AreaBound(0.5), UNSMOOTHED)
    chosen = choose_labels(
        {name: task.of_object(name) for name in "ab"},
        superpixels,
        tuple(ProbabilityMaps(np.array([[values]], np.float32)) for values in maps),
        (None, None),
    )
    return chosen.labels[0, 0].tolist(), chosen.ties


def test_the_likeliest_object_gets_a_superpixel_and_of_equals_the_first():
    maps = ([0.9, 0.6, 0.7, 0.2, 0.9], [0.9, 0.8, 0.7, 0.1, 0.1])
    # The ends were clicked, whatever their probability.
    assert choose_between(maps) == ([1, 2, 1, 0, 2], 1)


def test_the_likeliest_object_gets_a_pixel_within_a_superpixel():
    superpixels = SuperpixelMap(np.array([[[0, 1, 1, 1, 1, 2]]], np.int32))
    points = PointSet.from_rows([(0, 0, 0), (0, 0, 5)], objects=["a", "b"])
    settings = override_from_text(SETTINGS, ["diffusion.blur=0"])
    task = Task(ImageSequence.from_array(np.zeros((1, 1, 6), np.uint8)), points, AreaBound(0.5), settings)
    tasks = {name: task.of_object(name) for name in "ab"}
    # The middle superpixel is as likely either; its pixels are surer, and one of them is neither.
    maps = ([0.9, 0.9, 0.6, 0.6, 0.1, 0.1], [0.1, 0.6, 0.9, 0.1, 0.6, 0.9])
    carried = tuple(each.points for each in tasks.values())
    smoothers = build_smoothers(tasks, superpixels, carried)
    assert [(each.seeds.tolist(), each.refused.tolist()) for each in smoothers] == [([0], [2]), ([2], [0])]
    near = smoothers[0].surroundings
    object.__setattr__(near, "links", replace(near.links, flow=np.zeros_like(near.links.flow)))
    chosen = choose_labels(
        tasks,
        superpixels,
        tuple(ProbabilityMaps(np.array([[values]], np.float32)) for values in maps),
        smoothers,
        (Cut(), Cut()),
    )
    assert chosen.labels[0, 0].tolist() == [1, 1, 2, 1, 2, 2]
    assert chosen.ties == 0


def test_a_point_on_one_object_is_a_negative_of_the_others_beside_their_own():
    points = PointSet.from_rows(
        [(0, 1, 1), (0, 5, 5)],
        objects=["a", "b"],
        negatives=[(0, 3, 3), (0, 4, 4), (0, 5, 5)],
        negative_objects=["", "b", "a"],  # of any, of b, and of a where b is
    )
    assert points.of_object("a").negatives.tolist() == [[0, 3, 3], [0, 5, 5]]
    assert points.of_object("b").negatives.tolist() == [[0, 1, 1], [0, 3, 3], [0, 4, 4]]


@pytest.mark.parametrize(("refused", "owner"), [("a", 2), ("b", 1), ("", 0)])
def test_a_negative_keeps_the_object_that_it_names_away_and_without_a_name_all(refused, owner):
    maps = ([0.9, 0.6, 0.7, 0.2, 0.9], [0.9, 0.8, 0.7, 0.1, 0.1])
    labels, _ = choose_between(maps, negatives=[(0, 0, 1)], negative_objects=[refused])
    assert labels == [1, owner, 1, 0, 2]


def test_a_negative_of_an_object_without_points_is_refused():
    points = PointSet.from_rows([(0, 0, 0), (0, 0, 4)], [], ["a", "b"], [(0, 0, 2)], ["c"])
    with pytest.raises(InputError, match="background click names the object c, which has no point; there are a, b"):
        Task(ImageSequence.from_array(np.zeros((1, 1, 5), np.uint8)), points, AreaBound(0.5), SETTINGS)


def test_the_bound_of_a_single_object_may_be_given_by_its_name():
    task = make_task(SETTINGS)
    named = replace(task.points, objects=("liver",) * len(task.points))
    result = run_task(replace(task, points=named, bound=None, own_bounds=(("liver", AreaBound(0.21)),)))
    assert result.bound == AreaBound(0.21)


def test_far_objects_get_more_superpixels_but_no_more_than_runs_of_their_own():
    near, far = Focus((100, 100), 0, 20, 0, 20), Focus((100, 100), 80, 100, 80, 100)
    plan = SETTINGS.plan()

    def count(foci: list[Focus], focus: Focus) -> int:
        return plan.suit_objects(len(foci), _find_widening(foci, focus)).superpixels.count

    assert count([near, far], Focus.round_all([near, far])) == 2 * plan.superpixels.count
    assert count([near, near], near) == plan.superpixels.count


@pytest.mark.nightly
@pytest.mark.parametrize(("given", "name"), [("liver", "liver"), ("", "object")])
def test_a_single_object_keeps_its_name_in_the_result_and_in_files_with_names(tmp_path, given, name):
    slices = np.random.default_rng(0).integers(0, 99, (4, 24, 24)).astype(np.uint16)
    slices[:, 8:16, 8:16] += 800
    sequence = read_sequence(save_series(tmp_path / "series", slices))
    points = PointSet.from_rows([(frame, 12, 12) for frame in range(4)], objects=[given] * 4 if given else ())
    outputs = Outputs.of(["coco", "dicom-seg"])
    task = Task(sequence, points, AreaBound(0.3), UNSMOOTHED, 0, "cpu", replace(outputs, report=False))
    with RunFolder.open(tmp_path / "run", task.identity()) as folder:
        result = run_task(task, folder)
    assert (result.only.name, result.only.label.name) == (name, name)
    assert load_result(tmp_path / "run").only.label == result.only.label
    categories = read_json(tmp_path / "run" / "masks.json")["categories"]
    assert [(each["id"], each["name"]) for each in categories] == [(1, name)]
    seg = highdicom.seg.segread(tmp_path / "run" / "masks.dcm")
    assert [seg.get_segment_description(number).segment_label for number in seg.segment_numbers] == [name]
    assert [each["name"] for each in read_json(tmp_path / "run" / "summary.json")["objects"]] == [name]
