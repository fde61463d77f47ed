"""The picture of docs/how-to/nninteractive.md: napari's nnInteractive panel, which drives `fewpoint serve`.

    NN_INTERACTIVE_API_KEY=KEY xvfb-run -a python docs/napari_screenshot.py ADDRESS docs/images/napari-nninteractive.png

needs napari with PyQt6 and napari-nninteractive, not fewpoint itself. ADDRESS: of a server that runs. The volume is
made here, a bright ellipsoid and a brighter rod in noise, and opened by napari from a NIfTI file. Marks are put into
the panel's own layers, as the mouse does, so that everything on the way to the server is the panel's. Each tool is used
once with the object reset in between, then points are, one is undone, the mask is saved and read again, and the next
object begun. Prints seconds and F1 against the ellipsoid after each.
"""

import os
import sys
import time
from collections.abc import Callable
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np

SHAPE, SPACING = (32, 128, 128), (2.0, 1.0, 1.0)
CENTRE, RADII = (16, 60, 66), (11, 34, 26)
CLICKS = (((16, 60, 66), True), ((9, 58, 64), True), ((23, 62, 68), True), ((16, 100, 100), False))
POINT, BOX, SCRIBBLE, LASSO = range(4)  # the panel's numbers of its tools
PATIENCE_S = 120.0


def make_volume() -> tuple[np.ndarray, np.ndarray]:
    """(image, truth) of SHAPE."""
    places = np.indices(SHAPE)
    distances = sum(((axis - middle) / radius) ** 2 for axis, middle, radius in zip(places, CENTRE, RADII, strict=True))
    rod = (places[1] - 100) ** 2 + (places[2] - 100) ** 2 < 81
    truth = distances <= 1
    values = 60 + 70 * truth + 120 * rod + np.random.default_rng(0).normal(0, 12, SHAPE)
    return values.astype(np.float32), truth


class Visit:
    """napari with the panel, connected to a server. truth: what masks are compared with."""

    def __init__(self, address: str, folder: Path) -> None:
        import napari
        import nibabel
        from napari_nninteractive import nnInteractiveWidget

        image, self.truth = make_volume()
        place = np.diag([*SPACING[::-1], 1.0])
        nibabel.save(nibabel.Nifti1Image(image.transpose(), place), folder / "volume.nii.gz")
        self.viewer = napari.Viewer(show=True)
        self.viewer.window.resize(1280, 800)
        (layer,) = self.viewer.open(folder / "volume.nii.gz", plugin="napari-nifti")
        layer.contrast_limits = (20, 260)
        self.layer = layer
        self.panel = nnInteractiveWidget(self.viewer)
        self.viewer.window.add_dock_widget(self.panel, area="right", name="nnInteractive")
        self.panel.server_url_edit.setText(address)
        self.panel.api_key_edit.setText(os.environ.get("NN_INTERACTIVE_API_KEY", ""))
        self.panel.on_init()
        self.wait_for(lambda: self.panel.point_layer_name in self.viewer.layers)

    def wait_for(self, is_so: Callable[[], bool]) -> None:
        from qtpy.QtWidgets import QApplication

        until = time.monotonic() + PATIENCE_S
        while not is_so():
            QApplication.processEvents()
            time.sleep(0.02)
            if time.monotonic() > until:
                raise SystemExit("the panel did not get there in time")

    def look_at(self, frame: int) -> None:
        """Show a slice, by its place: napari opens the file with its axes running backwards."""
        self.viewer.dims.set_point(0, self.layer.data_to_world((frame, 0, 0))[0])

    def choose(self, tool: int, positive: bool = True):
        """The layer of a tool, in which marks are put."""
        for button, index in ((self.panel.interaction_button, tool), (self.panel.prompt_button, 0 if positive else 1)):
            button._uncheck()
            button._check(index)
        self.panel.on_interaction_selected()
        self.panel.on_prompt_selected()
        return self.viewer.layers[self.panel.layer_dict[tool]]

    def report(self, what: str, mark: Callable[[], object]) -> None:
        began = time.monotonic()
        mark()
        took, mask = time.monotonic() - began, self.viewer.layers[self.panel.label_layer_name].data > 0
        f1 = 2 * (mask & self.truth).sum() / (mask.sum() + self.truth.sum())
        print(f"{what}: {took:.2f} s, F1 {f1:.3f}", flush=True)

    def try_tools(self) -> None:
        """A box, a lasso and a scribble on the middle slice, each of a new object."""
        frame = CENTRE[0]
        self.look_at(frame)
        corners = [[frame, y, x] for y, x in ((26, 40), (26, 92), (94, 92), (94, 40))]
        self.report("box", lambda: self.choose(BOX).add(np.array(corners, float), shape_type="rectangle"))
        self.panel.on_reset_interactions()
        turns = np.linspace(0, 2 * np.pi, 40, endpoint=False)
        outline = np.stack([np.full(40, frame), 60 + 36 * np.sin(turns), 66 + 28 * np.cos(turns)], axis=1)
        self.report("lasso", lambda: self.choose(LASSO).add(outline, shape_type="polygon"))
        self.panel.on_reset_interactions()

        def scribble() -> None:
            layer = self.choose(SCRIBBLE)
            with layer.block_history():
                for y in range(40, 81, 2):
                    layer.paint((frame, y, 66), 1)
            layer._commit_staged_history()

        self.report("scribble", scribble)
        self.panel.on_reset_interactions()
        self.viewer.layers.remove(self.panel.scribble_layer_name)

    def click(self) -> None:
        for place, positive in CLICKS:
            self.look_at(place[0])
            layer = self.choose(POINT, positive)
            what = f"point {'on' if positive else 'beside'} the object"
            self.report(what, lambda layer=layer, place=place: layer.add(np.array([place], float)))

    def save(self, path: Path) -> None:
        """Save the mask as napari's menu does, and read it again."""
        import tifffile

        (written,) = self.viewer.layers[self.panel.label_layer_name].save(str(path))
        mask = tifffile.imread(written) > 0
        print(f"saved: {mask.sum()} voxels, F1 {2 * (mask & self.truth).sum() / (mask.sum() + self.truth.sum()):.3f}")

    def take_picture(self, path: str) -> None:
        self.look_at(CENTRE[0])
        until = time.monotonic() + 1
        self.wait_for(lambda: time.monotonic() > until)
        self.viewer.window.screenshot(path, canvas_only=False, flash=False)


def main(address: str, picture: str) -> None:
    with TemporaryDirectory() as folder:
        drive(Visit(address, Path(folder)), Path(folder), picture)


def drive(visit: Visit, folder: Path, picture: str) -> None:
    visit.try_tools()
    visit.click()
    layer = visit.choose(POINT)
    visit.report("one too many", lambda: layer.add(np.array([(2, 10, 10)], float)))
    visit.report("undone", visit.panel.on_undo)
    visit.take_picture(picture)
    visit.save(folder / "mask.tif")
    visit.panel.on_next()
    layer = visit.choose(POINT)
    visit.report("the same as the next object", lambda: layer.add(np.array([CENTRE], float)))
    visit.panel._release_session()
    visit.viewer.close()


if __name__ == "__main__":
    main(*sys.argv[1:])
