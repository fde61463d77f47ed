"""Nodes of Slicer's scene: the volume, point lists, and the segmentation."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np
import slicer
import vtk

from FewpointLib.grid import PlaceError, Point
from FewpointLib.study import Memory, ObjectMask, Volume

MEMORY, OBJECT = "Fewpoint.study", "Fewpoint.object"  # attributes of a volume, and of a point list
SEGMENTATION = "vtkMRMLSegmentationNode"
SHOWN_FOR = "Fewpoint.volume"  # the role of the volume that a segmentation was made for


def read_volume(node: Any) -> Volume:
    """The voxels of a volume node, not copied, and where they lie before the node's own transform."""
    if node.GetImageData() is None:
        raise PlaceError(f"the volume {node.GetName()} must hold voxels; load one")
    matrix = vtk.vtkMatrix4x4()
    node.GetIJKToRASMatrix(matrix)
    ijk_to_ras = np.array([[matrix.GetElement(row, column) for column in range(4)] for row in range(4)])
    return Volume(node.GetName(), slicer.util.arrayFromVolume(node), ijk_to_ras)


def stamp(node: Any) -> int:
    """Grows whenever the voxels of a volume node change."""
    return node.GetImageData().GetMTime()


def read_points(markups: Any, volume: Any) -> list[Point]:
    """The placed control points of a list, in the coordinates of the volume, whatever transforms the two are under."""
    change = vtk.vtkGeneralTransform()
    parents = markups.GetParentTransformNode(), volume.GetParentTransformNode()
    slicer.vtkMRMLTransformNode.GetTransformBetweenNodes(*parents, change)
    points = []
    for index in range(markups.GetNumberOfControlPoints()):
        if markups.GetNthControlPointPositionStatus(index) == slicer.vtkMRMLMarkupsNode.PositionDefined:
            place = [0.0, 0.0, 0.0]
            markups.GetNthControlPointPosition(index, place)
            right, anterior, superior = change.TransformPoint(place)
            points.append(Point(markups.GetNthControlPointLabel(index), (right, anterior, superior)))
    return points


def name_object(markups: Any) -> str:
    """What a list's object is called: as the list was when it was first sent, for it may be renamed since."""
    if not markups.GetAttribute(OBJECT):
        markups.SetAttribute(OBJECT, markups.GetName())
    return markups.GetAttribute(OBJECT)


def recall(volume: Any) -> Memory | None:
    """What was kept with a volume, in its scene too."""
    return Memory.from_text(volume.GetAttribute(MEMORY))


def remember(volume: Any, memory: Memory) -> None:
    volume.SetAttribute(MEMORY, memory.to_text())


def show_masks(masks: Iterable[ObjectMask], volume: Any) -> Any:
    """Put masks into the segmentation of a volume, one segment for each object; others in it stay."""
    node = find_segmentation(volume) or add_segmentation(volume)
    node.SetAndObserveTransformNodeID(volume.GetTransformNodeID())
    segmentation = node.GetSegmentation()
    for mask in masks:
        segment = segmentation.GetSegmentIdBySegmentName(mask.name)
        if not segment:
            segment = segmentation.AddEmptySegment("", mask.name, mask.colour)
        slicer.util.updateSegmentBinaryLabelmapFromArray(mask.array, node, segment, volume)
    return node


def find_segmentation(volume: Any) -> Any:
    """The segmentation that was made for a volume, None if there is none."""
    nodes = slicer.util.getNodesByClass(SEGMENTATION)
    return next((node for node in nodes if node.GetNodeReferenceID(SHOWN_FOR) == volume.GetID()), None)


def add_segmentation(volume: Any) -> Any:
    node = slicer.mrmlScene.AddNewNodeByClass(SEGMENTATION, f"{volume.GetName()} fewpoint")
    node.CreateDefaultDisplayNodes()
    node.SetReferenceImageGeometryParameterFromVolumeNode(volume)
    node.SetNodeReferenceID(SHOWN_FOR, volume.GetID())
    return node
