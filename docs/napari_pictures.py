"""Make the pictures of the napari plugin that docs/how-to/napari.md shows.

    xvfb-run -a -s "-screen 0 1600x1200x24" python docs/napari_pictures.py

needs the extra `napari`, a Qt for it, and a display, if only a virtual one. A made-up sequence is segmented as a person
would do it: by clicks in points layers and by the buttons of the dock widget. The pictures are written to docs/images.
"""

import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
from napari import Viewer
from PIL import Image
from qtpy.QtWidgets import QApplication

from fewpoint import make_phantom, score_masks
from fewpoint.core.job import Job
from fewpoint.napari.desk import Desk
from fewpoint.napari.layers import OFF, ON
from fewpoint.napari.widget import FewpointWidget

IMAGES = Path(__file__).parent / "images"
SIZE = (1360, 900)
COLOURS = 256
PATIENCE_S = 1800.0
RESTING = (103, 30)  # y, x of the dark object, which is in the same place on all frames
# Enough for a phantom, and short on a machine without a GPU.
SHORTER = (
    ("training.max_side", 64),
    ("warmup.epochs", 16),
    ("rounds.round_epochs", 10),
)


class Person:
    """Somebody in front of the viewer, who waits until something is to be seen."""

    def __init__(self, viewer: Viewer, widget: FewpointWidget) -> None:
        self.viewer, self.widget = viewer, widget

    @property
    def board(self):
        return self.widget.board

    def start(self, folder: Path) -> None:
        self.widget.controls.folder.setText(str(folder))
        self.widget.controls.start.click()
        self.wait(lambda: self.board is not None)

    def click(self, value: int, frame: int, y: int, x: int, positive: bool = True) -> float:
        """Click on an object, or next to it, and return how many seconds it took until masks were there."""
        controls = self.widget.controls
        controls.objects.setCurrentIndex(value - 1)
        controls.kind.setCurrentIndex(controls.kind.findData(ON if positive else OFF))
        self.board.go_to(frame)
        before, began = self.board.study.session.live.number, time.monotonic()
        layer = self.board.points[self.board.study.project.objects[value - 1].id]
        layer.add(np.array([[frame, y, x]]))
        if controls.live.isChecked():
            self.wait(lambda: self.board.study.session.live.number > before)
            self.settle()
        return time.monotonic() - began

    def run(self) -> float:
        """Wait until all that was said has been learnt, and return how many seconds it took."""
        began, study = time.monotonic(), self.board.study
        if not self.widget.controls.live.isChecked():
            (self.widget.controls.refine if study.can_refine else self.widget.controls.run).click()
        self.wait(lambda: study.list_runs() and all(each.is_over for each in study.list_runs()) and not self.is_due)
        self.settle()
        return time.monotonic() - began

    @property
    def is_due(self) -> bool:
        return self.board.study.session.live.due

    def settle(self) -> None:
        """Wait until the layers show what is known."""
        self.pause(0.2)
        self.wait(lambda: not self.widget._busy)

    def wait(self, done: Callable[[], object]) -> None:
        end = time.monotonic() + PATIENCE_S
        while not done():
            if time.monotonic() > end:
                raise TimeoutError(f"waited for {PATIENCE_S:g} s")
            self.pause(0.02)

    def pause(self, seconds: float) -> None:
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            QApplication.processEvents()
            time.sleep(0.005)

    def shoot(self, name: str) -> None:
        self.pause(0.5)
        picture = Image.fromarray(self.viewer.screenshot(canvas_only=False, flash=False)[..., :3])
        picture.convert("P", palette=Image.Palette.ADAPTIVE, colors=COLOURS).save(IMAGES / f"{name}.png", optimize=True)
        print(f"{name}.png {picture.size}")


def open_viewer(desk: Desk) -> tuple[Viewer, FewpointWidget]:
    viewer = Viewer(show=True)
    viewer.window.resize(*SIZE)
    widget = FewpointWidget(viewer, desk)
    viewer.window.add_dock_widget(widget, name="Segment from clicks (fewpoint)", area="right")
    return viewer, widget


def annotate(person: Person, folder: Path) -> None:
    """Click on an object that moves and on one that rests, and let both be learnt."""
    made = make_phantom(n_frames=16, size=(128, 128))
    person.viewer.add_image(made.sequence.frames[..., 0], name="phantom")
    person.start(folder)
    person.widget.controls.add_object.click()
    first, *others = made.points.coordinates[[6, 0, 3, 9, 12, 15]].tolist()
    print(f"masks {person.click(1, *first):.1f} s after the first click")
    person.viewer.reset_view(margin=0.02)
    person.shoot("napari-click")
    for row in others:
        print(f"masks {person.click(1, *row):.1f} s after a click")
    for frame in (2, 7, 13):
        print(f"masks {person.click(2, frame, *RESTING):.1f} s after a click")
    person.wait(lambda: any(0.3 < each.done < 1 for each in person.board.study.list_runs()))
    person.viewer.window._status_bar._toggle_activity_dock(True)
    person.shoot("napari-run")
    person.viewer.window._status_bar._toggle_activity_dock(False)
    print(f"all learnt {person.run():.0f} s later")
    tell_score(person, made.truth)
    person.widget.controls.look.click()
    person.settle()
    person.shoot("napari-result")
    correct(person, made.truth)


def correct(person: Person, truth: np.ndarray) -> None:
    """Paint the masks of a frame, and say that they are right."""
    board = person.board
    frame = board.frame
    painted = np.array(board.labels.data)
    painted[frame][painted[frame] == 1] = 0
    painted[frame][truth[frame]] = 1
    board.labels.data = painted
    person.widget.controls.right.click()
    person.viewer.layers.selection.active = board.labels
    board.labels.mode = "paint"
    person.settle()
    person.shoot("napari-right")
    print(f"refined {person.run():.0f} s later")
    tell_score(person, truth)
    board.labels.visible = False
    person.widget.controls.probability.setChecked(True)
    person.shoot("napari-probability")


def tell_score(person: Person, truth: np.ndarray) -> None:
    labels = np.asarray(person.board.labels.data)
    print(f"F1 of the object that moves: {score_masks(labels == 1, truth).pooled.f1:.3f}")


def main() -> None:
    IMAGES.mkdir(exist_ok=True)
    desk = Desk(Job(device="cpu", changes=SHORTER))
    viewer, widget = open_viewer(desk)
    with tempfile.TemporaryDirectory() as folder:
        try:
            annotate(Person(viewer, widget), Path(folder))
        finally:
            viewer.close()
            desk.close()


if __name__ == "__main__":
    main()
