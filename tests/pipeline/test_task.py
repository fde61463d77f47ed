"""What makes two runs the same run."""

from dataclasses import replace

import numpy as np
import pytest

from fewpoint import __version__
from fewpoint.core import AreaBound, Box, ImageSequence, PointSet, Words
from fewpoint.core.settings import override
from fewpoint.errors import InputError
from tiny_runs import TINY, TINY_PAPER, make_task


def test_the_identity_is_the_same_for_the_same_task_on_any_device():
    assert make_task().identity() == make_task().identity() == replace(make_task(), device="auto").identity()
    assert make_task().identity().version == __version__


@pytest.mark.parametrize(
    ("part", "change"),
    [
        ("sequence", {"sequence": ImageSequence.from_array(make_task().sequence.frames + np.uint8(1))}),
        ("points", {"points": PointSet.from_rows([(0, 1, 1)])}),
        ("points", {"points": make_task(absent=(2,)).points}),
        ("bound", {"bound": AreaBound(0.26)}),
        ("bound", {"bound": None}),
        ("settings", {"settings": override(TINY, "training.clip_norm", "4")}),
        ("seed", {"seed": 1}),
        ("words", {"words": (("", Words(size=1.2)),)}),
        ("words", {"words": (("", Words.of({1: np.zeros((40, 48), bool)})),)}),
    ],
)
def test_whatever_decides_the_masks_decides_the_identity(part, change):
    here, there = make_task().identity(), replace(make_task(), **change).identity()
    assert [name for name, value in vars(here).items() if getattr(there, name) != value] == [part]


def test_where_a_bound_comes_from_is_no_part_of_the_identity():
    task = replace(make_task(), bound=AreaBound(0.25, "box"))
    assert task.identity() == make_task().identity()


def test_words_that_say_nothing_are_no_part_of_the_identity():
    assert replace(make_task(), words=(("", Words()),)).identity() == make_task().identity()
    assert make_task().identity().words == "none"


def test_of_several_objects_it_matters_whose_words_they_are():
    points = PointSet.from_rows([(0, 1, 1), (0, 20, 20)], objects=["a", "b"])
    tasks = [replace(make_task(), points=points, words=((name, Words(size=2.0)),)) for name in "ab"]
    assert tasks[0].identity().words != tasks[1].identity().words


def test_the_name_of_a_single_object_is_no_part_of_what_was_said_of_it():
    rows = [tuple(row) for row in make_task().points.coordinates.tolist()]
    named = replace(make_task(), points=PointSet.from_rows(rows, objects=["liver"] * len(rows)))
    said = [replace(task, words=((task.object_names[0], Words(size=2.0)),)) for task in (make_task(), named)]
    assert said[0].identity() == said[1].identity()


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (
            (("liver", Words(size=2.0)),),
            "words are given for the object liver, which has no point; the points name none",
        ),
        ((("", Words(boxes=(Box(5, 0, 0, 3, 3),))),), "a box is on frame 5"),
    ],
)
def test_words_about_what_there_is_not_are_refused(words, message):
    with pytest.raises(InputError, match=message):
        replace(make_task(), words=words)


def test_points_outside_the_sequence_are_refused():
    with pytest.raises(InputError, match="frames 0 to 4"):
        replace(make_task(), points=PointSet.from_rows([(5, 1, 1)]))


@pytest.mark.parametrize("settings", [TINY, TINY_PAPER])
def test_the_method_of_a_task_is_that_of_its_settings_unless_it_is_named(settings):
    assert make_task(settings).identity().method == settings.method
    other = replace(make_task(), settings=None, method="half-disc")
    assert (other.identity().method, other.uses_pipeline, other.settings_table()) == ("half-disc", False, {})
