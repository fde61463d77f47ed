"""A run that is stopped keeps what it has found so far."""

from dataclasses import replace

import numpy as np
import pytest

from fewpoint.core import (
    AreaBound,
    EpochFinished,
    EpochPredicted,
    ImageSequence,
    PointSet,
    SuperpixelMap,
    SuperpixelsReady,
)
from fewpoint.core.settings import override_from_text
from fewpoint.evaluation.phantom import make_objects
from fewpoint.io.atomic import read_json
from fewpoint.io.masks import read_masks
from fewpoint.io.runs import RunFolder, load_result
from fewpoint.pipeline.task import Task
from fewpoint.runs.partial import LastLook, ObjectLook, finish_early
from fewpoint.runs.runner import run_and_keep, run_task
from pipeline.test_groups import make_far_task
from tiny_runs import TINY, StoppedError, make_task

# Two frames of 2 x 4 pixels, each cut into a left and a right half.
LABELS = np.tile(np.array([[0, 0, 1, 1]] * 2, np.int32), (2, 1, 1))


def look_at(*rows) -> LastLook:
    look = LastLook()
    look(SuperpixelsReady(SuperpixelMap(LABELS)))
    look(EpochPredicted(3, np.array(rows, np.float16), np.array([0.5, 0.0])))
    return look


def test_a_look_shows_the_superpixels_at_a_half_or_above():
    look = look_at([0.5, 0.4], [0.1, 0.2])
    assert look.objects[""].mask(0).tolist() == [[True, True, False, False]] * 2
    assert not look.objects[""].mask(1).any()


def test_nothing_is_seen_before_the_first_look():
    look = LastLook()
    assert not look.saw_something
    look(SuperpixelsReady(SuperpixelMap(LABELS)))
    assert not look.saw_something


def test_the_last_look_counts():
    look = look_at([0.9, 0.1], [0.1, 0.1])
    look(EpochPredicted(7, np.array([[0.1, 0.9], [0.1, 0.1]], np.float16), np.array([0.5, 0.0])))
    assert look.epoch == 7 and look.objects[""].mask(0)[0].tolist() == [False, False, True, True]


def test_a_stopped_run_is_a_finished_one_with_the_masks_of_the_last_look(tmp_path):
    task = make_task()
    labels = np.zeros((5, 40, 48), np.int32)
    labels[:, :, 24:] = 1
    look = LastLook({"": ObjectLook(SuperpixelMap(labels), 4, np.array([[0.9, 0.1]] * 5, np.float16), np.full(5, 0.5))})
    with RunFolder.open(tmp_path / "run", task.identity()) as folder:
        finish_early(task, folder, look)
    result = load_result(tmp_path / "run")
    assert np.array_equal(read_masks(tmp_path / "run"), result.masks)
    assert result.masks[:, :, :24].all()
    assert folder.manifest["stopped_after_epoch"] == 4
    clicked = np.zeros(5, bool)
    for frame, y, x in task.points.coordinates.tolist():
        clicked[frame] = result.masks[frame, y, x]
    assert clicked.all()


def test_a_clicked_superpixel_belongs_to_the_mask_whatever_the_network_says():
    look = look_at([0.1, 0.1], [0.1, 0.1])
    task = make_task()
    tiny = task.sequence.from_array(np.zeros((2, 2, 4), np.uint8))
    task = type(task)(tiny, PointSet.from_rows([(1, 0, 3)]), task.bound, task.settings)
    assert look.to_result(task).masks[1, 0].tolist() == [False, False, True, True]
    assert not look.to_result(task).masks[0].any()


SHORT = override_from_text(TINY, ["warmup.epochs=3", "rounds.round_epochs=2"])
NAMES = ("object 1", "object 2")


def make_two(**given) -> Task:
    phantom = make_objects(4, (48, 48))
    return Task(phantom.sequence, phantom.points, AreaBound(0.2), SHORT, 0, "cpu", **given)


def stop_at(stop: int, look: LastLook):
    """A listener that hands on to a look, and ends the run after so many epochs."""
    over = []

    def listen(event: object) -> None:
        look(event)
        over.extend([event] if isinstance(event, EpochFinished) else [])
        if len(over) == stop:
            raise StoppedError

    return listen


def test_every_object_is_looked_at_by_its_name_after_the_same_epochs():
    told = []
    result = run_task(make_two(), listener=told.append)
    (ready,) = [event for event in told if isinstance(event, SuperpixelsReady)]
    assert ready.objects == NAMES
    looks = {
        name: [event for event in told if isinstance(event, EpochPredicted) and event.object == name] for name in NAMES
    }
    assert sum(map(len, looks.values())) == sum(isinstance(event, EpochPredicted) for event in told)
    epochs = [[look.epoch for look in own] for own in looks.values()]
    assert epochs[0] == epochs[1] == [3, 5]  # the last of each network
    for name, own in looks.items():
        shares = result[name].history.positive_share[[2, 4]]
        np.testing.assert_array_equal(np.float32([look.priors for look in own]), shares)
        assert {look.probabilities.shape for look in own} == {(4, ready.superpixels.counts.max())}
    assert not np.array_equal(*(own[-1].probabilities for own in looks.values()))


def test_a_named_object_is_looked_at_by_its_name_and_one_without_by_none():
    task = make_task(SHORT)
    for name in ("", "liver"):
        points = replace(task.points, objects=(name,) * len(task.points) if name else ())
        look = LastLook()
        run_task(replace(task, points=points), listener=look)
        assert set(look.objects) == {name}
        assert look.to_result(replace(task, points=points)).only.name == (name or "object")


def test_the_last_look_at_several_objects_gives_each_pixel_to_the_likeliest():
    look = LastLook()
    look(SuperpixelsReady(SuperpixelMap(LABELS), ("a", "b")))
    look(EpochPredicted(3, np.array([[0.9, 0.6], [0.6, 0.1]], np.float16), np.array([0.5, 0.0]), "a"))
    look(EpochPredicted(3, np.array([[0.7, 0.8], [0.9, 0.2]], np.float16), np.array([0.5, 0.1]), "b"))
    points = PointSet.from_rows([(0, 0, 0), (0, 0, 3)], objects=["a", "b"])
    task = Task(ImageSequence.from_array(np.zeros((2, 2, 4), np.uint8)), points, AreaBound(0.5), SHORT)
    result = look.to_result(task)
    assert result.labels.values[:, 0].tolist() == [[1, 1, 2, 2], [2, 2, 0, 0]]
    assert [each.name for each in result.objects] == ["a", "b"]
    assert result["b"].priors.mean.tolist() == [0.5, 0.1]
    # A click belongs to its object however likely another is.
    look(EpochPredicted(4, np.array([[0.9, 0.9], [0.6, 0.1]], np.float16), np.array([0.5, 0.0]), "a"))
    assert look.to_result(task).labels.values[0, 0].tolist() == [1, 1, 2, 2]
    assert look.epoch == 4


@pytest.mark.parametrize("stop", [3, 5])
def test_several_objects_that_were_stopped_are_kept_and_read_back(tmp_path, stop):
    task, look = make_two(), LastLook()
    with RunFolder.open(tmp_path / "run", task.identity()) as folder:
        with pytest.raises(StoppedError):
            run_task(task, folder, stop_at(stop, look))
        kept = finish_early(task, folder, look)
    assert read_json(tmp_path / "run" / "manifest.json")["stopped_after_epoch"] == stop
    again = load_result(tmp_path / "run")
    assert [each.label for each in again.objects] == [each.label for each in kept.objects]
    np.testing.assert_array_equal(again.labels.values, kept.labels.values)
    for name in NAMES:
        assert again[name].masks[tuple(task.points.of_object(name).coordinates.T)].all()
        np.testing.assert_array_equal(again[name].probabilities.values, kept[name].probabilities.values)
        assert again[name].bound == AreaBound(0.2)
    np.testing.assert_array_equal(read_masks(tmp_path / "run"), kept.labels.values > 0)


def test_a_group_that_has_not_begun_has_nothing_but_its_clicks_and_the_result_says_so(tmp_path):
    task, look = make_far_task(override_from_text(SHORT, ["clicks.focus=2"])), LastLook()
    with RunFolder.open(tmp_path / "run", task.identity()) as folder:
        with pytest.raises(StoppedError):
            run_task(task, folder, stop_at(3, look))
        assert set(look.objects) == {"far"}
        kept = finish_early(task, folder, look)
    assert kept["far"].masks[tuple(task.points.of_object("far").coordinates.T)].all()
    for name in ("near", "small"):
        assert np.argwhere(kept[name].masks).tolist() == task.points.of_object(name).coordinates.tolist()
    expected = tuple(f"{name}: stopped before it was trained" for name in ("near", "small"))
    assert kept.notes == expected
    assert set(expected) <= set(read_json(tmp_path / "run" / "summary.json")["notes"])
    np.testing.assert_array_equal(load_result(tmp_path / "run").labels.values, kept.labels.values)


def test_a_refinement_that_was_stopped_keeps_the_bounds_of_the_run_before():
    task = make_two()
    own = replace(task, bound=None, own_bounds=((NAMES[0], AreaBound(0.21)), (NAMES[1], AreaBound(0.22))))
    _, previous = run_and_keep(own)
    refining, look = replace(task, bound=None, previous=previous), LastLook()
    run_task(refining, listener=look)
    assert [each.bound.fraction for each in look.to_result(refining).objects] == [0.21, 0.22]
    given = replace(refining, own_bounds=((NAMES[1], AreaBound(0.3)),))
    assert [each.bound.fraction for each in look.to_result(given).objects] == [0.21, 0.3]
