"""The array of a client and the frames that it became."""

import numpy as np
import pytest

from fewpoint.core.geometry import Geometry
from fewpoint.errors import InputError
from fewpoint.web.remote.grid import Grid

SHAPE = (5, 6, 7)


def make_grid(spacing=(1.0, 1.0, 1.0)) -> Grid:
    affine = np.diag([*spacing[::-1], 1.0])
    return Grid.of(Geometry.from_affine(affine, SHAPE[::-1]).cut("auto"))


@pytest.mark.parametrize(
    ("spacing", "order"),
    [((1, 1, 1), (0, 1, 2)), ((1, 4, 1), (1, 0, 2)), ((1, 1, 4), (2, 0, 1)), ((3, 1, 1), (0, 1, 2))],
)
def test_the_axis_with_the_widest_spacing_is_that_of_frames_and_places_follow(spacing, order):
    grid = make_grid(spacing)
    assert (grid.shape, grid.order) == (SHAPE, order)
    values = np.arange(210).reshape(SHAPE)
    frames = grid.to_frames(values)
    np.testing.assert_array_equal(grid.from_frames(frames), values)
    assert frames[grid.find_place([4, 2, 6])] == values[4, 2, 6]
    sides = grid.find_sides([[1, 3], [2, 5], [0, 7]])
    np.testing.assert_array_equal(frames[tuple(slice(*side) for side in sides)].sum(), values[1:3, 2:5, 0:7].sum())


def test_a_box_with_broken_numbers_holds_every_voxel_it_touches_and_ends_where_the_image_does():
    assert make_grid().find_sides([[1.2, 1.9], [4.5, 99], [-3, 2.1]]) == ((1, 2), (4, 6), (0, 3))


def test_a_mask_of_a_part_and_one_of_the_whole_image_mark_the_same():
    whole = np.zeros(SHAPE, np.uint8)
    whole[2, 3:5, 1:4] = 1
    part = whole[2:3, 2:6, 1:5]
    grid = make_grid((1, 4, 1))
    one, there = grid.place_mask(part, [[2, 3], [2, 6], [1, 5]])
    other, here = grid.place_mask(whole, None)
    assert there == here == ((3, 5), (2, 3), (1, 4))
    np.testing.assert_array_equal(one, other)


@pytest.mark.parametrize("place", [[1, 2], [5, 0, 0], [-1, 0, 0], [float("nan"), 0, 0], [0, 0, float("inf")]])
def test_a_place_outside_the_image_is_refused(place):
    with pytest.raises(InputError, match="a point must"):
        make_grid().find_place(place)


@pytest.mark.parametrize(
    "box", [[[0, 1]], [[0, 1], [0, 1], [9, 12]], [[0, 1], [0], [0, 1]], [[0, 1]] * 2 + [[0, 1e400]]]
)
def test_a_box_without_a_voxel_is_refused(box):
    with pytest.raises(InputError, match="a box must"):
        make_grid().find_sides(box)


@pytest.mark.parametrize(
    ("mask", "told"),
    [
        (np.zeros(SHAPE), "this one is empty"),
        (np.ones((2, 2, 2)), r"must have the shape \(5, 6, 7\)"),
        (np.full(SHAPE, np.nan), "finite"),
    ],
)
def test_a_mask_that_says_nothing_is_refused(mask, told):
    with pytest.raises(InputError, match=told):
        make_grid().place_mask(mask, None)
