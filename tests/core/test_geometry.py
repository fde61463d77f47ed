"""Voxels, frames and millimetres agree, whatever the order and direction of the stored axes."""

from itertools import permutations

import nibabel
import numpy as np
import pytest

from fewpoint.core import Geometry, ImageSequence, Source
from fewpoint.errors import InputError
from volumes import AFFINE, VOXELS, reorient, tilt

LAS = np.array([[-2.0, 0, 0, 90], [0, 2, 0, -126], [0, 0, 5, -72], [0, 0, 0, 1]])


def rotate(degrees: float) -> np.ndarray:
    """A turn about the x axis."""
    c, s = np.cos(np.radians(degrees)), np.sin(np.radians(degrees))
    return np.array([[1, 0, 0], [0, c, -s], [0, s, c]])


def test_an_affine_is_taken_apart_and_put_together_again():
    geometry = Geometry.from_affine(LAS, (4, 5, 6))
    assert geometry.spacing_mm == (2, 2, 5)
    assert geometry.origin_mm == (90, -126, -72)
    np.testing.assert_array_equal(geometry.affine, LAS)
    assert geometry.voxel_ml == pytest.approx(0.02)


def test_frames_follow_the_cut_axis_rows_the_later_and_columns_the_earlier_of_the_others():
    geometry = Geometry.from_affine(LAS, (2, 3, 4))
    stored = np.arange(24).reshape(2, 3, 4)
    for axis, expected in [("2", stored[:, :, 1].T), ("1", stored[:, 1].T), ("0", stored[1].T)]:
        cut = geometry.cut(axis)
        np.testing.assert_array_equal(cut.to_frames(stored)[1], expected)
        assert cut.frames_shape == cut.to_frames(stored).shape


@pytest.mark.parametrize("axes", permutations(range(3)))
def test_frames_go_back_to_where_they_were_stored(axes):
    stored = np.arange(2 * 3 * 4 * 2).reshape(2, 3, 4, 2)
    geometry = Geometry((2, 3, 4), (1, 1, 1), np.eye(3), (0, 0, 0), axes)
    np.testing.assert_array_equal(geometry.to_stored(geometry.to_frames(stored)), stored)


@pytest.mark.parametrize(
    ("spacing", "axis"),
    [((1, 1, 3), 2), ((1, 3, 1), 1), ((3, 1, 1), 0), ((1, 1, 1), 2), ((1.005, 1, 1), 2), ((2, 2, 1), 2)],
)
def test_auto_cuts_along_the_widest_spacing_and_else_along_the_last_axis(spacing, axis):
    assert Geometry.from_affine(np.diag([*spacing, 1.0]), (8, 8, 8)).cut("auto").axes[0] == axis


@pytest.mark.parametrize("order", permutations(range(3)))
def test_planes_are_found_whatever_axis_is_stored_first(order):
    """order[n] is the patient's axis that stored axis n runs along, turned by 30 degrees and flipped."""
    affine = np.eye(4)
    affine[:3, :3] = rotate(30) @ np.diag([-1.0, 1, -1]) @ np.eye(3)[:, list(order)]
    geometry = Geometry.from_affine(affine, (8, 8, 8))
    for world, plane in enumerate(("sagittal", "coronal", "axial")):
        assert geometry.cut(plane).axes[0] == order.index(world)


def test_a_plane_between_two_axes_is_still_one_of_its_own():
    """At 45 degrees two stored axes are as close to one normal; each plane gets another axis all the same."""
    affine = np.eye(4)
    affine[:3, :3] = rotate(45)
    geometry = Geometry.from_affine(affine, (8, 8, 8))
    assert {geometry.cut(plane).axes[0] for plane in ("sagittal", "coronal", "axial")} == {0, 1, 2}


def test_millimetres_find_their_voxel_by_hand():
    geometry = Geometry.from_affine(LAS, (91, 109, 30))
    np.testing.assert_allclose(
        geometry.to_voxels(np.array([[90.0, -126, -72], [86, -120, -62]])), [[0, 0, 0], [2, 3, 2]]
    )


def test_areas_are_those_of_the_plane_that_is_seen():
    geometry = Geometry.from_affine(np.diag([1.0, 2, 5, 1]), (4, 4, 4))
    assert [geometry.cut(axis).pixel_mm2 for axis in "012"] == pytest.approx([10, 5, 2])
    assert geometry.cut("2").pixel_spacing_mm == (2, 1)


@pytest.mark.parametrize(
    ("change", "fragment"),
    [
        ({"shape": (0, 3, 4)}, "at least one voxel"),
        ({"axes": (0, 0, 1)}, "each of 0, 1 and 2 once"),
        ({"spacing_mm": (1, 0, 1)}, "above 0"),
        ({"origin_mm": (np.nan, 0, 0)}, "finite"),
        ({"direction": np.ones((3, 3))}, "three directions"),
    ],
)
def test_what_is_no_place_is_refused(change, fragment):
    values = {"shape": (2, 3, 4), "spacing_mm": (1, 1, 1), "direction": np.eye(3), "origin_mm": (0, 0, 0)}
    with pytest.raises(InputError, match=fragment):
        Geometry(**{**values, **change})


def test_an_unknown_axis_and_a_flat_affine_are_refused():
    with pytest.raises(InputError, match="one of auto, 0, 1, 2, sagittal"):
        Geometry.from_affine(LAS, (2, 3, 4)).cut("3")
    with pytest.raises(InputError, match="column of zeros"):
        Geometry.from_affine(np.diag([1.0, 0, 1, 1]), (2, 3, 4))


def test_frames_that_do_not_fit_their_geometry_are_refused():
    source = Source("a.nii", "nifti", Geometry.from_affine(LAS, (5, 4, 3)))
    frames = np.zeros((3, 4, 5, 1), np.uint8)
    assert ImageSequence(frames, ("a", "b", "c"), source).geometry is source.geometry
    with pytest.raises(InputError, match="must fit their geometry"):
        ImageSequence(frames[:, :3], ("a", "b", "c"), source)


def test_a_cropped_volume_keeps_its_voxels_where_they_were():
    affine = np.array([[0, -0.5, 0.1, 9.0], [0.2, 0, 3, -8], [-0.5, 0, 0, 7], [0, 0, 0, 1]])
    whole = Geometry.from_affine(affine, (20, 30, 8)).cut("2")
    part = whole.crop((4, 10), (5, 20))
    assert part.frames_shape == (8, 6, 15)
    assert (part.spacing_mm, part.axes) == (whole.spacing_mm, whole.axes)
    # Row 0 and column 0 of the part are row 4 and column 5 of the whole: stored indices j = 4, i = 5.
    np.testing.assert_allclose(part.affine @ [1, 2, 3, 1], whole.affine @ [1 + 5, 2 + 4, 3, 1])


@pytest.mark.parametrize("flips", [(a, b, c) for a in (1, -1) for b in (1, -1) for c in (1, -1)])
@pytest.mark.parametrize("axis", ["0", "1", "2"])
def test_directions_are_those_that_nibabel_reads_from_the_affine(flips, axis):
    voxels, affine = reorient(VOXELS, tilt(AFFINE), flips)
    geometry = Geometry.from_affine(affine, voxels.shape).cut(axis)
    codes = nibabel.aff2axcodes(affine)
    assert geometry.directions == tuple(codes[stored] for stored in geometry.axes)
