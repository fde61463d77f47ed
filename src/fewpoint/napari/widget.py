"""The dock widget: choose an image, click, and see masks. All logic is in desk, study and board."""

from collections.abc import Callable
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
from napari.components import ViewerModel
from napari.layers import Image, Points
from napari.qt.threading import create_worker
from napari.utils.notifications import show_info, show_warning
from napari.utils.progress import cancelable_progress
from napari.viewer import Viewer
from qtpy.QtCore import Qt, Signal  # pyright: ignore[reportPrivateImportUsage]
from qtpy.QtWidgets import QApplication, QFileDialog, QVBoxLayout, QWidget

from fewpoint.core.project import NamedObject
from fewpoint.errors import FewpointError, InputError
from fewpoint.napari.board import Board
from fewpoint.napari.controls import Controls, fill
from fewpoint.napari.desk import Desk, close_shared, share_desk
from fewpoint.napari.layers import KEY, take_frames
from fewpoint.napari.study import Standing, Study
from fewpoint.web.messages import LiveEvent, PreviewEvent, ProjectEvent, RunEvent


class RunBar(cancelable_progress):
    """How far a run is, among napari's own progress bars; their button cancels the run."""

    def cancel(self) -> None:
        super().cancel()
        if self.cancel_callback is not None:
            self.cancel_callback()

    def show(self, standing: Standing) -> None:
        self.update(round(100 * standing.done) - self.n)


class FewpointWidget(QWidget):
    """Segment an object of an image layer from clicks in a points layer.

    desk: where the work is done; None for the one that all windows of this process share.
    """

    heard = Signal(object, object)

    def __init__(self, viewer: Viewer, desk: Desk | None = None) -> None:
        super().__init__()
        self._viewer: ViewerModel = viewer
        self._desk = desk
        self.board: Board | None = None
        self._boards: dict[Image, Board] = {}
        self._leave: dict[Path, Callable[[], None]] = {}
        self._bars: dict[tuple[Path, int], RunBar | None] = {}
        self._busy, self._again = False, False
        self.controls = Controls()
        layout = QVBoxLayout(self)
        layout.addWidget(self.controls)
        self._connect()
        # Queued: whoever tells may hold the locks of the queue and of the session.
        self.heard.connect(self._hear, Qt.ConnectionType.QueuedConnection)  # pyright: ignore[reportCallIssue]
        viewer.layers.events.inserted.connect(self._list_images)
        viewer.layers.events.removed.connect(self._list_images)
        viewer.dims.events.point.connect(self._show_controls)
        if desk is None and (app := QApplication.instance()) is not None:
            app.aboutToQuit.connect(close_shared)
        self._list_images()

    def _connect(self) -> None:
        """Say what each control does."""
        controls = self.controls
        for button, act in (
            (controls.browse, self._browse),
            (controls.start, self.begin),
            (controls.add_object, self._add_object),
            (controls.adopt, self._adopt),
            (controls.run, lambda: self._run(False)),
            (controls.refine, lambda: self._run(True)),
            (controls.right, self._confirm),
            (controls.not_right, self._discard),
            (controls.absent, self._mark_absent),
            (controls.look, self._go_to_next),
            (controls.cancel, self._cancel),
            (controls.resume, self._resume),
        ):
            button.clicked.connect(act)
        controls.images.currentIndexChanged.connect(self._choose_image)
        controls.objects.currentIndexChanged.connect(self._choose_object)
        controls.kind.currentIndexChanged.connect(self._choose_kind)
        controls.live.toggled.connect(self._follow)
        controls.preset.currentTextChanged.connect(self._set_preset)
        controls.dial.valueChanged.connect(self._change_size)
        controls.dial.sliderReleased.connect(self._say_size)
        controls.only_here.toggled.connect(self._show_controls)
        controls.probability.toggled.connect(self._show_probability)

    # What a person does.

    def begin(self) -> None:
        """Start the work on the chosen image layer; frames are read and kept in the background."""
        image = self.controls.images.currentData()
        if image is None or image in self._boards:
            return
        self.controls.start.setEnabled(False)
        self._tell("Reading the frames …")
        folder = self.controls.folder.text().strip()
        create_worker(
            _open_study,
            self._desk or share_desk(),
            image,
            Path(folder).expanduser() if folder else None,
            _connect={"returned": lambda found: self._begun(image, found)},
        )

    def _begun(self, image: Image, found: Study | FewpointError) -> None:
        if isinstance(found, FewpointError):
            self.controls.start.setEnabled(True)
            self._warn(found)
            return
        if image in self._boards or image not in self._viewer.layers:  # pressed twice, or removed meanwhile
            return
        self._boards[image] = Board(self._viewer, image, found, self._push)
        if found.path not in self._leave:
            self._leave[found.path] = found.watch(lambda event: self._pass_on(found, event))
        self._choose_image()
        self._follow(self.controls.live.isChecked())
        self._select_points()

    def _choose_image(self) -> None:
        image = self.controls.images.currentData()
        self.board = None if image is None else self._boards.get(image)
        if self.board is None:
            self.controls.folder.setText("")
            self._show_controls()
            if image is not None and KEY in image.metadata:
                self.begin()
            return
        self.controls.folder.setText(str(self.board.study.path.parent))
        self._list_objects()
        self._list_runs()
        self._show_controls()
        self.refresh()
        self._tell(f"Kept in {self.board.study.path}. Click on the object in its points layer.")

    def _browse(self) -> None:
        folder = QFileDialog.getExistingDirectory(self, "The folder for clicks and runs", self.controls.folder.text())
        if folder:
            self.controls.folder.setText(folder)

    def _add_object(self) -> None:
        with self._telling():
            added = self._need_board().study.add_object()
            self._need_board().pull()
            self._list_objects(added.id)
            self._select_points()

    def _adopt(self) -> None:
        with self._telling():
            layer = self._viewer.layers.selection.active
            if not isinstance(layer, Points) or KEY in layer.metadata:
                raise InputError("select a points layer that is no object yet, then press again")
            adopted = self._need_board().adopt(layer)
            self._list_objects(adopted.id)

    def _choose_object(self) -> None:
        self._select_points()
        self._show_controls()
        self._show_probability()

    def _choose_kind(self) -> None:
        layer = self._find_points()
        if self.board is not None and layer is not None:
            self.board.click_kind(layer, self.controls.kind.currentData())

    def _push(self, layer: Points) -> None:
        """Clicks have changed in a layer."""
        with self._telling():
            for board in self._boards.values():
                if layer in board.points.values():
                    note = board.push(layer)
                    if note:
                        show_info(note)
        self._show_controls()

    def _follow(self, on: bool) -> None:
        for board in self._boards.values():
            board.study.follow(on)

    def _set_preset(self, preset: str) -> None:
        with self._telling():
            if self.board is not None:
                self.board.study.set_preset(preset)

    def _run(self, refine: bool) -> None:
        with self._telling():
            self._need_board().study.run(refine)

    def _change_size(self) -> None:
        self.controls.factor_text.setText(f"{self.controls.factor:.2f} ×")
        with self._telling():
            board = self._need_board()
            if self.controls.dial.isSliderDown():
                board.study.try_size(self._need_object().name, self.controls.factor, self._size_frame)
            else:
                self._say_size()

    def _say_size(self) -> None:
        with self._telling():
            self._need_board().study.set_size(self._need_object().name, self.controls.factor, self._size_frame)
            self.refresh()

    def _confirm(self) -> None:
        with self._telling():
            board = self._need_board()
            board.confirm(board.frame)
            self._tell(f"Frame {board.frame} is right as it is.")
        self._show_controls()

    def _discard(self) -> None:
        with self._telling():
            board = self._need_board()
            board.discard(board.frame)
            self.refresh()
        self._show_controls()

    def _mark_absent(self) -> None:
        with self._telling():
            board = self._need_board()
            board.study.mark_absent(self._need_object().name, board.frame)
            board.pull()
            self.refresh()

    def _go_to_next(self) -> None:
        with self._telling():
            board = self._need_board()
            board.go_to(board.study.find_next())
            self._tell(f"Frame {board.frame}: correct it by a click or by painting, or say that it is right.")

    def _cancel(self) -> None:
        with self._telling():
            study, standing = self._need_run()
            study.cancel(standing.number)

    def _resume(self) -> None:
        with self._telling():
            study, standing = self._need_run()
            study.resume(standing.number)

    # What the study tells.

    def _pass_on(self, study: Study, event: Any) -> None:
        """Hand an event on from whichever thread it comes."""
        try:
            self.heard.emit(study, event)
        except RuntimeError:  # the widget is gone
            self._leave.pop(study.path, lambda: None)()

    def _hear(self, study: Study, event: Any) -> None:
        if isinstance(event, RunEvent):
            self._show_run(study, study.describe_run(event.run.id))
            self._list_runs()
        if isinstance(event, ProjectEvent):
            self._name_objects()
        if isinstance(event, LiveEvent) and event.live.message:
            self._tell(event.live.message)
        if isinstance(event, LiveEvent | PreviewEvent) or (isinstance(event, RunEvent) and event.run.best):
            self.refresh()
        self._show_controls()

    def _show_run(self, study: Study, standing: Standing) -> None:
        key = study.path, standing.number
        if standing.is_over:
            bar = self._bars.pop(key, None)
            if bar is not None:
                bar.close()
                self._tell(f"{study.name}, {standing}")
                self._show_probability()
        elif key not in self._bars:
            self._bars[key] = None  # napari handles events while it makes a bar, perhaps the next one of this run
            words = f"{study.name}, run {standing.number}"
            self._bars[key] = RunBar(desc=words, total=100, cancel_callback=lambda: study.cancel(standing.number))
        elif (bar := self._bars[key]) is not None:
            bar.show(standing)

    def refresh(self) -> None:
        """Show the masks as they are now; they are gathered in the background."""
        if self.board is None:
            return
        if self._busy:
            self._again = True
            return
        self._busy, board = True, self.board
        create_worker(
            _gather_labels, board.study, _connect={"returned": lambda labels: self._show_masks(board, labels)}
        )

    def _show_masks(self, board: Board, labels: np.ndarray) -> None:
        self._busy = False
        if board.labels in self._viewer.layers:
            board.show(labels)
        if self._again:
            self._again = False
            self.refresh()

    def _show_probability(self) -> None:
        target = self._find_object()
        if self.board is None or target is None or not self.controls.probability.isChecked():
            return
        values = self.board.study.read_probability(target.name)
        if values is not None:
            self.board.show_probability(target, values)
        else:
            self._tell("There is a probability after a run.")

    # What is shown of it.

    def _list_images(self) -> None:
        layers = [each for each in self._viewer.layers if isinstance(each, Image) and _is_input(each)]
        chosen = self.controls.images.currentData()
        for image in [each for each in self._boards if each not in layers]:
            self._boards.pop(image).close()
        fill(self.controls.images, [(layer.name, layer) for layer in layers], chosen)
        if chosen is None or self.controls.images.currentData() is not chosen:
            self._choose_image()

    def _list_objects(self, number: int | None = None) -> None:
        number = self.controls.objects.currentData() if number is None else number
        fill(self.controls.objects, self._entries, number)
        self._choose_kind()
        self._show_controls()

    def _name_objects(self) -> None:
        """Show what objects are called now, somebody may have renamed their layer."""
        box = self.controls.objects
        if [box.itemText(index) for index in range(box.count())] != [text for text, _ in self._entries]:
            fill(box, self._entries, box.currentData())

    @property
    def _entries(self) -> list[tuple[str, int]]:
        known = () if self.board is None else self.board.study.project.objects
        return [(f"{value}: {each.name}", each.id) for value, each in enumerate(known, start=1)]

    def _list_runs(self) -> None:
        studies = [board.study for board in self._boards.values()]
        standings = [(study, standing) for study in studies for standing in study.list_runs()]
        self.controls.list_runs([(f"{study.name}, {standing}", (study, standing)) for study, standing in standings])

    def _show_controls(self) -> None:
        controls, board, target = self.controls, self.board, self._find_object()
        controls.allow(board is not None, self.controls.images.currentData() is not None)
        if board is None:
            return
        controls.refine.setEnabled(board.study.can_refine)
        controls.look.setEnabled(board.study.has_result)
        controls.not_right.setEnabled(board.study.is_outlined(board.frame))
        controls.show_preset(board.study.project.preset)
        if target is not None:
            only_here = controls.only_here.isChecked()
            controls.show_size(target.sizes.get(board.frame, 1.0) if only_here else target.size)

    def _select_points(self) -> None:
        """Make the points layer of the chosen object the one that clicks go to."""
        layer = self._find_points()
        if layer is not None and layer in self._viewer.layers:
            self._viewer.layers.selection.active = layer
            layer.mode = "add"
            self._choose_kind()

    @property
    def _size_frame(self) -> int | None:
        return self._need_board().frame if self.controls.only_here.isChecked() else None

    def _find_object(self) -> NamedObject | None:
        if self.board is None or self.controls.objects.currentData() is None:
            return None
        known = {each.id: each for each in self.board.study.project.objects}
        return known.get(self.controls.objects.currentData())

    def _find_points(self) -> Points | None:
        target = self._find_object()
        return None if target is None or self.board is None else self.board.points.get(target.id)

    def _need_board(self) -> Board:
        if self.board is None:
            raise InputError("choose an image layer and press Start first")
        return self.board

    def _need_object(self) -> NamedObject:
        target = self._find_object()
        if target is None:
            raise InputError("choose an object first")
        return target

    def _need_run(self) -> tuple[Study, Standing]:
        chosen = self.controls.chosen_run
        if chosen is None:
            raise InputError("there is no run yet")
        return chosen

    def _tell(self, text: str) -> None:
        self.controls.status.setText(text)

    def _warn(self, error: FewpointError) -> None:
        text = " ".join(str(error).split())
        self._tell(text)
        show_warning(text)

    @contextmanager
    def _telling(self) -> Any:
        """Tell what a person did wrong instead of raising it."""
        try:
            yield
        except FewpointError as error:
            self._warn(error)

    def leave(self) -> None:
        """Hear no more; what goes on at the desk goes on."""
        for end in self._leave.values():
            end()
        self._leave.clear()
        for board in self._boards.values():
            board.close()
        self._boards.clear()
        for bar in filter(None, self._bars.values()):
            bar.close()
        self._bars.clear()

    def closeEvent(self, a0: Any) -> None:  # noqa: N802 - Qt's name
        self.leave()
        super().closeEvent(a0)


def _open_study(desk: Desk, image: Image, folder: Path | None) -> Study | FewpointError:
    """The study of an image layer, or what is wrong with it."""
    try:
        if KEY in image.metadata:
            return desk.open_project(Path(image.metadata[KEY]["project"]))
        source = image.source.path
        frames = take_frames(image.data, image.rgb)
        return desk.open_image(frames, image.name, None if source is None else Path(source), folder)
    except FewpointError as error:
        return error


def _gather_labels(study: Study) -> np.ndarray:
    return study.make_labels()


def _is_input(layer: Image) -> bool:
    """Whether an image layer has frames, height and width, and is no probability of ours."""
    return layer.ndim == 3 and not layer.metadata.get(KEY, {}).get("derived", False)
