"""Words against the masks that a person saw: a square on every frame but the last."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.ndimage import distance_transform_edt

from fewpoint.core import AreaBound, ImageSequence, PointSet
from fewpoint.pipeline import contradiction
from fewpoint.pipeline.contradiction import Contradiction, find_contradiction
from fewpoint.pipeline.model import GroupModel, Model
from fewpoint.pipeline.previous import Cut, PreviousGroup, PreviousRun
from fewpoint.pipeline.task import Task
from fewpoint.superpixels.sizing import find_excess, sum_up_depths
from tiny_runs import TINY

N_FRAMES, SIDE = 4, 24
INSIDE = (0, 10, 10)
START = PointSet.from_rows([INSIDE])
SQUARE = np.zeros((N_FRAMES, SIDE, SIDE), np.uint8)
SQUARE[:-1, 6:16, 6:16] = 1
RADIUS = 10 / np.sqrt(np.pi)


def make_task(
    clicks: list[tuple[int, int, int]], negatives: list[tuple[int, int, int]], labels: np.ndarray | None = SQUARE
) -> Task:
    """A refinement of a run that was told the first click."""
    sequence = ImageSequence.from_array(np.zeros((N_FRAMES, SIDE, SIDE), np.uint8))
    model = GroupModel(("",), ())
    group = PreviousGroup((AreaBound(0.2),), (0, SIDE, 0, SIDE), model, labels=labels)
    previous = PreviousRun("", "", TINY, (group,), Model(TINY.network, 1, (model,)), START)
    points = PointSet.from_rows([INSIDE, *clicks], negatives=negatives)
    return Task(sequence, points, AreaBound(0.2), TINY, previous=previous)


def depth_of(*pixels: float) -> float:
    return sum_up_depths(np.array(pixels) / RADIUS)


PLACES = st.tuples(st.integers(0, N_FRAMES - 2), st.integers(0, SIDE - 1), st.integers(0, SIDE - 1))


@given(PLACES)
def test_depths_are_those_of_a_distance_transform_that_ends_with_the_frame(place):
    frame, y, x = place
    for mask, said in ((SQUARE[frame] == 0, ([place], [])), (SQUARE[frame] == 1, ([], [place]))):
        depth = distance_transform_edt(np.pad(mask, 1))[y + 1, x + 1]
        found = find_contradiction(make_task(*said), Cut()) if place != INSIDE else None
        if found is not None:
            assert (found.missed if said[0] else found.leaked) == pytest.approx(depth_of(depth))


def test_a_click_on_a_frame_without_a_mask_is_as_deep_as_the_frame_allows():
    assert find_contradiction(make_task([(3, 4, 12)], []), Cut()).missed == pytest.approx(depth_of(5))


def test_of_very_many_words_some_are_measured(monkeypatch):
    measured = []
    monkeypatch.setattr(contradiction, "_measure_depth", lambda region, place: measured.append(place) or 1.0)
    clicks = [(frame, y, 17) for frame in range(N_FRAMES) for y in range(SIDE)]
    find_contradiction(make_task(clicks, [(2, 10, 10)]), Cut())
    assert len(measured) <= contradiction.MOST_WORDS + 1
    assert {frame for frame, _, _ in measured} == set(range(N_FRAMES))


def test_words_of_one_kind_say_nothing_of_the_size_by_their_depth():
    for said in (([(1, 10, 20)], []), ([], [(1, 10, 7)])):
        found = find_contradiction(make_task(*said), Cut())
        assert (found.new, found.excess) == (1, None)


def test_words_of_both_kinds_say_how_much_too_large_masks_are():
    found = find_contradiction(make_task([(1, 10, 17)], [(2, 10, 10)]), Cut())
    assert (found.missed, found.leaked) == pytest.approx((depth_of(2), depth_of(5)))
    assert found.excess == pytest.approx(find_excess(depth_of(2), depth_of(5)))
    assert found.excess > 0


def test_a_word_stands_against_earlier_ones_of_the_other_kind_and_counts_half():
    both = find_contradiction(make_task([(1, 10, 17)], [(2, 10, 10)]), Cut())
    later = find_contradiction(make_task([], [(2, 10, 10)]), Cut(missed=depth_of(2)))
    assert later == Contradiction(both.missed, both.leaked, new=1)
    assert later.excess == pytest.approx(both.excess / 2)


def test_without_new_words_there_is_no_contradiction_but_what_was_said_is_remembered():
    found = find_contradiction(make_task([], []), Cut(missed=-1.0, leaked=-2.0))
    assert found == Contradiction(-1.0, -2.0, new=0)
    assert found.excess is None


@pytest.mark.parametrize("labels", [None, SQUARE[:, :-1], np.zeros_like(SQUARE)], ids=["none", "another size", "empty"])
def test_without_the_masks_that_were_seen_nothing_new_is_said(labels):
    found = find_contradiction(make_task([(1, 10, 17)], [(2, 10, 10)], labels), Cut(missed=-1.0))
    assert found == Contradiction(missed=-1.0)


def test_without_the_words_before_nothing_new_is_said():
    task = make_task([(1, 10, 17)], [(2, 10, 10)])
    assert find_contradiction(replace(task, previous=replace(task.previous, points=None)), Cut()) == Contradiction()
    assert find_contradiction(replace(task, previous=None), Cut()) == Contradiction()


def test_of_several_objects_the_mask_is_that_which_own_clicks_lie_on():
    labels = SQUARE.copy()
    labels[:, 18:22, 2:8] = 2
    own = make_task([(1, 10, 17)], [(2, 10, 10)], labels)
    assert find_contradiction(own, Cut()) == find_contradiction(make_task([(1, 10, 17)], [(2, 10, 10)]), Cut())
    told = PointSet.from_rows([INSIDE, (0, 19, 4)], objects=["a", "b"])
    other = replace(own, points=told.of_object("b"), previous=replace(own.previous, points=told))
    assert find_contradiction(other, Cut()).new == 0  # the click on the first was a negative before, too
