"""A run that is stopped keeps what it has found so far."""

import numpy as np

from fewpoint.core import EpochPredicted, PointSet, SuperpixelMap, SuperpixelsReady
from fewpoint.io.masks import read_masks
from fewpoint.io.runs import RunFolder, load_result
from fewpoint.pipeline.early import LastLook, finish_early
from pipeline.tiny_runs import make_task

# Two frames of 2 x 4 pixels, each cut into a left and a right half.
LABELS = np.tile(np.array([[0, 0, 1, 1]] * 2, np.int32), (2, 1, 1))


def look_at(*rows) -> LastLook:
    look = LastLook()
    look(SuperpixelsReady(SuperpixelMap(LABELS)))
    look(EpochPredicted(3, np.array(rows, np.float16), np.array([0.5, 0.0])))
    return look


def test_a_look_shows_the_superpixels_at_a_half_or_above():
    look = look_at([0.5, 0.4], [0.1, 0.2])
    assert look.mask(0).tolist() == [[True, True, False, False]] * 2
    assert not look.mask(1).any()


def test_nothing_is_seen_before_the_first_look():
    look = LastLook()
    assert not look.saw_something
    look(SuperpixelsReady(SuperpixelMap(LABELS)))
    assert not look.saw_something


def test_the_last_look_counts():
    look = look_at([0.9, 0.1], [0.1, 0.1])
    look(EpochPredicted(7, np.array([[0.1, 0.9], [0.1, 0.1]], np.float16), np.array([0.5, 0.0])))
    assert look.epoch == 7 and look.mask(0)[0].tolist() == [False, False, True, True]


def test_a_stopped_run_is_a_finished_one_with_the_masks_of_the_last_look(tmp_path):
    task = make_task()
    labels = np.zeros((5, 40, 48), np.int32)
    labels[:, :, 24:] = 1
    look = LastLook(SuperpixelMap(labels), 4, np.array([[0.9, 0.1]] * 5, np.float16), np.full(5, 0.5))
    with RunFolder.open(tmp_path / "run", task.identity()) as folder:
        finish_early(task, folder, look)
    result = load_result(tmp_path / "run")
    assert np.array_equal(read_masks(tmp_path / "run"), result.masks)
    assert result.masks[:, :, :24].all()
    assert folder.manifest["stopped_after_epoch"] == 4
    clicked = np.zeros(5, bool)
    for frame, y, x in task.points.coordinates.tolist():
        clicked[frame] = result.masks[frame, y, x]
    assert clicked.all()


def test_a_clicked_superpixel_belongs_to_the_mask_whatever_the_network_says():
    look = look_at([0.1, 0.1], [0.1, 0.1])
    task = make_task()
    tiny = task.sequence.from_array(np.zeros((2, 2, 4), np.uint8))
    task = type(task)(tiny, PointSet.from_rows([(1, 0, 3)]), task.bound, task.settings)
    assert look.to_segmentation(task).masks[1, 0].tolist() == [False, False, True, True]
    assert not look.to_segmentation(task).masks[0].any()
