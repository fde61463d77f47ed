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
