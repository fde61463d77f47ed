"""Small stand-ins for Slicer: its widgets always, its scene where slicer-core is not installed.

They have what the module uses and nothing else: any other name is an AttributeError. That the real ones have these
names is known for the scene, which the tests also run with slicer-core, Slicer's own libraries; for widgets it is not.
"""

import functools
import types
from typing import Any

import numpy as np


class Strict:
    """Takes no attribute that its class does not name."""

    def __setattr__(self, name: str, value: Any) -> None:
        if not name.startswith("_") and not hasattr(type(self), name):
            raise AttributeError(f"{type(self).__name__} has no {name}")
        object.__setattr__(self, name, value)


class Widget(Strict):
    """signals: those that can be connected."""

    signals: tuple[str, ...] = ()
    enabled, toolTip, text = True, "", ""

    def __init__(self, text: str = "") -> None:
        self.text, self._slots = text, {}

    def connect(self, signal: str, slot) -> None:
        assert signal in self.signals, signal
        self._slots.setdefault(signal, []).append(slot)

    def emit(self, signal: str, *values) -> None:
        for slot in self._slots.get(signal, []):
            slot(*values)


class QPushButton(Widget):
    signals = ("clicked()",)

    def press(self) -> None:
        assert self.enabled, f"{self.text} cannot be pressed now"
        self.emit("clicked()")


class QLineEdit(Widget):
    Password = 2

    def setEchoMode(self, mode: int) -> None:
        assert mode == self.Password


class QLabel(Widget):
    wordWrap = False


class QCheckBox(Widget):
    signals = ("toggled(bool)",)
    checked = False

    def toggle(self) -> None:
        self.checked = not self.checked
        self.emit("toggled(bool)", self.checked)


class QComboBox(Widget):
    currentText = ""

    def addItems(self, items: list[str]) -> None:
        self.currentText = items[0]


class QProgressBar(Widget):
    def setRange(self, low: int, high: int) -> None:
        assert low <= high

    def setValue(self, value: int) -> None:
        assert isinstance(value, int)


class QTimer(Strict):
    def __init__(self) -> None:
        self._slot, self._waits = None, False

    def setSingleShot(self, single: bool) -> None:
        assert single

    def connect(self, signal: str, slot) -> None:
        assert signal == "timeout()"
        self._slot = slot

    def start(self, milliseconds: int) -> None:
        assert isinstance(milliseconds, int)
        self._waits = True

    def stop(self) -> None:
        self._waits = False

    def fire(self) -> bool:
        """Whether something was waited for, which is then done."""
        waited, self._waits = self._waits, False
        if waited:
            self._slot()
        return waited


class Layout(Strict):
    def addRow(self, *parts) -> None:
        assert 1 <= len(parts) <= 2

    def addWidget(self, widget) -> None:
        assert isinstance(widget, Widget)

    def addLayout(self, layout) -> None:
        assert isinstance(layout, Layout)

    def addStretch(self, share: int) -> None:
        pass


class QSettings(Strict):
    kept: dict[str, str] = {}

    def value(self, key: str, default: str) -> str:
        return self.kept.get(key, default)

    def setValue(self, key: str, value: str) -> None:
        self.kept[key] = value


class NodeComboBox(Widget):
    signals = ("currentNodeChanged(vtkMRMLNode*)",)
    nodeTypes: list[str] = []
    showChildNodeTypes = addEnabled = removeEnabled = renameEnabled = noneEnabled = True

    def setMRMLScene(self, scene) -> None:
        self._node = None

    def currentNode(self):
        return self._node

    def setCurrentNode(self, node) -> None:
        assert node is None or node.GetClassName() in self.nodeTypes
        self._node = node
        self.emit("currentNodeChanged(vtkMRMLNode*)", node)


class MarkupsPlaceWidget(Widget):
    buttonsVisible = True

    def setMRMLScene(self, scene) -> None:
        pass

    def setCurrentNode(self, node) -> None:
        pass

    def placeButton(self):
        return types.SimpleNamespace(show=lambda: None)


QT = {each.__name__: each for each in (QPushButton, QLineEdit, QLabel, QCheckBox, QComboBox, QProgressBar, QTimer)}
QT.update(QFormLayout=Layout, QHBoxLayout=Layout, QSettings=QSettings)
WIDGETS = {"qMRMLNodeComboBox": NodeComboBox, "qSlicerMarkupsPlaceWidget": MarkupsPlaceWidget}


class ScriptedLoadableModule:
    def __init__(self, parent) -> None:
        self.parent = parent


class ScriptedLoadableModuleWidget:
    def __init__(self, parent=None) -> None:
        self.layout = Layout()

    def setup(self) -> None:
        pass


class Node(Strict):
    def __init__(self, kind: str, name: str) -> None:
        self._kind, self._name, self._attributes, self._references, self._parent = kind, name, {}, {}, None

    def GetID(self) -> str:
        return f"{self._kind}{id(self)}"

    def GetClassName(self) -> str:
        return self._kind

    def GetName(self) -> str:
        return self._name

    def SetName(self, name: str) -> None:
        self._name = name

    def GetAttribute(self, name: str) -> str | None:
        return self._attributes.get(name)

    def SetAttribute(self, name: str, value: str) -> None:
        self._attributes[name] = value

    def GetNodeReferenceID(self, role: str) -> str | None:
        return self._references.get(role)

    def SetNodeReferenceID(self, role: str, value: str) -> None:
        self._references[role] = value

    def GetParentTransformNode(self):
        return self._parent

    def GetTransformNodeID(self) -> str | None:
        return None if self._parent is None else self._parent.GetID()

    def SetAndObserveTransformNodeID(self, value: str | None) -> None:
        self._parent = next((node for node in Scene.nodes if node.GetID() == value), None)


class Matrix:
    def __init__(self) -> None:
        self.values = np.eye(4)

    def GetElement(self, row: int, column: int) -> float:
        return float(self.values[row, column])

    def SetElement(self, row: int, column: int, value: float) -> None:
        self.values[row, column] = value


class TransformNode(Node):
    matrix = np.eye(4)

    def SetMatrixTransformToParent(self, matrix: Matrix) -> None:
        self.matrix = matrix.values

    @staticmethod
    def GetTransformBetweenNodes(source, target, change) -> None:
        parts = [np.eye(4) if node is None else node.matrix for node in (source, target)]
        change.matrix = np.linalg.inv(parts[1]) @ parts[0]


class GeneralTransform:
    matrix = np.eye(4)

    def TransformPoint(self, place: list[float]) -> tuple[float, ...]:
        return tuple((self.matrix @ (*place, 1.0))[:3].tolist())


class VolumeNode(Node):
    array, matrix = None, np.eye(4)

    def GetImageData(self):
        return None if self.array is None else types.SimpleNamespace(GetMTime=lambda: id(self.array))

    def SetIJKToRASMatrix(self, matrix: Matrix) -> None:
        self.matrix = matrix.values.copy()

    def GetIJKToRASMatrix(self, matrix: Matrix) -> None:
        matrix.values = self.matrix.copy()


class MarkupsNode(Node):
    PositionDefined = 2
    PointPositionDefinedEvent, PointRemovedEvent, PointEndInteractionEvent = 1, 2, 3

    def __init__(self, kind: str, name: str) -> None:
        super().__init__(kind, name)
        self._points, self._observers = [], {}

    def AddControlPoint(self, place, label: str = "") -> int:
        self._points.append([list(place), label or f"{self._name}-{len(self._points) + 1}", self.PositionDefined])
        self.call(self.PointPositionDefinedEvent)
        return len(self._points) - 1

    def call(self, event: int) -> None:
        for wanted, method in list(self._observers.values()):
            if wanted == event:
                method(self, event)

    def UnsetNthControlPointPosition(self, index: int) -> None:
        self._points[index][2] = 0

    def RemoveNthControlPoint(self, index: int) -> None:
        del self._points[index]
        self.call(self.PointRemovedEvent)

    def GetNumberOfControlPoints(self) -> int:
        return len(self._points)

    def GetNthControlPointPosition(self, index: int, place: list[float]) -> None:
        place[:] = self._points[index][0]

    def GetNthControlPointLabel(self, index: int) -> str:
        return self._points[index][1]

    def GetNthControlPointPositionStatus(self, index: int) -> int:
        return self._points[index][2]

    def AddObserver(self, event: int, method, priority: float) -> int:
        self._observers[len(self._observers)] = (event, method)
        return len(self._observers) - 1

    def RemoveObserver(self, tag: int) -> None:
        self._observers.pop(tag, None)


class SegmentationNode(Node):
    def __init__(self, kind: str, name: str) -> None:
        super().__init__(kind, name)
        self._segments = {}

    def CreateDefaultDisplayNodes(self) -> None:
        pass

    def SetReferenceImageGeometryParameterFromVolumeNode(self, volume) -> None:
        pass

    def GetSegmentation(self):
        return self

    def GetSegmentIdBySegmentName(self, name: str) -> str:
        return name if name in self._segments else ""

    def AddEmptySegment(self, key: str, name: str, colour: tuple[float, ...]) -> str:
        self._segments[name] = None
        return name

    def GetNumberOfSegments(self) -> int:
        return len(self._segments)

    def keep(self, name: str, array: np.ndarray) -> None:
        self._segments[name] = array.copy()

    def find(self, name: str) -> np.ndarray:
        return self._segments[name]


class Scene:
    nodes: list[Node] = []
    kinds = {
        "vtkMRMLScalarVolumeNode": VolumeNode,
        "vtkMRMLMarkupsFiducialNode": MarkupsNode,
        "vtkMRMLSegmentationNode": SegmentationNode,
        "vtkMRMLLinearTransformNode": TransformNode,
    }

    def AddNewNodeByClass(self, kind: str, name: str = "") -> Node:
        self.nodes.append(self.kinds[kind](kind, name))
        return self.nodes[-1]


class ObservationMixin:
    def __init__(self) -> None:
        self._observations = []

    def addObserver(self, node, event: int, method) -> None:
        self._observations.append((node, method, node.AddObserver(event, method, 0.0)))

    def removeObservers(self, method=None) -> None:
        for node, known, tag in list(self._observations):
            if method in (None, known):
                node.RemoveObserver(tag)
                self._observations.remove((node, known, tag))


def make_scene() -> dict[str, types.ModuleType]:
    """The modules slicer, slicer.util and vtk, with an empty scene."""
    Scene.nodes.clear()
    util, vtk, slicer = types.ModuleType("slicer.util"), types.ModuleType("vtk"), types.ModuleType("slicer")
    util.VTKObservationMixin = ObservationMixin
    util.arrayFromVolume = lambda node: node.array
    util.updateVolumeFromArray = lambda node, array: setattr(node, "array", array)
    util.getNodesByClass = lambda kind: [node for node in Scene.nodes if node.GetClassName() == kind]
    util.updateSegmentBinaryLabelmapFromArray = lambda array, node, segment, volume: node.keep(segment, array)
    util.arrayFromSegmentBinaryLabelmap = lambda node, segment, volume: node.find(segment)
    vtk.vtkMatrix4x4, vtk.vtkGeneralTransform = Matrix, GeneralTransform
    slicer.util, slicer.mrmlScene = util, Scene()
    slicer.vtkMRMLTransformNode, slicer.vtkMRMLMarkupsNode = TransformNode, MarkupsNode
    return {"slicer": slicer, "slicer.util": util, "vtk": vtk}


def make_real_scene() -> dict[str, types.ModuleType]:
    """The same of slicer-core, with an empty scene."""
    import slicer
    import slicer.util
    import vtk

    slicer.mrmlScene, slicer.modules = _start_slicer()[:2]
    slicer.mrmlScene.Clear(False)
    return {"slicer": slicer, "slicer.util": slicer.util, "vtk": vtk}


@functools.cache
def _start_slicer() -> tuple:
    """Its one scene, the logic of modules that slicer.util asks an application for, and that application's own."""
    import slicer

    scene, application = slicer.vtkMRMLScene(), slicer.vtkMRMLApplicationLogic()
    application.SetMRMLScene(scene)

    def start(kind):
        logic = kind()
        logic.SetMRMLApplicationLogic(application)
        logic.SetMRMLScene(scene)
        return types.SimpleNamespace(logic=lambda: logic)

    modules = types.SimpleNamespace(
        markups=start(slicer.vtkSlicerMarkupsLogic),
        volumes=start(slicer.vtkSlicerVolumesLogic),
        segmentations=start(slicer.vtkSlicerSegmentationsModuleLogic),
    )
    return scene, modules, application
