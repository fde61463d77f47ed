"""What a client marks, as actions of a project."""

import numpy as np
import pytest

from fewpoint.core.actions import AddPoints, Brush, SetBox
from fewpoint.core.project import Project, apply_action
from fewpoint.errors import InputError
from fewpoint.web.remote.interactions import (
    MOST_OF_LINE,
    MOST_OF_REGION,
    plan_box,
    plan_clicks,
    plan_lasso,
    plan_mask,
    plan_scribble,
    thin_out,
)

SHAPE = (9, 40, 40)
EMPTY = Project(SHAPE)


def say(plan, *given, project: Project = EMPTY) -> Project:
    """The project after what a plan makes of something marked."""
    for number, action in enumerate(plan(project, project.objects[0], *given), start=100):
        project = apply_action(action, project, number)
    return project


def places(project: Project, positive: bool) -> list[tuple[int, int, int]]:
    target = project.objects[0]
    return [(click.frame, click.y, click.x) for click in (target.positives if positive else target.negatives)]


def draw(flat: int, at: int) -> tuple[np.ndarray, tuple[tuple[int, int], ...]]:
    """A disc of radius 5 on a plane, and where it lies."""
    y, x = np.ogrid[-5:6, -5:6]
    sides = [(10, 21), (12, 23)]
    sides.insert(flat, (at, at + 1))
    return np.expand_dims(y**2 + x**2 <= 25, flat), tuple(sides)


def test_a_click_of_the_other_kind_takes_the_place_of_an_earlier_one():
    clicked = say(plan_clicks, [(3, 5, 6)], True)
    assert places(clicked, True) == [(3, 5, 6)]
    again = say(plan_clicks, [(3, 5, 6)], True, project=clicked)
    assert places(again, True) == [(3, 5, 6)]
    corrected = say(plan_clicks, [(3, 5, 6)], False, project=again)
    assert (places(corrected, True), places(corrected, False)) == ([], [(3, 5, 6)])


def test_a_click_takes_back_the_outline_that_it_contradicts_and_no_other():
    outlined = EMPTY
    for frame in (2, 3):
        outlined = apply_action(Brush("object", frame, ((0, 40),)), outlined, frame)
    assert set(say(plan_clicks, [(2, 0, 5)], True, project=outlined).objects[0].brushed) == {2, 3}
    assert set(say(plan_clicks, [(2, 0, 5)], False, project=outlined).objects[0].brushed) == {3}
    assert set(say(plan_clicks, [(2, 9, 9)], True, project=outlined).objects[0].brushed) == {3}


def test_a_box_on_a_frame_is_a_box_with_a_click_in_its_middle_unless_one_is_there():
    sides = ((4, 5), (10, 21), (12, 33))
    actions = plan_box(EMPTY, EMPTY.objects[0], sides, True)
    assert actions == [SetBox("object", 4, 10, 12, 21, 33), AddPoints("object", ((4, 15, 22),))]
    clicked = say(plan_clicks, [(4, 11, 13)], True)
    assert places(say(plan_box, sides, True, project=clicked), True) == [(4, 11, 13)]


def test_a_box_round_the_whole_frame_is_a_click_alone():
    project = say(plan_box, ((4, 5), (0, 40), (0, 40)), True)
    assert (places(project, True), project.objects[0].boxes) == ([(4, 20, 20)], ())


def test_a_box_across_the_frames_says_where_the_object_ends():
    project = say(plan_box, ((2, 7), (15, 16), (12, 33)), True)
    assert places(project, True) == [(4, 15, 22)]
    assert places(project, False) == [(0, 15, 22), (8, 15, 22), (4, 15, 10), (4, 15, 34)]
    at_the_end = say(plan_box, ((0, 9), (15, 16), (12, 33)), True)
    assert places(at_the_end, False) == [(4, 15, 10), (4, 15, 34)]


def test_a_box_beside_the_object_becomes_clicks_all_over_it():
    found = places(say(plan_box, ((4, 5), (10, 21), (12, 33)), False), False)
    assert len(found) == 25
    assert {(4, 10, 12), (4, 20, 32)} <= set(found)


def test_a_box_through_several_slices_of_all_planes_is_refused():
    with pytest.raises(InputError, match="on one slice"):
        say(plan_box, ((2, 7), (10, 21), (12, 33)), True)


@pytest.mark.parametrize("flat", [0, 1, 2])
def test_a_thick_line_becomes_a_few_clicks_along_its_middle(flat):
    mask = np.zeros((5, 30), bool)
    mask[1:4] = True
    sides = [(2, 7), (5, 35)]
    sides.insert(flat, (6, 7))
    found = np.array(places(say(plan_scribble, (np.expand_dims(mask, flat), tuple(sides)), True), True))
    rows, columns = np.delete(found, flat, axis=1).T
    assert (found[:, flat] == 6).all() and (abs(rows - 4) <= 1).all() and np.median(rows) == 4
    assert 4 <= len(found) <= MOST_OF_LINE
    assert np.ptp(columns) > 20


@pytest.mark.parametrize("flat", [0, 1, 2])
def test_a_lasso_is_a_click_deep_inside_and_an_end_round_it(flat):
    project = say(plan_lasso, draw(flat, 4), True, project=Project((40, 40, 40)))
    middle = [15, 17]
    middle.insert(flat, 4)
    assert places(project, True) == [tuple(middle)]
    boxes = [(box.frame, box.top, box.left, box.bottom, box.right) for box in project.objects[0].boxes]
    assert boxes == ([] if flat else [(4, 10, 12, 21, 23)])
    assert len(places(project, False)) == (4 if flat else 0)


def test_a_lasso_beside_the_object_becomes_clicks_inside_it():
    mask, sides = draw(0, 4)
    found = places(say(plan_lasso, (mask, sides), False), False)
    assert 5 < len(found) <= MOST_OF_REGION
    assert all(mask[0, y - 10, x - 12] for _, y, x in found)


def test_some_frames_of_a_given_mask_count_as_outlined():
    frames = np.zeros((30, 40, 40), bool)
    frames[4:26, 10:20, 10:20] = True
    (action,) = plan_mask(EMPTY.objects[0], frames)
    outlined = [frame for frame, _ in action.frames]
    assert (len(outlined), outlined[0], outlined[-1]) == (9, 4, 25)
    (short,) = plan_mask(EMPTY.objects[0], frames[:6])
    assert [frame for frame, _ in short.frames] == [4, 5]


def test_thinned_places_are_some_of_those_given_and_no_more_than_asked_for():
    given = [(0, y, x) for y in range(50) for x in range(50)]
    found = thin_out(given, 20, 2)
    assert len(found) <= 20 and set(found) <= set(given)
