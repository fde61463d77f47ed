"""Points keep their objects when they are sorted."""

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
