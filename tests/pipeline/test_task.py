"""What makes two runs the same run."""

from dataclasses import replace

import numpy as np
import pytest

from fewpoint import __version__
from fewpoint.core import AreaBound, ImageSequence, PointSet
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
    ],
)
def test_whatever_decides_the_masks_decides_the_identity(part, change):
    here, there = make_task().identity(), replace(make_task(), **change).identity()
    assert [name for name, value in vars(here).items() if getattr(there, name) != value] == [part]


def test_where_a_bound_comes_from_is_no_part_of_the_identity():
    task = replace(make_task(), bound=AreaBound(0.25, "box"))
    assert task.identity() == make_task().identity()


def test_points_outside_the_sequence_are_refused():
    with pytest.raises(InputError, match="frames 0 to 4"):
        replace(make_task(), points=PointSet.from_rows([(5, 1, 1)]))


@pytest.mark.parametrize("settings", [TINY, TINY_PAPER])
def test_the_method_of_a_task_is_that_of_its_settings_unless_it_is_named(settings):
    assert make_task(settings).identity().method == settings.method
    other = replace(make_task(), settings=None, method="half-disc")
    assert (other.identity().method, other.uses_pipeline, other.settings_table()) == ("half-disc", False, {})
