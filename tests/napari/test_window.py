"""The plugin in napari itself, in a window on a virtual display."""

import shutil
import subprocess
import sys

import pytest

pytest.importorskip("napari.layers", reason="napari is not installed; pip install 'napari[pyqt6]'")

WITH_A_WINDOW = """
import sys
import napari
viewer = napari.Viewer(show=False)
viewer.open_sample("fewpoint", "phantom")
dock, widget = viewer.window.add_plugin_dock_widget("fewpoint")
assert widget.controls.images.count() == 1
picture = viewer.screenshot(canvas_only=False, flash=False)
assert picture.std() > 1
viewer.add_points([[3, 40, 40]], name="tumour")
(saved,) = viewer.layers.save(sys.argv[1])
viewer.layers.clear()
viewer.open(saved, plugin="fewpoint")
print("seen", [layer.name for layer in viewer.layers])
viewer.close()
"""


@pytest.mark.skipif(shutil.which("xvfb-run") is None, reason="a window needs a display; apt-get install xvfb")
def test_napari_itself_finds_the_plugin_saves_and_opens_a_project_and_shows_it_in_a_window(monkeypatch, tmp_path):
    monkeypatch.delenv("QT_QPA_PLATFORM", raising=False)
    command = ["xvfb-run", "--auto-servernum", sys.executable, "-c", WITH_A_WINDOW, str(tmp_path / "mine.fewpoint")]
    told = subprocess.run(command, capture_output=True, text=True, timeout=300, check=False)
    if "OpenGL" in told.stderr and told.returncode:
        pytest.skip(f"there is no OpenGL here: {told.stderr.strip().splitlines()[-1]}")
    assert told.stdout.strip().endswith("seen ['mine', 'mine masks', 'tumour']"), told.stdout + told.stderr[-2000:]
