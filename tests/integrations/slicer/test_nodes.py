"""Nodes of the scene become a volume and points, and masks a segmentation on the same voxels."""

import numpy as np
import pytest
from FewpointLib.grid import PlaceError
from FewpointLib.study import Memory, ObjectMask

from fewpoint.io.images import read_sequence
from fewpoint.io.points import read_points
from integrations.slicer.phantoms import POINTS, ROWS, TILTED, VOLUME
from integrations.slicer.scenes import add_points, add_transform, add_volume, read_segment
from integrations.slicer.test_grid import save

MOVED = np.array([[0.0, -1.0, 0.0, 30.0], [1.0, 0.0, 0.0, -7.0], [0.0, 0.0, 1.0, 4.0], [0.0, 0.0, 0.0, 1.0]])


def test_a_volume_is_read_with_its_place(scene):
    found = scene.nodes.read_volume(add_volume(scene))
    assert found.name == VOLUME.name and np.array_equal(found.array, VOLUME.array)
    assert found.ijk_to_ras == pytest.approx(TILTED, abs=1e-9)
    assert found.grid.find_pixels(POINTS) == ROWS


def test_a_volume_without_voxels_is_refused(scene):
    empty = scene.slicer.mrmlScene.AddNewNodeByClass("vtkMRMLScalarVolumeNode", "empty")
    with pytest.raises(PlaceError, match="empty must hold voxels"):
        scene.nodes.read_volume(empty)


def test_points_that_were_placed_are_read_with_their_labels(scene):
    node = add_points(scene, "liver", POINTS)
    node.UnsetNthControlPointPosition(1)
    found = scene.nodes.read_points(node, add_volume(scene))
    assert [point.label for point in found] == ["F-1", "F-3", "F-4", "F-5", "F-6"]
    assert VOLUME.grid.find_pixels(found) == [ROWS[0], *ROWS[2:]]


def test_points_fall_on_their_voxels_under_any_transform(scene):
    volume, moved = add_volume(scene), add_transform(scene, MOVED)
    volume.SetAndObserveTransformNodeID(moved.GetID())
    beside = [type(POINTS[0])(point.label, tuple((MOVED @ (*point.ras, 1))[:3].tolist())) for point in POINTS]
    assert VOLUME.grid.find_pixels(scene.nodes.read_points(add_points(scene, "liver", beside), volume)) == ROWS
    along = add_points(scene, "liver", POINTS)
    along.SetAndObserveTransformNodeID(moved.GetID())
    assert VOLUME.grid.find_pixels(scene.nodes.read_points(along, volume)) == ROWS


def test_masks_are_shown_on_the_voxels_of_the_volume_each_object_as_a_segment(scene):
    volume, moved = add_volume(scene), add_transform(scene, MOVED)
    volume.SetAndObserveTransformNodeID(moved.GetID())
    masks = [ObjectMask(name, (1.0, 0.0, 0.0), np.zeros_like(VOLUME.array)) for name in ("liver", "spleen")]
    masks[0].array[3:9, 4:7, 1:3] = 1
    masks[1].array[20, 30, 5] = 1
    node = scene.nodes.show_masks(masks, volume)
    for mask in masks:
        assert np.array_equal(read_segment(scene, node, mask.name, volume), mask.array)
    masks[0].array[:] = 0
    masks[0].array[40, 2, 0] = 1
    assert scene.nodes.show_masks(masks[:1], volume).GetID() == node.GetID()
    assert node.GetSegmentation().GetNumberOfSegments() == 2
    for mask in masks:
        assert np.array_equal(read_segment(scene, node, mask.name, volume), mask.array)


def test_an_empty_mask_empties_its_segment(scene):
    volume = add_volume(scene)
    full = ObjectMask("liver", (1.0, 0.0, 0.0), np.ones_like(VOLUME.array))
    node = scene.nodes.show_masks([full], volume)
    scene.nodes.show_masks([ObjectMask("liver", (1.0, 0.0, 0.0), np.zeros_like(VOLUME.array))], volume)
    assert not read_segment(scene, node, "liver", volume).any()


def test_what_is_remembered_of_a_volume_is_kept_with_it(scene):
    volume, memory = add_volume(scene), Memory("http://host", "1", "2", TILTED.tolist(), {"liver": [[0, 1, 2, 1]]})
    assert scene.nodes.recall(volume) is None
    scene.nodes.remember(volume, memory)
    assert scene.nodes.recall(volume) == memory


def test_an_object_keeps_its_name_when_its_list_is_renamed(scene):
    points = add_points(scene, "liver", POINTS)
    assert scene.nodes.name_object(points) == "liver"
    points.SetName("liver, second look")
    assert scene.nodes.name_object(points) == "liver"


@pytest.mark.parametrize("scene", ["slicer-core"], indirect=True)
def test_point_lists_that_slicer_saves_are_read_from_the_command_line(scene, tmp_path):
    path, node = tmp_path / "liver.mrk.json", add_points(scene, "liver", POINTS)
    node.SetNthControlPointLabel(1, "F-2 negative")
    node.AddDefaultStorageNode()
    node.GetStorageNode().SetFileName(str(path))
    assert node.GetStorageNode().WriteData(node)
    points = read_points(path, read_sequence(save(VOLUME.array, VOLUME.grid, tmp_path)))
    assert sorted(points.coordinates.tolist()) == sorted(map(list, [ROWS[0], *ROWS[2:]]))
    assert points.negatives.tolist() == [list(ROWS[1])]
