"""A panel of 3D Slicer that has a running fewpoint server segment what points were placed on."""

from __future__ import annotations

import qt
import slicer
from slicer.ScriptedLoadableModule import ScriptedLoadableModule, ScriptedLoadableModuleWidget
from slicer.util import VTKObservationMixin

from FewpointLib import nodes
from FewpointLib.connection import Connection, ServerError
from FewpointLib.grid import PlaceError
from FewpointLib.study import PRESETS, Clicks, Step, Steps, open_study, sort_points

ADDRESS_KEY, ADDRESS = "Fewpoint/Address", "http://127.0.0.1:8760"
VOLUMES = ["vtkMRMLScalarVolumeNode", "vtkMRMLVectorVolumeNode"]
POINTS = ["vtkMRMLMarkupsFiducialNode"]
HELP = """Click a few times on an object, get its mask in every slice. Start <b>fewpoint annotate</b>, give its address,
place points on the object, and segment; place more where the mask is wrong, and refine."""


class Fewpoint(ScriptedLoadableModule):
    """What Slicer lists the module as."""

    def __init__(self, parent) -> None:
        super().__init__(parent)
        self.parent.title = "Fewpoint"
        self.parent.categories = ["Segmentation"]
        self.parent.dependencies = ["Markups", "Segmentations"]
        self.parent.contributors = ["fewpoint developers"]
        self.parent.helpText = HELP
        self.parent.acknowledgementText = "Apache License 2.0"


class FewpointWidget(ScriptedLoadableModuleWidget, VTKObservationMixin):
    """The panel. One thing is done at a time, step by step, by a timer."""

    def __init__(self, parent=None) -> None:
        ScriptedLoadableModuleWidget.__init__(self, parent)
        VTKObservationMixin.__init__(self)
        self._study = None
        self._opened = None  # what the study was opened for
        self._steps = None
        self._again = False  # a point was placed while masks were answered

    def setup(self) -> None:
        ScriptedLoadableModuleWidget.setup(self)
        form = qt.QFormLayout()
        self.layout.addLayout(form)
        self._add_server(form)
        self._add_nodes(form)
        self._add_buttons(form)
        self.layout.addStretch(1)
        self._timer = qt.QTimer()
        self._timer.setSingleShot(True)
        self._timer.connect("timeout()", self.advance)
        self.watch_points()
        self._show_state("Ready")

    def cleanup(self) -> None:
        """Slicer ends, or the module is loaded again."""
        self._timer.stop()
        self.removeObservers()
        if self.live.checked:
            self._try(self._turn_live_off)

    def segment(self) -> None:
        self._begin(self._learn(refine=False))

    def refine(self) -> None:
        self._begin(self._learn(refine=True))

    def stop(self) -> None:
        """End the run on the server, whose masks so far are then fetched; without one to end, just give up."""
        if self._study is None or self._study.run is None:
            self._end("Given up")
            return
        try:
            self._study.stop()
        except ServerError as error:
            self._end(str(error))

    def turn_live(self, on: bool) -> None:
        """Have masks follow every point that is placed, moved or removed, or no longer."""
        self.watch_points()
        if on:
            self.hear()
        else:
            self._try(self._turn_live_off)

    def watch_points(self, node=None) -> None:
        """Hear of changes of the lists that are now chosen, while masks follow them."""
        self.removeObservers(self.hear)
        self.place.setCurrentNode(self.clicks.currentNode())
        self.place_negatives.setCurrentNode(self.negatives.currentNode())
        if self.live.checked:
            markups = slicer.vtkMRMLMarkupsNode
            events = (markups.PointPositionDefinedEvent, markups.PointRemovedEvent, markups.PointEndInteractionEvent)
            for chosen in (self.clicks.currentNode(), self.negatives.currentNode()):
                for event in events if chosen is not None else ():
                    self.addObserver(chosen, event, self.hear)

    def hear(self, caller=None, event=None) -> None:
        """A point has changed: answer at once, or as soon as the last answer is there."""
        if self._steps is not None:
            self._again = True
        elif self.clicks.currentNode() is not None and self.clicks.currentNode().GetNumberOfControlPoints():
            self._begin(self._answer())

    def advance(self) -> None:
        """Do the next step, and come back when it says."""
        if self._steps is None:
            return
        try:
            step = next(self._steps)
        except StopIteration:
            self._end("Done")
        except (ServerError, PlaceError) as error:
            self._opened = None
            self._end(str(error))
        except Exception:
            self._end("Failed; see the Python console")
            raise
        else:
            self._show_step(step)
            self._timer.start(int(1000 * step.pause_s))

    def _learn(self, refine: bool) -> Steps[None]:
        volume, study = yield from self._open()
        study.say(self._read_clicks(volume))
        nodes.remember(volume, study.memory)
        study.choose(self.preset.currentText)
        nodes.show_masks((yield from study.segment(refine)), volume)

    def _answer(self) -> Steps[None]:
        volume, study = yield from self._open()
        study.listen(True)
        study.say(self._read_clicks(volume))
        nodes.remember(volume, study.memory)
        nodes.show_masks((yield from study.answer()), volume)

    def _open(self) -> Steps[tuple]:
        """The volume that is chosen, and its study, opened anew only if anything about it has changed."""
        volume = self.volume.currentNode()
        if volume is None or self.clicks.currentNode() is None:
            raise PlaceError("a volume and a list of points on the object must be chosen; choose both")
        found = nodes.read_volume(volume)
        wanted = (volume.GetID(), nodes.stamp(volume), found.ijk_to_ras.tolist(), self.address.text, self.token.text)
        if self._study is None or self._opened != wanted:
            connection = Connection(self.address.text, self.token.text)
            self._study = yield from open_study(connection, found, nodes.recall(volume))
            self._opened = wanted
            qt.QSettings().setValue(ADDRESS_KEY, self._study.connection.address)
        return volume, self._study

    def _read_clicks(self, volume) -> Clicks:
        points, negatives = self.clicks.currentNode(), self.negatives.currentNode()
        beside = [] if negatives is None else nodes.read_points(negatives, volume)
        return sort_points(nodes.name_object(points), nodes.read_points(points, volume), beside)

    def _turn_live_off(self) -> None:
        if self._study is not None:
            self._study.listen(False)

    def _begin(self, steps: Steps[None]) -> None:
        if self._steps is None:
            self._steps = steps
            if self._study is not None:
                self._study.run = None
            self._show_state("Beginning")
            self._timer.start(0)

    def _end(self, text: str) -> None:
        self._timer.stop()
        if self._steps is not None:
            self._steps.close()
        self._steps = None
        self._show_state(text)
        if self._again and self.live.checked:
            self._again = False
            self.hear()

    def _try(self, action) -> None:
        try:
            action()
        except ServerError as error:
            self.status.text = str(error)

    def _show_step(self, step: Step) -> None:
        self.status.text = step.text
        self.progress.setRange(0, 0 if step.share is None else 100)
        self.progress.setValue(0 if step.share is None else int(100 * step.share))

    def _show_state(self, text: str) -> None:
        """What can be done now: something new if nothing goes on, or a stop."""
        self.status.text = text
        self.progress.setRange(0, 100)
        self.progress.setValue(0)
        busy = self._steps is not None
        self.segment_button.enabled = self.refine_button.enabled = not busy
        self.stop_button.enabled = busy

    def _add_server(self, form) -> None:
        self.address = qt.QLineEdit(str(qt.QSettings().value(ADDRESS_KEY, ADDRESS)))
        self.address.toolTip = "As fewpoint annotate prints it"
        self.token = qt.QLineEdit()
        self.token.setEchoMode(qt.QLineEdit.Password)
        self.token.toolTip = "Not needed for a server that you started on this machine. It is never saved."
        form.addRow("Server", self.address)
        form.addRow("Token", self.token)

    def _add_nodes(self, form) -> None:
        self.volume = choose_node(VOLUMES)
        self.clicks, self.negatives = choose_node(POINTS), choose_node(POINTS, none=True)
        form.addRow("Volume", self.volume)
        self.place = self._add_points(form, "Points on the object", self.clicks)
        self.place_negatives = self._add_points(form, "Points beside it", self.negatives)

    def _add_points(self, form, label: str, chooser):
        """A list to choose or make, and a button to place its points with."""
        place = slicer.qSlicerMarkupsPlaceWidget()
        place.setMRMLScene(slicer.mrmlScene)
        place.buttonsVisible = False
        place.placeButton().show()
        row = qt.QHBoxLayout()
        row.addWidget(chooser)
        row.addWidget(place)
        form.addRow(label, row)
        chooser.connect("currentNodeChanged(vtkMRMLNode*)", self.watch_points)
        return place

    def _add_buttons(self, form) -> None:
        self.preset = qt.QComboBox()
        self.preset.addItems(list(PRESETS))
        form.addRow("Preset", self.preset)
        self.live = qt.QCheckBox()
        self.live.toolTip = "A rough mask follows every point; Segment learns from them"
        self.live.connect("toggled(bool)", self.turn_live)
        form.addRow("At once", self.live)
        self.segment_button, self.refine_button, self.stop_button = map(qt.QPushButton, ("Segment", "Refine", "Stop"))
        row = qt.QHBoxLayout()
        pairs = ((self.segment_button, self.segment), (self.refine_button, self.refine), (self.stop_button, self.stop))
        for button, action in pairs:
            button.connect("clicked()", action)
            row.addWidget(button)
        form.addRow(row)
        self.progress, self.status = qt.QProgressBar(), qt.QLabel()
        self.status.wordWrap = True
        form.addRow(self.progress)
        form.addRow(self.status)


def choose_node(types: list[str], none: bool = False):
    """A chooser of nodes of the scene; lists of points can be made in it."""
    chooser = slicer.qMRMLNodeComboBox()
    chooser.nodeTypes = types
    chooser.showChildNodeTypes = False
    chooser.addEnabled = chooser.renameEnabled = types == POINTS
    chooser.removeEnabled = False
    chooser.noneEnabled = none
    chooser.setMRMLScene(slicer.mrmlScene)
    return chooser
