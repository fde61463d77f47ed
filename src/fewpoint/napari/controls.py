"""What the dock widget consists of: buttons, lists and a dial, which do nothing by themselves."""

import math
from typing import Any

from qtpy.QtCore import Qt
from qtpy.QtWidgets import (
    QCheckBox,
    QComboBox,
    QFormLayout,
    QGroupBox,
    QHBoxLayout,
    QLabel,
    QLayout,
    QLineEdit,
    QListWidget,
    QListWidgetItem,
    QPushButton,
    QSlider,
    QVBoxLayout,
    QWidget,
)
from superqt.utils import signals_blocked

from fewpoint.core.project import PRESET_NAMES
from fewpoint.napari.layers import OFF, ON

STEPS = 20  # of the dial for each doubling of the size
DOUBLINGS = 2


class Controls(QWidget):
    """All that can be pressed, chosen and read."""

    def __init__(self) -> None:
        super().__init__()
        layout = QVBoxLayout(self)
        layout.setContentsMargins(0, 0, 0, 0)
        for title, rows in (
            ("Image", self._build_image()),
            ("Objects", self._build_objects()),
            ("Masks", self._build_masks()),
            ("Frames", self._build_frames()),
            ("Runs", self._build_runs()),
        ):
            box = QGroupBox(title)
            box.setLayout(rows)
            layout.addWidget(box)
        self.status = QLabel("Choose an image layer of frames, height and width, then start.")
        self.status.setWordWrap(True)
        layout.addWidget(self.status)
        layout.addStretch()

    @property
    def factor(self) -> float:
        """How many times larger masks should be, as the dial says it."""
        return 2.0 ** (self.dial.value() / STEPS)

    @property
    def chosen_run(self) -> Any:
        """What stands behind the chosen line of the list of runs; None without one."""
        item = self.runs.currentItem()
        return None if item is None else item.data(Qt.ItemDataRole.UserRole)

    def allow(self, started: bool, startable: bool) -> None:
        """Enable what makes sense. started: work on an image has begun. startable: there is an image to begin with."""
        for widget in (self.objects, self.add_object, self.adopt, self.kind, self.preset, self.run, self.dial):
            widget.setEnabled(started)
        for widget in (self.right, self.absent, self.only_here, self.probability, self.cancel, self.resume):
            widget.setEnabled(started)
        for widget in (self.refine, self.look, self.not_right):  # only some of the time even then
            widget.setEnabled(False)
        self.start.setEnabled(startable and not started)
        self.folder.setReadOnly(started)
        self.browse.setEnabled(not started)

    def show_size(self, size: float) -> None:
        """Turn the dial to a size that was said, unless somebody has it in hand."""
        if not self.dial.isSliderDown():
            with signals_blocked(self.dial):
                self.dial.setValue(round(STEPS * math.log2(size)))
            self.factor_text.setText(f"{size:.2f} ×")

    def show_preset(self, preset: str) -> None:
        with signals_blocked(self.preset):
            self.preset.setCurrentText(preset)

    def list_runs(self, entries: list[tuple[str, object]]) -> None:
        """Show lines of text, each with what it stands for; the same line stays chosen."""
        chosen = max(0, self.runs.currentRow())
        self.runs.clear()
        for text, meaning in entries:
            item = QListWidgetItem(text)
            item.setData(Qt.ItemDataRole.UserRole, meaning)
            self.runs.addItem(item)
        self.runs.setCurrentRow(min(chosen, len(entries) - 1))

    def _build_image(self) -> QLayout:
        self.images = QComboBox()
        self.folder = QLineEdit()
        self.folder.setPlaceholderText("beside the image, or your own folder")
        self.folder.setToolTip("The folder for clicks and runs")
        self.browse = _button("…", "Choose the folder for clicks and runs")
        self.start = _button("Start", "Begin a project of this image, or go on with it")
        return _form(("Layer", self.images), ("Keep in", _row(self.folder, self.browse)), ("", self.start))

    def _build_objects(self) -> QLayout:
        self.objects = QComboBox()
        self.add_object = _button("Add", "Another object, with a points layer of its own")
        self.adopt = _button("Use points layer", "Take the selected points layer as clicks on an object")
        self.kind = QComboBox()
        self.kind.addItem("on the object", ON)
        self.kind.addItem("not on the object", OFF)
        self.kind.setToolTip("What new points say; the feature “click” of each point says the same")
        return _form(("Object", self.objects), ("", _row(self.add_object, self.adopt)), ("New clicks lie", self.kind))

    def _build_masks(self) -> QLayout:
        self.live = QCheckBox("follow clicks at once")
        self.live.setToolTip("Rough masks come at once; learning goes on in the background")
        self.live.setChecked(True)
        self.preset = QComboBox()
        self.preset.addItems(PRESET_NAMES)
        self.run = _button("Run", "Learn from all clicks, from the beginning")
        self.refine = _button("Refine", "Go on from the last run with what was said since")
        self.dial = QSlider(Qt.Orientation.Horizontal)
        self.dial.setRange(-DOUBLINGS * STEPS, DOUBLINGS * STEPS)
        self.dial.setToolTip("How many times larger the masks of this object should be than what is found")
        self.factor_text = QLabel("1.00 ×")
        self.only_here = QCheckBox("on this frame only")
        self.probability = QCheckBox("show as a layer")
        return _form(
            ("Masks", self.live),
            ("Preset", self.preset),
            ("", _row(self.run, self.refine)),
            ("Size", _row(self.dial, self.factor_text)),
            ("", self.only_here),
            ("Probability", self.probability),
        )

    def _build_frames(self) -> QLayout:
        self.right = _button("This frame is right", "The labels of this frame, as painted, are true")
        self.not_right = _button("Take back", "This frame is no longer said to be right")
        self.absent = _button("Object is not here", "The chosen object is not on this frame")
        self.look = _button("Next worth a look", "The frame on which most may be wrong")
        rows = QVBoxLayout()
        rows.addLayout(_row(self.right, self.not_right))
        rows.addLayout(_row(self.absent, self.look))
        return rows

    def _build_runs(self) -> QLayout:
        self.runs = QListWidget()
        self.runs.setMaximumHeight(90)
        self.runs.setWordWrap(True)
        self.cancel = _button("Cancel", "Stop the chosen run; what it has found is kept")
        self.resume = _button("Go on", "Go on with a run that was interrupted")
        rows = QVBoxLayout()
        rows.addWidget(self.runs)
        rows.addLayout(_row(self.cancel, self.resume))
        return rows


def fill(box: QComboBox, entries: list[tuple[str, Any]], chosen: Any) -> None:
    """Show entries, each with what it stands for, and choose one, or the first, without a signal."""
    meanings = [meaning for _, meaning in entries]
    with signals_blocked(box):
        box.clear()
        for text, meaning in entries:
            box.addItem(text, meaning)
        box.setCurrentIndex(meanings.index(chosen) if chosen in meanings else 0 if entries else -1)


def _button(text: str, tip: str) -> QPushButton:
    button = QPushButton(text)
    button.setToolTip(tip)
    return button


def _row(*widgets: QWidget) -> QHBoxLayout:
    row = QHBoxLayout()
    for widget in widgets:
        row.addWidget(widget)
    return row


def _form(*rows: tuple[str, QWidget | QLayout]) -> QFormLayout:
    form = QFormLayout()
    for text, field in rows:
        form.addRow(text, field)
    return form
