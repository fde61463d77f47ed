"""Nodes of a scene, made as Slicer's readers and a person's clicks make them."""

import numpy as np

from integrations.slicer.phantoms import VOLUME


def to_matrix(scene, values: np.ndarray):
    matrix = scene.vtk.vtkMatrix4x4()
    for row in range(4):
        for column in range(4):
            matrix.SetElement(row, column, values[row, column])
    return matrix


def add_volume(scene, array=VOLUME.array):
    node = scene.slicer.mrmlScene.AddNewNodeByClass("vtkMRMLScalarVolumeNode", VOLUME.name)
    scene.slicer.util.updateVolumeFromArray(node, array)
    node.SetIJKToRASMatrix(to_matrix(scene, VOLUME.ijk_to_ras))
    return node


def add_points(scene, name: str, points):
    node = scene.slicer.mrmlScene.AddNewNodeByClass("vtkMRMLMarkupsFiducialNode", name)
    for point in points:
        node.AddControlPoint(list(point.ras), point.label)
    return node


def add_transform(scene, values: np.ndarray):
    node = scene.slicer.mrmlScene.AddNewNodeByClass("vtkMRMLLinearTransformNode", "moved")
    node.SetMatrixTransformToParent(to_matrix(scene, values))
    return node


def read_segment(scene, node, name: str, volume) -> np.ndarray:
    segment = node.GetSegmentation().GetSegmentIdBySegmentName(name)
    return scene.slicer.util.arrayFromSegmentBinaryLabelmap(node, segment, volume)
