"""From what a job says to the words of a task."""

import json
from dataclasses import replace

import numpy as np
import pytest

import fewpoint
from fewpoint.core import AreaBound, Box, ImageSequence, PointSet, Words
from fewpoint.core.job import GivenBound, GivenWords, Job, OutlineFile, PlainPoints
from fewpoint.core.saying import find_innermost
from fewpoint.errors import InputError
from fewpoint.evaluation.phantom import make_phantom
from fewpoint.methods.default import FAST
from fewpoint.pipeline.model import GroupModel, Model
from fewpoint.pipeline.previous import PreviousGroup, PreviousRun
from fewpoint.runs.jobs import read_job
from fewpoint.runs.words import read_words
from tiny_runs import TINY

SEQUENCE = ImageSequence.from_array(np.arange(4 * 6 * 8, dtype=np.uint8).reshape(4, 6, 8))
ONE = PlainPoints(((0, 2, 3),))
TWO = PlainPoints(((0, 2, 3), (0, 5, 7)), objects=("a", "b"))
SQUARE = np.zeros((6, 8), bool)
SQUARE[1:4, 2:5] = True
OUTLINED = Words.of({1: SQUARE})


def read(**said):
    job = Job(**{"points": ONE, "preset": "fast", "device": "cpu", **said})
    task = read_job(Job.from_table(json.loads(json.dumps(job.as_table()))), SEQUENCE)
    return task.points, dict(task.words)


def test_a_task_has_the_words_of_its_job():
    words = Words.of({1: SQUARE}, (Box(2, 0, 0, 3, 3),), 1.5, {3: 0.8})
    assert read(words=(("", words),))[1] == {"": words}
    assert read(points=TWO, words=(("b", words),))[1] == {"b": words}
    assert read()[1] == {}


def test_what_is_added_is_said_on_top(tmp_path):
    np.save(tmp_path / "m.npy", SQUARE[np.newaxis])
    given = GivenWords((OutlineFile(str(tmp_path / "m.npy"), 3),), (Box(2, 0, 0, 5, 5),), 1.0, ((0, 2.0),))
    words = Words.of({1: SQUARE}, (Box(2, 0, 0, 3, 3), Box(3, 0, 0, 4, 4)), 1.5, {3: 0.8})
    expected = Words.of({1: SQUARE, 3: SQUARE}, (Box(2, 0, 0, 5, 5), Box(3, 0, 0, 4, 4)), 1.0, {0: 2.0, 3: 0.8})
    assert read(words=(("", words),), added_words=(("", given),))[1] == {"": expected}


def test_a_size_added_for_all_wins_over_those_said_before_and_one_for_an_object_over_it():
    said = (("a", Words(size=2.0)), ("b", Words(size=3.0)))
    added = (("", GivenWords(size=1.5)), ("b", GivenWords(size=0.5)))
    assert read(points=TWO, words=said, added_words=added)[1] == {"a": Words(size=1.5), "b": Words(size=0.5)}


def test_the_box_that_bounds_an_object_is_a_word_about_its_frame():
    box, word = GivenBound(box=(1, 0, 0, 3, 4)), Box(1, 0, 0, 3, 4)
    assert read(bounds=(("", box),))[1] == {"": Words(boxes=(word,))}
    assert read(points=TWO, bounds=(("b", box),))[1] == {"b": Words(boxes=(word,))}
    assert read(points=TWO, bounds=(("", box),))[1] == {}


def test_a_bounding_box_that_a_click_lies_outside_of_is_only_a_bound():
    assert read(bounds=(("", GivenBound(box=(0, 0, 0, 2, 2))),))[1] == {}


def test_outlined_frames_say_where_objects_are(tmp_path):
    labels = np.zeros((4, 6, 8), np.uint8)
    labels[1][SQUARE] = 1
    np.save(tmp_path / "m.npy", labels)
    points, words = read(points="", added_words=(("", GivenWords((OutlineFile(str(tmp_path / "m.npy")),))),))
    assert (points.coordinates.tolist(), points.objects, words) == ([[1, 2, 3]], (), {"": OUTLINED})
    points, words = read(added_words=(("", GivenWords((OutlineFile(str(tmp_path / "m.npy")),))),))
    assert (points.coordinates.tolist(), words) == ([[0, 2, 3]], {"": OUTLINED})
    file = GivenWords((OutlineFile(str(tmp_path / "m.npy")),))
    points, words = read(points=TWO, added_words=(("c", file),))
    assert (points.objects, words) == (("a", "b", "c"), {"c": OUTLINED})


@pytest.mark.parametrize(
    ("said", "message"),
    [
        ({"words": (("c", Words(size=2.0)),)}, "the object c has neither a point nor a drawn mask"),
        ({"added_words": (("c", GivenWords(boxes=(Box(0, 0, 0, 3, 4),))),)}, "the object c has neither a point"),
        ({"added_words": (("", GivenWords(boxes=(Box(0, 0, 0, 3, 4),))),)}, "a box needs the name of its object"),
        (
            {"added_words": (("a", GivenWords(boxes=(Box(0, 0, 0, 2, 2),))),)},
            "frame 0 at y 2, x 3 lies outside the box",
        ),
        ({"words": (("a", Words({0: ((0, 2),)})),)}, "at y 2, x 3 lies outside the drawn mask of a on frame 0"),
        ({"added_words": (("a", GivenWords((OutlineFile("no.png", 0),))),)}, "no.png does not exist"),
        ({"points": ""}, "points on the object are needed"),
    ],
)
def test_words_that_make_no_sense_are_refused_in_one_line(said, message):
    with pytest.raises(InputError, match=message) as caught:
        read(**{"points": TWO, **said})
    assert "\n" not in str(caught.value)


def make_previous(words, *names: str) -> PreviousRun:
    """A run of which only the objects and the words matter."""
    heads = {"head.weight": np.zeros((len(names), 1)), "head.bias": np.zeros(len(names))}
    group = GroupModel(names, (heads,))
    groups = (PreviousGroup((AreaBound(0.1),) * len(names), (0, 6, 0, 8), group),)
    return PreviousRun("", "", FAST, groups, Model(FAST.network, 1, (group,)), words=words)


@pytest.mark.parametrize(
    ("said", "expected"),
    [
        ({}, {"a": OUTLINED}),
        ({"words": ()}, {}),
        ({"words": (("b", OUTLINED),)}, {"b": OUTLINED}),
        ({"added_words": (("a", GivenWords(size=2.0)),)}, {"a": Words.of({1: SQUARE}, size=2.0)}),
    ],
)
def test_a_refinement_is_told_what_the_run_before_was_unless_words_are_given(said, expected):
    previous = make_previous((("a", OUTLINED), ("gone", OUTLINED)), "a", "gone")
    _, words = read_words(Job(**said), TWO.to_points(), previous, SEQUENCE)
    assert dict(words) == expected


def test_the_words_about_a_single_object_hold_whatever_it_is_called_now():
    previous = make_previous((("liver", OUTLINED),), "liver")
    for points, name in ((ONE, ""), (PlainPoints(((0, 2, 3),), objects=("organ",)), "organ")):
        assert read_words(Job(), points.to_points(), previous, SEQUENCE)[1] == ((name, OUTLINED),)


def test_outlines_of_the_run_before_are_enough_without_points():
    points, words = read_words(Job(), None, make_previous((("", OUTLINED),), ""), SEQUENCE)
    assert (points.coordinates.tolist(), words) == ([[1, 2, 3]], (("", OUTLINED),))


def test_a_part_of_a_run_knows_what_its_objects_were_told():
    points = PointSet.from_rows([(0, 1, 1), (0, 2, 2), (0, 5, 5)], objects=["a", "b", "c"])
    previous = replace(make_previous((("a", OUTLINED), ("c", Words(size=2.0))), "a", "b", "c"), points=points)
    some, one = previous.of_objects(("a", "b")), previous.of_objects(("c",))
    assert (some.points.object_names, some.words) == (("a", "b"), (("a", OUTLINED),))
    assert (one.points.coordinates.tolist(), one.words) == ([[0, 5, 5]], (("", Words(size=2.0)),))
    assert previous.of_objects(("a", "b", "c")).words == previous.words


def test_python_needs_no_points_where_frames_are_outlined():
    phantom = make_phantom(n_frames=5, size=(40, 48))
    result = fewpoint.segment(phantom.sequence, None, 0.25, words=Words.of({2: phantom.truth[2]}), settings=TINY)
    assert result.masks.any()
    y, x = find_innermost(phantom.truth[2])
    assert result.masks[2, y, x]
