"""The picture of docs/how-to/nninteractive.md: napari's nnInteractive panel, which drives `fewpoint serve`.

    NN_INTERACTIVE_API_KEY=KEY xvfb-run -a python docs/napari_screenshot.py ADDRESS docs/images/napari-nninteractive.png

needs napari with PyQt6 and napari-nninteractive, not fewpoint itself. ADDRESS: of a server that runs. The volume is
made here: a bright ellipsoid and a brighter rod in noise. Clicks are set in the panel's own layers, as the mouse does,
so that everything on the way to the server is the panel's. Prints seconds and F1 against the ellipsoid after each.
"""

import os
import sys
import time

import numpy as np

SHAPE, SPACING = (32, 128, 128), (2.0, 1.0, 1.0)
CENTRE, RADII = (16, 60, 66), (11, 34, 26)
CLICKS = (((16, 60, 66), True), ((9, 58, 64), True), ((23, 62, 68), True), ((16, 100, 100), False))
PATIENCE_S = 120.0


def make_volume() -> tuple[np.ndarray, np.ndarray]:
    """(image, truth) of SHAPE."""
    places = np.indices(SHAPE)
    distances = sum(((axis - middle) / radius) ** 2 for axis, middle, radius in zip(places, CENTRE, RADII, strict=True))
    rod = (places[1] - 100) ** 2 + (places[2] - 100) ** 2 < 81
    truth = distances <= 1
    values = 60 + 70 * truth + 120 * rod + np.random.default_rng(0).normal(0, 12, SHAPE)
    return values.astype(np.float32), truth


def measure_f1(mask: np.ndarray, truth: np.ndarray) -> float:
    return float(2 * ((mask > 0) & truth).sum() / ((mask > 0).sum() + truth.sum()))


def main(address: str, picture: str) -> None:
    import napari
    from napari_nninteractive import nnInteractiveWidget
    from qtpy.QtWidgets import QApplication

    image, truth = make_volume()
    viewer = napari.Viewer(show=True)
    viewer.window.resize(1280, 800)
    viewer.add_image(image, name="volume", scale=SPACING, contrast_limits=(20, 260))
    panel = nnInteractiveWidget(viewer)
    viewer.window.add_dock_widget(panel, area="right", name="nnInteractive")

    def wait_for(is_so) -> None:
        until = time.monotonic() + PATIENCE_S
        while not is_so():
            QApplication.processEvents()
            time.sleep(0.02)
            if time.monotonic() > until:
                raise SystemExit("the panel did not get there in time")

    panel.server_url_edit.setText(address)
    panel.api_key_edit.setText(os.environ.get("NN_INTERACTIVE_API_KEY", ""))
    panel.on_init()
    wait_for(lambda: panel.point_layer_name in viewer.layers)
    for place, positive in CLICKS:
        panel.prompt_button._uncheck()
        panel.prompt_button._check(0 if positive else 1)
        panel.on_prompt_selected()
        viewer.dims.set_current_step(0, place[0])
        began = time.monotonic()
        viewer.layers[panel.point_layer_name].add(np.array([place], float))
        mask = viewer.layers[panel.label_layer_name].data
        took = time.monotonic() - began
        print(f"{'on' if positive else 'beside'} {place}: {took:.2f} s, F1 {measure_f1(mask, truth):.3f}")
    viewer.dims.set_current_step(0, CENTRE[0])
    until = time.monotonic() + 1
    wait_for(lambda: time.monotonic() > until)
    viewer.window.screenshot(picture, canvas_only=False, flash=False)
    panel._release_session()
    viewer.close()


if __name__ == "__main__":
    main(*sys.argv[1:])
