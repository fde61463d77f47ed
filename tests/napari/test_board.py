"""Layers in step with a study, in a viewer without a window."""

import numpy as np
import pytest

pytest.importorskip("napari.layers", reason="napari is not installed; pip install 'napari[pyqt6]'")

from napari.components import ViewerModel

from fewpoint.core.actions import LockObject
from fewpoint.errors import InputError
from fewpoint.napari.board import Board
from fewpoint.napari.files import read_layers
from fewpoint.napari.layers import OFF
from small_desk import CLICKS, FRAMES


@pytest.fixture
def board(study):
    viewer = ViewerModel()
    image = viewer.add_image(FRAMES, name="phantom", scale=(3.0, 0.5, 0.5), translate=(10.0, 0.0, -4.0))
    return Board(viewer, image, study)


def clicks_of(board, name="object"):
    return {(each.frame, each.y, each.x): each.positive for each in board.study.project.find(name).points}


def test_points_added_moved_and_removed_in_a_layer_are_clicks(board):
    (layer,) = board.points.values()
    layer.add(np.array([[0, 3, 4], [2, 7.6, 9.2]]))
    assert clicks_of(board) == {(0, 3, 4): True, (2, 8, 9): True}
    layer.selected_data = {0}
    layer.remove_selected()
    assert clicks_of(board) == {(2, 8, 9): True}
    layer.data = np.array([[1, 8, 9]])
    assert clicks_of(board) == {(1, 8, 9): True}


def test_new_points_lie_next_to_the_object_once_that_is_chosen_and_earlier_ones_stay(board):
    (layer,) = board.points.values()
    layer.add(np.array([[0, 3, 4]]))
    board.click_kind(layer, OFF)
    layer.add(np.array([[0, 9, 9]]))
    assert clicks_of(board) == {(0, 3, 4): True, (0, 9, 9): False}
    assert [str(each) for each in layer.symbol] == ["disc", "cross"]


def test_masks_lie_where_the_image_does(board):
    world = [layer.data_to_world((1, 2, 3)) for layer in (board.image, board.labels, *board.points.values())]
    assert len(set(world)) == 1
    assert board.labels.data.shape == FRAMES.shape


def test_a_turned_video_in_colour_has_masks_in_its_place(desk):
    colours = np.repeat(FRAMES[..., np.newaxis], 3, axis=-1)
    turned = np.array([[1.0, 0, 0, 5], [0, 0, -2, 1], [0, 2, 0, 0], [0, 0, 0, 1]])
    viewer = ViewerModel()
    image = viewer.add_image(colours, rgb=True, affine=turned, name="film")
    board = Board(viewer, image, desk.open_image(colours, "film"))
    (layer,) = board.points.values()
    assert board.labels.data.shape == FRAMES.shape
    assert board.labels.data_to_world((1, 2, 3)) == layer.data_to_world((1, 2, 3)) == image.data_to_world((1, 2, 3))
    layer.add(np.array([[2, 7, 5]]))
    assert clicks_of(board) == {(2, 7, 5): True}


def test_points_of_a_layer_that_lies_elsewhere_are_found_in_the_image(board):
    layer = board._viewer.add_points(np.array([board.image.data_to_world((2, 7, 5))]), name="marks")
    adopted = board.adopt(layer)
    assert adopted.name == "marks" and clicks_of(board, "marks") == {(2, 7, 5): True}
    assert len(board.study.project.objects) == 1, "the untouched first object was taken"


def test_points_outside_the_image_do_not_count_and_are_told(board):
    (layer,) = board.points.values()
    layer.add(np.array([[0, 3, 4], [99, 3, 4]]))
    assert clicks_of(board) == {(0, 3, 4): True}
    assert board.push(layer) == "1 points lie outside the image and do not count"


def test_what_the_study_refuses_is_taken_back_in_the_layer(board):
    (layer,) = board.points.values()
    layer.add(np.array([[0, 3, 4]]))
    board.study.say(LockObject("object", True))
    board._changed = lambda layer: None
    layer.add(np.array([[1, 5, 6]]))
    with pytest.raises(InputError, match="locked"):
        board.push(layer)
    assert layer.data.tolist() == [[0, 3, 4]]


def test_what_is_being_painted_outlives_new_masks_until_it_is_said(board):
    painted = np.zeros(FRAMES.shape, np.uint8)
    painted[3, 5:9, 5:9] = 1
    board.labels.data = painted
    new = np.zeros(FRAMES.shape, np.uint8)
    new[:, 0, 0] = 1
    board.show(new)
    assert board.painted == [3] and board.labels.data[3].sum() == 16 and board.labels.data[2].sum() == 1
    board.confirm(3)
    assert board.painted == [] and board.study.is_outlined(3)
    board.show(board.study.make_labels())
    assert board.labels.data[3].sum() == 16


def test_a_frame_is_looked_at_by_its_number(board):
    board.go_to(4)
    assert board.frame == 4 and board._viewer.dims.point[0] == 10 + 4 * 3


def test_a_renamed_layer_is_a_renamed_object(board):
    (layer,) = board.points.values()
    layer.name = "tumour"
    assert [each.name for each in board.study.project.objects] == ["tumour"]
    layer.name = " spaces at its ends "
    assert layer.name == "tumour"


def test_another_object_has_a_layer_and_a_label_of_its_own(board):
    board.study.add_object("vessel")
    board.pull()
    assert [layer.name for layer in board.points.values()] == ["object", "vessel"]
    colours = [board.labels.get_color(value) for value in (1, 2)]
    assert not np.allclose(*colours)


def test_layers_that_were_opened_from_a_project_are_taken_and_none_is_added(study):
    study.set_clicks("object", CLICKS)
    viewer = ViewerModel()
    for data, about, kind in read_layers(str(study.path)):
        getattr(viewer, f"add_{kind}")(data, **about)
    names = [layer.name for layer in viewer.layers]
    board = Board(viewer, viewer.layers[0], study)
    assert [layer.name for layer in viewer.layers] == names
    (layer,) = board.points.values()
    layer.data = layer.data[1:]
    assert len(clicks_of(board)) == len(CLICKS) - 1


def test_the_probability_is_a_layer_from_0_to_1_in_the_same_place(board):
    board.show_probability(board.study.project.objects[0], np.full(FRAMES.shape, 0.5, np.float32))
    board.show_probability(board.study.project.objects[0], np.full(FRAMES.shape, 0.25, np.float32))
    (layer,) = [each for each in board._viewer.layers if "probability" in each.name]
    assert layer.data.max() == 0.25 and tuple(layer.contrast_limits) == (0, 1)
    assert layer.data_to_world((1, 2, 3)) == board.image.data_to_world((1, 2, 3))
