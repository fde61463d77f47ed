"""What each action does to a project."""

import pytest

from fewpoint.core import actions
from fewpoint.core.actions import (
    AddObject,
    AddPoint,
    Brush,
    ClearBox,
    MarkAbsent,
    MovePoint,
    RemovePoint,
    SetBox,
    SetFraction,
    SetSize,
)
from fewpoint.core.project import PALETTE, Project, apply_action
from fewpoint.core.saying import settle_words
from fewpoint.core.words import Box, Words
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
    project = do(AddPoint("object", 1, 2, 3), AddPoint("object", 1, 9, 9, positive=False))
    assert [click.y for click in project.objects[0].negatives] == [9]
    assert project.to_points().coordinates.tolist() == [[1, 2, 3]]


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
        (SetSize("object", 0.01), "factor between 0.05 and 20, got 0.01"),
        (SetSize("object", float("nan")), "factor between"),
        (SetSize("object", 2.0, 5), "frames go from 0 to 4"),
        (SetSize("other", 2.0), "there is no object other"),
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
    examples |= {"preset": "fast", "seed": 3, "runs": ((1, 2),), "size": 1.5}
    examples |= {"last": 3, "locked": True, "frames": ((1, ((1, 2),)), (2, ())), "places": ((0, 1, 2),)}
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


def test_each_frame_has_a_box_of_its_own_and_the_largest_bounds_the_object():
    project = do(SetBox("object", 3, 0, 0, 2, 2), SetBox("object", 1, 0, 0, 9, 9), SetBox("object", 1, 0, 0, 5, 6))
    assert project.objects[0].boxes == (Box(1, 0, 0, 5, 6), Box(3, 0, 0, 2, 2))
    assert project.bound_of("object").fraction == 30 / 600
    assert [box.frame for box in do(ClearBox("object", 1), project=project).objects[0].boxes] == [3]
    assert do(ClearBox("object"), project=project).bound_of("object") is None


def test_a_size_is_kept_until_it_is_taken_back():
    project = do(SetSize("object", 2), SetSize("object", 0.5, 4), SetSize("object", 0.8, 1), SetSize("object", 1.0, 4))
    assert (project.objects[0].size, project.objects[0].sizes) == (2.0, {1: 0.8})
    assert do(SetSize("object", None), project=project).objects[0].size == 1.0


def test_words_are_all_that_was_said_besides_clicks():
    project = do(
        AddPoint("object", 0, 2, 3),
        Brush("object", 2, ((0, 5),)),
        SetBox("object", 1, 0, 0, 9, 9),
        SetSize("object", 1.5),
        SetSize("object", 0.8, 3),
        AddObject("b"),
        AddPoint("b", 0, 9, 9),
        AddObject("nothing"),
        SetSize("nothing", 2.0),
    )
    assert project.to_words() == (("object", Words({2: ((0, 5),)}, (Box(1, 0, 0, 9, 9),), 1.5, {3: 0.8})),)


def test_clicks_that_an_outlined_frame_contradicts_do_not_count():
    """Frames are 30 pixels wide: the mask is the first five of the first row of frame 2."""
    project = do(
        AddPoint("object", 2, 0, 4),
        AddPoint("object", 2, 0, 5),
        AddPoint("object", 2, 0, 3, positive=False),
        AddPoint("object", 2, 9, 9, positive=False),
        AddPoint("object", 1, 9, 9),
        Brush("object", 2, ((0, 5),)),
    )
    points = project.to_points()
    assert points.coordinates.tolist() == [[1, 9, 9], [2, 0, 4]]
    assert points.negatives.tolist() == [[2, 9, 9]]
    assert len(project.objects[0].points) == 5


def test_a_click_on_one_object_inside_the_outline_of_another_does_not_count():
    project = do(
        AddPoint("object", 0, 0, 0),
        AddObject("b"),
        AddPoint("b", 2, 0, 4),
        AddPoint("b", 2, 0, 5),
        Brush("object", 2, ((0, 5),)),
    )
    points = project.to_points()
    assert list(zip(points.coordinates.tolist(), points.objects, strict=True)) == [
        ([0, 0, 0], "object"),
        ([2, 0, 5], "b"),
    ]


def test_an_object_that_is_only_outlined_is_clicked_in_the_middle_of_each_outline():
    """Three columns wide and three rows high at the corner of the frame: its middle is pixel 1, 1."""
    square = ((0, 3), (30, 3), (60, 3))
    project = do(Brush("object", 2, square), Brush("object", 4, square), Brush("object", 1, ()), AddObject("b"))
    assert [each.name for each in project.clicked] == ["object"]
    points = project.to_points()
    assert points.coordinates.tolist() == [[2, 1, 1], [4, 1, 1]]
    assert points.absent == (1,)


def test_an_empty_outline_says_that_its_object_is_not_there():
    project = do(
        AddPoint("object", 0, 2, 3),
        AddPoint("object", 1, 2, 3),
        Brush("object", 1, ()),
        AddObject("b"),
        AddPoint("b", 1, 9, 9),
    )
    points = project.to_points()
    assert points.absent_of == ((1, "object"),) and points.of_object("object").coordinates.tolist() == [[0, 2, 3]]


def test_an_object_with_nothing_but_an_empty_outline_cannot_be_segmented():
    project = do(AddPoint("object", 1, 2, 3), Brush("object", 1, ()))
    assert project.clicked == ()
    with pytest.raises(InputError, match="no object has a point yet"):
        project.to_points()


def test_of_an_outline_and_a_mark_that_the_object_is_absent_the_newer_counts():
    drawn = do(MarkAbsent("object", 1), Brush("object", 1, ((0, 5),))).objects[0]
    assert (drawn.absent, drawn.brushed) == ((), {1: ((0, 5),)})
    marked = do(Brush("object", 1, ((0, 5),)), MarkAbsent("object", 1)).objects[0]
    assert (marked.absent, marked.brushed) == ((1,), {})


def test_of_two_outlines_the_newer_takes_the_pixels_that_both_have():
    project = do(
        AddObject("b"), Brush("object", 1, ((0, 6), (40, 2))), Brush("b", 1, ((4, 3),)), Brush("b", 2, ((0, 1),))
    )
    assert project.find("object").brushed == {1: ((0, 4), (40, 2))}
    assert project.find("b").brushed == {1: ((4, 3),), 2: ((0, 1),)}


def test_a_box_that_a_click_lies_outside_of_still_bounds_but_says_nothing_of_its_frame():
    project = do(SetBox("object", 1, 0, 0, 5, 6), AddPoint("object", 1, 5, 0), SetBox("object", 2, 0, 0, 5, 5))
    assert [box.frame for box in project.words_of("object").boxes] == [2]
    assert project.bound_of("object").fraction == 30 / 600


def test_a_project_s_words_and_points_never_contradict_each_other():
    project = do(
        AddPoint("object", 1, 0, 0),
        AddPoint("object", 1, 5, 0),
        AddPoint("object", 2, 5, 5, positive=False),
        AddObject("b"),
        AddPoint("b", 1, 0, 1),
        SetBox("b", 1, 3, 3, 9, 9),
        Brush("object", 1, ((0, 2),)),
        Brush("b", 1, ((1, 5),)),
        Brush("object", 2, ()),
        MarkAbsent("b", 2),
        Brush("b", 2, ((200, 1),)),
    )
    points = project.to_points()
    assert settle_words(points, dict(project.to_words()), 5, (20, 30)) == (points, project.to_words())
