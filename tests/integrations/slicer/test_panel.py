"""The panel does what its buttons say.

Its widgets are stand-ins: how it looks, and that Qt has the names that it uses, is not shown here.
"""

import ast
import sys
import time
from pathlib import Path

import pytest
from FewpointLib.grid import Point

from integrations.slicer.conftest import TOKEN
from integrations.slicer.phantoms import POINTS, ROWS, place_ras
from integrations.slicer.scenes import add_points, add_volume, read_segment

STANDARD = set(sys.stdlib_module_names)
MODULE = Path(__file__).resolve().parents[3] / "integrations" / "slicer" / "Fewpoint"


def open_panel(scene, server: str):
    """A panel with the volume and the first two points chosen."""
    panel = scene.panel.FewpointWidget()
    panel.setup()
    panel.address.text, panel.token.text = server.partition("/?")[0], TOKEN
    panel.volume.setCurrentNode(add_volume(scene))
    panel.clicks.setCurrentNode(add_points(scene, "liver", POINTS[:2]))
    return panel


def wait(panel) -> str:
    """What the panel says once nothing goes on any more."""
    until = time.monotonic() + 120
    while panel._timer.fire():
        assert time.monotonic() < until, panel.status.text
        time.sleep(0.02)
    return panel.status.text


def test_masks_follow_points_that_are_placed(scene, server):
    panel = open_panel(scene, server)
    volume, liver = panel.volume.currentNode(), panel.clicks.currentNode()
    panel.live.toggle()
    assert wait(panel) == "Done"
    node = scene.nodes.find_segmentation(volume)
    assert all(read_segment(scene, node, "liver", volume)[y, x, frame] for frame, y, x in ROWS[:2])
    for point in POINTS[2:]:
        liver.AddControlPoint(list(point.ras), point.label)
    assert wait(panel) == "Done"
    assert all(read_segment(scene, node, "liver", volume)[y, x, frame] for frame, y, x in ROWS)
    panel.cleanup()


def test_a_negative_refines_the_project_that_is_remembered_with_the_volume(scene, server, segmented):
    panel = open_panel(scene, server)
    volume = panel.volume.currentNode()
    scene.nodes.remember(volume, segmented[0].memory)
    panel.clicks.setCurrentNode(add_points(scene, "liver", POINTS))
    panel.negatives.setCurrentNode(add_points(scene, "not it", [Point("beside", place_ras(0, 1, 1))]))
    panel.refine_button.press()
    assert not panel.refine_button.enabled and panel.stop_button.enabled
    assert wait(panel) == "Done"
    study, project = panel._study, segmented[0].memory.project
    assert (study.memory.project, scene.nodes.recall(volume)) == (project, study.memory)
    assert study.connection.get(f"/projects/{project}/runs/{study.run}")["refined_from"] == 1
    masks = read_segment(scene, scene.nodes.find_segmentation(volume), "liver", volume)
    assert masks[1, 1, 0] == 0 and all(masks[y, x, frame] for frame, y, x in ROWS)


def test_what_is_wrong_is_said_in_the_panel_and_can_be_put_right(scene, server):
    panel = open_panel(scene, server)
    clicks = panel.clicks.currentNode()
    panel.clicks.setCurrentNode(None)
    panel.segment_button.press()
    assert "must be chosen" in wait(panel)
    panel.clicks.setCurrentNode(clicks)
    panel.token.text = "wrong"
    panel.refine_button.press()
    assert "token" in wait(panel) and panel.refine_button.enabled
    panel.address.text = "http://127.0.0.1:9"
    panel.segment_button.press()
    assert "start fewpoint annotate" in wait(panel)
    panel.address.text, panel.token.text = server.partition("/?")[0], TOKEN
    panel.refine_button.press()
    assert "finished" in wait(panel), "nothing to refine yet"


def test_a_volume_that_is_being_sent_can_be_given_up(scene, server):
    panel = open_panel(scene, server)
    panel.segment_button.press()
    assert panel._timer.fire() and "Sending" in panel.status.text
    panel.stop_button.press()
    assert wait(panel) == "Given up" and panel.segment_button.enabled


def test_an_error_of_the_module_itself_is_not_hidden(scene, server, monkeypatch):
    panel = open_panel(scene, server)
    monkeypatch.setattr(scene.nodes, "read_volume", lambda node: 1 / 0)
    panel.segment_button.press()
    with pytest.raises(ZeroDivisionError):
        wait(panel)
    assert panel.segment_button.enabled and "Python console" in panel.status.text


def test_the_address_is_kept_and_the_token_is_not(scene, server):
    panel = open_panel(scene, server)
    panel.address.text, panel.token.text = server, ""
    panel.segment_button.press()
    while "reads" not in panel.status.text:
        assert panel._timer.fire()
    panel._timer.fire()
    panel.stop_button.press()
    kept = str(scene.panel.qt.QSettings.kept)
    assert server.partition("/?")[0] in kept and TOKEN not in kept


def test_slicer_lists_the_module(scene):
    from types import SimpleNamespace

    parent = SimpleNamespace()
    scene.panel.Fewpoint(parent)
    assert (parent.title, parent.categories) == ("Fewpoint", ["Segmentation"])
    assert (MODULE / "Resources" / "Icons" / f"{parent.title}.png").is_file()


def test_the_build_for_an_extension_names_every_file():
    text = (MODULE / "CMakeLists.txt").read_text(encoding="utf-8")
    files = [*MODULE.glob("*.py"), *MODULE.glob("FewpointLib/*.py"), *MODULE.glob("Resources/**/*.png")]
    assert [file for file in files if file.relative_to(MODULE).as_posix() not in text] == []


@pytest.mark.parametrize("file", sorted(MODULE.rglob("*.py")), ids=lambda file: file.stem)
def test_files_are_python_3_9_and_import_only_what_slicer_has(file):
    tree = ast.parse(file.read_text(encoding="utf-8"), feature_version=(3, 9))
    imported = {alias.name for node in ast.walk(tree) if isinstance(node, ast.Import) for alias in node.names}
    imported |= {node.module or "" for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)}
    own = {"numpy", "FewpointLib"} | ({"slicer", "vtk", "qt"} if file.stem in ("Fewpoint", "nodes") else set())
    assert {name.partition(".")[0] for name in imported} <= own | STANDARD
