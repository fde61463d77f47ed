"""What each action does to a project."""

import pytest

from fewpoint.core import actions
from fewpoint.core.actions import AddObject, AddPoint, Brush, MarkAbsent, MovePoint, RemovePoint, SetBox, SetFraction
from fewpoint.core.project import PALETTE, Project, apply_action
from fewpoint.errors import InputError

EMPTY = Project((5, 20, 30))


def do(*steps, project=EMPTY) -> Project:
    for number, step in enumerate(steps, start=1):
        project = apply_action(step, project, number)
    return project


def test_a_point_keeps_its_number_when_it_is_moved():
    project = do(AddPoint("object", 1, 2, 3), MovePoint(1, 7, 8))
    (click,) = project.objects[0].points
    assert (click.id, click.frame, click.y, click.x) == (1, 1, 7, 8)


def test_a_removed_point_is_gone():
    assert do(AddPoint("object", 1, 2, 3), RemovePoint(1)).objects[0].points == ()


def test_negative_points_are_kept_apart_from_those_on_the_object():
    target = do(AddPoint("object", 1, 2, 3), AddPoint("object", 1, 9, 9, positive=False)).objects[0]
    assert [click.y for click in target.negatives] == [9]
    assert target.to_points().coordinates.tolist() == [[1, 2, 3]]


def test_a_click_on_an_absent_frame_takes_the_mark_away():
    assert do(MarkAbsent("object", 1), AddPoint("object", 1, 2, 3)).objects[0].absent == ()


def test_a_negative_click_on_an_absent_frame_leaves_the_mark():
    assert do(MarkAbsent("object", 1), AddPoint("object", 1, 2, 3, positive=False)).objects[0].absent == (1,)


def test_marking_a_frame_absent_removes_the_clicks_on_the_object_there():
    target = do(AddPoint("object", 1, 2, 3), AddPoint("object", 2, 2, 3), MarkAbsent("object", 1)).objects[0]
    assert [click.frame for click in target.points] == [2] and target.absent == (1,)


def test_a_box_bounds_its_object_and_the_share_all_others():
    project = do(AddObject("b"), SetFraction(0.5), SetBox("object", 0, 0, 0, 10, 15))
    assert project.bound_of("object").fraction == 0.25
    assert project.bound_of("b").fraction == 0.5
    assert EMPTY.bound_of("object") is None


def test_a_new_object_gets_a_colour_that_no_other_has():
    colours = [each.colour for each in do(AddObject("b"), AddObject("c")).objects]
    assert colours == list(PALETTE[:3])


def test_a_renamed_object_keeps_all_that_was_said_of_it():
    project = do(AddPoint("object", 1, 2, 3), actions.RenameObject("object", "liver"))
    assert project.find("liver").id == 0 and len(project.find("liver").points) == 1


def test_points_on_all_objects_carry_their_names():
    project = do(AddObject("b"), AddPoint("b", 0, 1, 1), AddPoint("object", 0, 2, 2), MarkAbsent("object", 3))
    points = project.to_points()
    assert points.objects == ("b", "object") and points.absent == ()


def test_a_brushed_frame_is_kept_and_can_be_cleared():
    project = do(Brush("object", 2, ((0, 5),)))
    assert project.objects[0].brushed == {2: ((0, 5),)}
    assert do(actions.ClearBrush("object", 2), project=project).objects[0].brushed == {}


@pytest.mark.parametrize(
    ("action", "message"),
    [
        (AddPoint("object", 5, 0, 0), "frames go from 0 to 4"),
        (AddPoint("object", 0, 20, 0), "outside the 20 x 30 frame"),
        (AddPoint("object", 0, -1, 0), "outside"),
        (AddPoint("other", 0, 0, 0), "there is no object other"),
        (MovePoint(9, 0, 0), "there is no point 9"),
        (SetBox("object", 0, 5, 5, 5, 9), "y0 < y1"),
        (SetBox("object", 0, 0, 0, 20, 30), "whole frame"),
        (SetFraction(1.0), "between 0 and 1"),
        (AddObject("object"), "already"),
        (AddObject(" "), "printable"),
        (AddObject("a\nb"), "printable"),
        (AddObject("b", "red"), "#rrggbb"),
        (actions.RemoveObject("object"), "one object at least"),
        (actions.SetSettings("best"), "must be one of"),
        (actions.SetSettings("fast", -1), "seed"),
        (Brush("object", 0, ((599, 2),)), "must follow each other"),
    ],
    ids=lambda value: getattr(value, "kind", ""),
)
def test_an_action_without_meaning_is_refused_with_a_reason(action, message):
    with pytest.raises(InputError, match=message):
        do(action)


def test_a_second_point_at_one_place_is_refused():
    with pytest.raises(InputError, match="already"):
        do(AddPoint("object", 1, 2, 3), AddPoint("object", 1, 2, 3))


@pytest.mark.parametrize("kind", actions.KINDS)
def test_every_action_comes_back_from_what_is_written_down(kind):
    examples = {"object": "object", "frame": 1, "y": 2, "x": 3, "positive": False, "point": 4, "absent": False}
    examples |= {"top": 0, "left": 1, "bottom": 2, "right": 3, "fraction": 0.5, "name": "b", "colour": "#000000"}
    examples |= {"preset": "fast", "seed": 3, "runs": ((1, 2),)}
    names = [name for name in actions.KINDS[kind].__dataclass_fields__ if name != "kind"]
    action = actions.KINDS[kind](**{name: examples[name] for name in names})
    assert actions.from_table(actions.to_table(action)) == action


@pytest.mark.parametrize(
    "table",
    [
        None,
        {},
        {"kind": "explode"},
        {"kind": ["undo"]},
        {"kind": "remove_point"},
        {"kind": "remove_point", "point": "4"},
        {"kind": "remove_point", "point": True},
        {"kind": "remove_point", "point": 4, "extra": 1},
        {"kind": "mark_absent", "object": "a", "frame": 0, "absent": 1},
        {"kind": "brush", "object": "a", "frame": 0, "runs": [[1]]},
        {"kind": "brush", "object": "a", "frame": 0, "runs": [[1, 2.5]]},
    ],
)
def test_what_is_no_action_is_refused(table):
    with pytest.raises(InputError):
        actions.from_table(table)


def test_a_click_on_one_object_says_that_another_is_not_there():
    project = do(
        AddPoint("object", 1, 2, 3),
        AddPoint("object", 1, 9, 9, positive=False),
        AddObject("other"),
        AddPoint("other", 1, 5, 5),
    )
    points = project.to_points().of_object("object")
    assert points.coordinates.tolist() == [[1, 2, 3]]
    assert points.negatives.tolist() == [[1, 5, 5], [1, 9, 9]]


def test_one_place_on_two_objects_is_refused():
    project = do(AddPoint("object", 1, 2, 3), AddObject("other"), AddPoint("other", 1, 2, 3))
    with pytest.raises(InputError, match="frame 1, y 2, x 3"):
        project.to_points()


def test_an_object_may_be_absent_where_another_is():
    project = do(
        AddPoint("object", 0, 2, 3),
        AddObject("other"),
        AddPoint("other", 2, 5, 5),
        MarkAbsent("object", 4),
        MarkAbsent("other", 4),
        MarkAbsent("other", 0),
    )
    points = project.to_points()
    assert (points.absent, points.absent_of) == ((4,), ((0, "other"),))
