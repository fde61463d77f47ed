"""Voxels that are sent lie where Slicer has them, and points fall on the voxel that they were placed on."""

import numpy as np
import pytest
import SimpleITK
from FewpointLib.grid import Grid, PlaceError, Point, encode_nrrd

from fewpoint.io.images import read_sequence
from integrations.slicer.phantoms import PHANTOM, POINTS, ROWS, TILTED, VOLUME


def save(array: np.ndarray, grid: Grid, folder):
    path = folder / "sent.nrrd"
    path.write_bytes(b"".join(bytes(part) for part in encode_nrrd(array, grid)))
    return path


def test_the_server_sees_the_frames_that_the_grid_promises(tmp_path):
    sequence = read_sequence(save(VOLUME.array, VOLUME.grid, tmp_path))
    assert np.array_equal(sequence.frames, PHANTOM.sequence.frames)
    assert np.array_equal(VOLUME.grid.to_frames(VOLUME.array), PHANTOM.sequence.frames[..., 0])
    assert np.array_equal(VOLUME.grid.to_array(PHANTOM.truth), PHANTOM.truth.transpose(1, 2, 0))


def test_itk_finds_every_voxel_where_slicer_has_it(tmp_path):
    image = SimpleITK.ReadImage(str(save(VOLUME.array, VOLUME.grid, tmp_path)))
    for k, j, i in [(0, 0, 0), (47, 3, 5), (20, 39, 2)]:
        right, anterior, superior, _ = TILTED @ (i, j, k, 1)
        index = image.TransformPhysicalPointToIndex((-right, -anterior, superior))
        assert image[index] == VOLUME.array[k, j, i]


def test_points_fall_on_the_voxel_that_they_were_placed_on():
    assert VOLUME.grid.find_pixels(POINTS) == ROWS
    beside = [Point("F", tuple((TILTED @ (2.4, 10.4, 19.6, 1))[:3].tolist()))]
    assert VOLUME.grid.find_pixels(beside) == [(2, 20, 10)]


@pytest.mark.parametrize(
    ("spacing_mm", "order"),
    [((1, 1, 1), (0, 1, 2)), ((5, 1, 1), (1, 2, 0)), ((1, 5, 1), (0, 2, 1)), ((1.005, 1, 1), (0, 1, 2))],
)
def test_frames_lie_along_the_axis_that_the_server_cuts(tmp_path, spacing_mm, order):
    grid = Grid.of((4, 5, 6), np.diag([*spacing_mm, 1.0]))
    array = np.arange(120, dtype=np.int16).reshape(6, 5, 4)
    sequence = read_sequence(save(array, grid, tmp_path))
    assert (grid.order, sequence.frames.shape[:3]) == (order, grid.frames_shape)
    assert np.array_equal(sequence.frames[..., 0], grid.to_frames(array))
    assert [sequence.geometry.spacing_mm[axis] for axis in sequence.geometry.axes] == pytest.approx(grid.spacing_mm)


@pytest.mark.parametrize(
    "kind", [np.uint8, np.int16, np.uint16, np.int32, np.float32, np.float64, np.int64, bool, ">i2"]
)
def test_every_type_of_voxel_is_sent(tmp_path, kind):
    array = np.arange(60).reshape(5, 4, 3).astype(kind)
    image = SimpleITK.ReadImage(str(save(array, Grid.of((3, 4, 5), np.eye(4)), tmp_path)))
    assert np.array_equal(SimpleITK.GetArrayFromImage(image), array)


def test_colours_are_sent_as_channels(tmp_path):
    array = np.arange(180, dtype=np.uint8).reshape(5, 4, 3, 3)
    sequence = read_sequence(save(array, Grid.of((3, 4, 5), np.diag([1.0, 1.0, 2.0, 1.0])), tmp_path))
    assert np.array_equal(sequence.frames, array)


def test_a_point_outside_is_named():
    with pytest.raises(PlaceError, match=r"F-9 lies outside the volume: on voxel \[.*\] of \[6, 40, 48\]"):
        VOLUME.grid.find_pixels([Point("F-9", (900.0, 0.0, 0.0))])
    with pytest.raises(PlaceError, match="F-9 must have a place"):
        VOLUME.grid.find_pixels([Point("F-9", (float("nan"), 0.0, 0.0))])


def test_a_volume_without_a_place_is_refused():
    with pytest.raises(PlaceError, match="spacing above 0"):
        Grid.of((3, 4, 5), np.diag([1.0, 0.0, 1.0, 1.0]))
