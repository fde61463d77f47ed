"""The dock widget, as a person uses it, on Qt without a screen; the viewer has no window and needs no OpenGL."""

import numpy as np
import pytest

pytest.importorskip("napari.layers", reason="napari is not installed; pip install 'napari[pyqt6]'")
pytest.importorskip("pytestqt", reason="pytest-qt is not installed; pip install pytest-qt")

from napari.components import ViewerModel

from fewpoint.io.projects import ProjectLog, read_project
from fewpoint.napari.files import read_layers
from fewpoint.napari.layers import OFF
from fewpoint.napari.widget import FewpointWidget
from small_desk import CLICKS, FRAMES

PATIENCE_MS = 180_000


@pytest.fixture
def widget(qtbot, desk):
    viewer = ViewerModel()
    widget = FewpointWidget(viewer, desk)
    qtbot.addWidget(widget, before_close_func=lambda each: each.leave())
    widget.controls.live.setChecked(False)
    return widget


@pytest.fixture
def started(qtbot, widget, tmp_path):
    """Work on an image has begun in a folder of the person's choice."""
    widget._viewer.add_image(FRAMES, name="phantom")
    widget.controls.folder.setText(str(tmp_path / "chosen"))
    widget.controls.start.click()
    qtbot.waitUntil(lambda: widget.board is not None and not widget._busy, timeout=PATIENCE_MS)
    return widget


def layer_of(widget, index=0):
    return widget.board.points[widget.board.study.project.objects[index].id]


def test_nothing_can_be_pressed_before_there_is_an_image(widget):
    assert not widget.controls.start.isEnabled() and not widget.controls.run.isEnabled()
    widget._viewer.add_image(np.zeros((8, 8)), name="flat")
    assert widget.controls.images.count() == 0
    widget._viewer.add_image(FRAMES, name="phantom")
    assert widget.controls.start.isEnabled() and not widget.controls.run.isEnabled()


def test_an_image_is_kept_in_the_chosen_folder_and_clicks_go_to_its_points_layer(started, tmp_path):
    assert started.board.study.path.parent == tmp_path / "chosen"
    layer = layer_of(started)
    assert started._viewer.layers.selection.active is layer and str(layer.mode) == "add"
    layer.add(np.array([[0, 3, 4]]))
    started.controls.kind.setCurrentIndex(started.controls.kind.findData(OFF))
    layer.add(np.array([[1, 5, 6]]))
    stored = read_project(started.board.study.path).project.objects[0].points
    assert [each.positive for each in stored] == [True, False]


def test_a_run_is_shown_by_napari_and_ends_in_a_labels_layer(qtbot, started):
    from napari.utils.progress import progress

    layer_of(started).add(np.array([list(place) for place in CLICKS], float))
    started.controls.run.click()
    qtbot.waitUntil(lambda: any("phantom, run 1" in str(bar) for bar in progress._all_instances), timeout=PATIENCE_MS)
    study = started.board.study
    qtbot.waitUntil(lambda: study.describe_run(1).is_over, timeout=PATIENCE_MS)
    qtbot.waitUntil(lambda: started.board.labels.data.any() and not started._bars, timeout=PATIENCE_MS)
    assert "finished" in started.controls.runs.item(0).text()
    assert started.controls.refine.isEnabled() and started.controls.look.isEnabled()
    started.controls.probability.setChecked(True)
    assert any("probability" in layer.name for layer in started._viewer.layers)
    started.controls.look.click()
    assert f"Frame {started.board.frame}" in started.controls.status.text()


def test_a_run_is_cancelled_by_the_button_of_its_bar(qtbot, started):
    layer_of(started).add(np.array([list(place) for place in CLICKS], float))
    started.controls.run.click()
    qtbot.waitUntil(lambda: any(started._bars.values()), timeout=PATIENCE_MS)
    next(iter(started._bars.values())).cancel()
    study = started.board.study
    qtbot.waitUntil(lambda: study.describe_run(1).is_over, timeout=PATIENCE_MS)
    assert study.describe_run(1).state == "cancelled"
    qtbot.waitUntil(lambda: not started._bars, timeout=PATIENCE_MS)


def test_masks_follow_a_click_in_the_layer(qtbot, started):
    started.controls.live.setChecked(True)
    layer_of(started).add(np.array([next(iter(CLICKS))], float))
    qtbot.waitUntil(lambda: bool(started.board.labels.data.any()), timeout=PATIENCE_MS)
    started.controls.live.setChecked(False)


def test_a_painted_frame_is_right_by_a_button_and_no_longer_by_another(started):
    started.board.go_to(2)
    painted = np.zeros(FRAMES.shape, np.uint8)
    painted[2, 5:9, 5:9] = 1
    started.board.labels.data = painted
    started.controls.right.click()
    assert started.board.study.is_outlined(2) and started.controls.not_right.isEnabled()
    started.controls.not_right.click()
    assert not started.board.study.is_outlined(2)


def test_the_dial_says_a_size_of_all_frames_or_of_one(started):
    started.controls.dial.setValue(20)
    assert started.board.study.project.objects[0].size == 2.0
    assert started.controls.factor_text.text() == "2.00 ×"
    started.board.go_to(3)
    started.controls.only_here.setChecked(True)
    assert started.controls.dial.value() == 0
    started.controls.dial.setValue(-20)
    assert started.board.study.project.objects[0].sizes == {3: 0.5}


def test_several_objects_are_chosen_by_their_label(started):
    layer_of(started).add(np.array([[0, 3, 4]]))
    started.controls.add_object.click()
    assert [started.controls.objects.itemText(index) for index in range(2)] == ["1: object", "2: object 2"]
    assert started._viewer.layers.selection.active is layer_of(started, 1)
    own = started._viewer.add_points(np.array([[0, 9, 9]], float), name="vessel", ndim=3)
    started._viewer.layers.selection.active = own
    started.controls.adopt.click()
    assert [each.name for each in started.board.study.project.objects] == ["object", "object 2", "vessel"]


def test_an_object_whose_layer_is_renamed_is_called_so_in_the_list(qtbot, started):
    layer_of(started).name = "tumour"
    qtbot.waitUntil(lambda: started.controls.objects.currentText() == "1: tumour", timeout=PATIENCE_MS)


def test_what_is_wrong_is_told_and_raises_nothing(started):
    started.controls.run.click()
    assert "click on one at least once" in started.controls.status.text()
    started.controls.right.click()
    assert "nothing on this frame" in started.controls.status.text()
    started._viewer.layers.selection.active = started.board.labels
    started.controls.adopt.click()
    assert "select a points layer" in started.controls.status.text()


def test_a_project_that_is_opened_goes_on_by_itself(qtbot, widget, tmp_path):
    np.save(tmp_path / "frames.npy", FRAMES)
    path = tmp_path / "frames.fewpoint"
    ProjectLog.create(path, tmp_path / "frames.npy", FRAMES.shape).close()
    for data, about, kind in read_layers(str(path)):
        getattr(widget._viewer, f"add_{kind}")(data, **about)
    qtbot.waitUntil(lambda: widget.board is not None, timeout=PATIENCE_MS)
    assert widget.board.study.path == path
    layer_of(widget).add(np.array([[0, 3, 4]]))
    assert len(read_project(path).project.objects[0].points) == 1


def test_layers_that_are_removed_take_nothing_back(started):
    layer_of(started).add(np.array([[0, 3, 4]]))
    path = started.board.study.path
    started._viewer.layers.clear()
    assert started.board is None and len(read_project(path).project.objects[0].points) == 1
