"""Points keep their objects when they are sorted, split and joined."""

from dataclasses import replace

import pytest

from fewpoint.core import PointSet
from fewpoint.errors import InputError


def test_objects_stay_with_their_points():
    points = PointSet.from_rows([(2, 0, 0), (0, 1, 1), (1, 5, 5)], objects=["liver", "spleen", "liver"])
    assert points.frames.tolist() == [0, 1, 2]
    assert points.objects == ("spleen", "liver", "liver")
    assert points.object_names == ("liver", "spleen")
    assert PointSet.from_rows([(0, 0, 0)]).object_names == ()


def test_each_point_needs_an_object_or_none_has_one():
    with pytest.raises(InputError, match="2 points, 1 names"):
        PointSet(PointSet.from_rows([(0, 0, 0), (1, 0, 0)]).coordinates, objects=("liver",))


def test_negatives_are_sorted_with_the_objects_that_they_are_not():
    points = PointSet.from_rows(
        [(0, 1, 1)], negatives=[(3, 0, 0), (1, 2, 2)], objects=["liver"], negative_objects=["liver", "spleen"]
    )
    assert points.negatives.tolist() == [[1, 2, 2], [3, 0, 0]]
    assert points.negative_objects == ("spleen", "liver")
    assert len(points) == 1
    assert PointSet.from_rows([(0, 1, 1)]).negatives.shape == (0, 3)


@pytest.mark.parametrize(
    ("negatives", "message"),
    [
        ([(0, 1, 1)], "both on the object and not: frame 0, y 1, x 1"),
        ([(0, 2, 2), (0, 2, 2)], "frame 0, y 2, x 2 is a duplicate"),
    ],
)
def test_a_pixel_is_on_the_object_or_not_and_stands_once(negatives, message):
    with pytest.raises(InputError, match=message):
        PointSet.from_rows([(0, 1, 1)], negatives=negatives)


def test_negatives_alone_are_not_enough():
    with pytest.raises(InputError, match="at least one point on the object"):
        PointSet.from_rows([], negatives=[(0, 1, 1)])


def test_negatives_must_lie_inside_too_and_may_lie_on_a_frame_marked_absent():
    points = PointSet.from_rows([(0, 1, 1)], absent=[2], negatives=[(2, 9, 1)])
    points.check_inside(3, (10, 10))
    with pytest.raises(InputError, match="y 9, x 1 on frame 2 lies outside"):
        points.check_inside(3, (9, 10))


BOTH = PointSet.from_rows(
    [(0, 1, 1), (0, 5, 5), (1, 2, 2)],
    [3],
    ["a", "b", "a"],
    negatives=[(0, 7, 7), (0, 8, 8)],
    negative_objects=["", "b"],
    absent_of=[(2, "b")],
)


def test_marks_of_an_object_are_its_own_and_those_of_all():
    assert BOTH.marks_of("a") == ([[0, 1, 1], [1, 2, 2]], [[0, 7, 7]], [3])
    assert BOTH.marks_of("b") == ([[0, 5, 5]], [[0, 7, 7], [0, 8, 8]], [2, 3])


def test_a_point_on_another_object_is_no_mark_of_this_one():
    more = PointSet.from_rows([(0, 1, 1), (0, 5, 5), (4, 4, 4)], [], ["a", "b", "b"])
    less = PointSet.from_rows([(0, 1, 1), (0, 5, 5)], [], ["a", "b"])
    assert more.marks_of("a") == less.marks_of("a")
    assert more.marks_of("b") != less.marks_of("b")


def test_the_marks_of_a_single_object_are_the_same_whatever_it_is_called():
    plain = PointSet.from_rows([(0, 1, 1)], [3], negatives=[(0, 7, 7)])
    named = replace(plain, objects=("liver",), negative_objects=("liver",))
    assert plain.marks_of("") == plain.marks_of("liver") == named.marks_of("liver") == named.marks_of("organ")


def test_to_split_gives_each_object_in_the_order_of_names():
    first, second = BOTH.split()
    for alone, name in ((first, "a"), (second, "b")):
        assert alone.marks_of("") == BOTH.of_object(name).marks_of("")
    assert second.negatives.tolist() == [[0, 1, 1], [0, 7, 7], [0, 8, 8], [1, 2, 2]]
    plain = PointSet.from_rows([(0, 1, 1)])
    assert plain.split()[0].coordinates.tolist() == [[0, 1, 1]]


def test_joined_points_are_those_of_both_unless_the_first_say_otherwise():
    own = PointSet.from_rows([(0, 1, 1)], absent=[2], negatives=[(1, 4, 4)])
    carried = PointSet.from_rows([(0, 1, 1), (1, 4, 4), (1, 5, 5), (2, 3, 3)], negatives=[(1, 9, 9)])
    joined = own.joined(carried)
    assert joined.coordinates.tolist() == [[0, 1, 1], [1, 5, 5]]  # one was refused, and one is on an absent frame
    assert joined.negatives.tolist() == [[1, 4, 4], [1, 9, 9]]
    assert joined.absent == (2,)
    crossed = PointSet.from_rows([(0, 8, 8)], negatives=[(0, 1, 1)])
    assert own.joined(crossed).negatives.tolist() == [[1, 4, 4]]
