"""What is said of an image and what was found, without napari and without Qt."""

import subprocess
import sys
from dataclasses import replace

import numpy as np
import pytest

from fewpoint.core.actions import LockObject, SetBox
from fewpoint.errors import InputError
from fewpoint.io.projects import read_project
from fewpoint.io.runs import load_result
from fewpoint.napari.clicks import find_changes
from fewpoint.napari.files import read_layers
from fewpoint.web.messages import LiveEvent
from fewpoint.web.orders import result_folder
from small_desk import CLICKS, FRAMES, make_desk, wait_until


def test_clicks_are_on_disk_before_anything_else_happens(study):
    study.set_clicks("object", {(0, 3, 4): True, (1, 5, 6): False})
    stored = read_project(study.path).project.find("object")
    assert [(each.frame, each.y, each.x, each.positive) for each in stored.points] == [
        (0, 3, 4, True),
        (1, 5, 6, False),
    ]


def test_of_changed_clicks_only_the_difference_is_written_down(study):
    study.set_clicks("object", {(0, 3, 4): True, (1, 5, 6): True})
    target = study.project.find("object")
    changes = find_changes(target, {(0, 3, 4): True, (1, 5, 6): False})
    assert [change.kind for change in changes] == ["remove_point", "add_points"]
    assert find_changes(target, {(0, 3, 4): True, (1, 5, 6): True}) == []


def test_clicks_that_are_changed_leave_boxes_and_locks_alone(study):
    study.say(SetBox("object", 2, 1, 1, 9, 9))
    study.set_clicks("object", {(0, 3, 4): True})
    assert study.project.find("object").boxes[0].frame == 2
    study.say(LockObject("object", True))
    with pytest.raises(InputError, match="locked"):
        study.set_clicks("object", {})
    assert len(study.project.find("object").points) == 1


def test_a_frame_that_is_right_is_an_outline_of_every_object_shown_or_painted(study):
    study.set_clicks("object", {(0, 3, 4): True})
    study.add_object()
    labels = np.zeros(study.project.size, np.uint8)
    labels[10:20, 5:9] = 2
    study.outline(3, labels)
    assert [each.brushed.keys() for each in study.project.objects] == [{3}, {3}]
    np.testing.assert_array_equal(study.make_labels()[3], labels)
    study.clear_outline(3)
    assert not study.is_outlined(3)


def test_a_label_without_an_object_is_refused_in_words(study):
    labels = np.full(study.project.size, 3, np.uint8)
    with pytest.raises(InputError, match="label 3 belongs to no object, there are 1"):
        study.outline(0, labels)
    with pytest.raises(InputError, match="nothing on this frame"):
        study.outline(0, np.zeros_like(labels))


def test_a_finished_run_gives_labels_probabilities_and_frames_worth_a_look(finished):
    labels, probability = finished.make_labels(), finished.read_probability("object")
    result = load_result(result_folder(finished.session.runs_folder / "1"))
    assert labels.shape == FRAMES.shape and labels.any()
    np.testing.assert_array_equal(labels == 1, result.masks)
    assert probability is not None and probability.shape == FRAMES.shape and 0 <= probability.max() <= 1
    frames = [finished.find_next() for _ in range(3)]
    assert len(set(frames)) == 3, "looked at in turn"
    assert finished.has_result and finished.can_refine


def test_the_last_result_is_opened_with_its_project(finished):
    pytest.importorskip("napari.layers", reason="napari is not installed; pip install 'napari[pyqt6]'")
    (labels,) = (data for data, _, kind in read_layers(str(finished.path)) if kind == "labels")
    np.testing.assert_array_equal(labels, finished.make_labels())


def test_before_a_run_it_is_said_that_there_is_no_frame_to_look_at(study):
    with pytest.raises(InputError, match="run first"):
        study.find_next()
    assert study.read_probability("object") is None and not study.make_labels().any()
    with pytest.raises(InputError, match="click on one at least once"):
        study.run(refine=False)


def test_masks_follow_a_click_at_once_and_a_size_without_a_word(study):
    answers = []
    leave = study.watch(lambda event: answers.append(event.live.number) if isinstance(event, LiveEvent) else None)
    study.follow(True)
    study.set_clicks("object", dict(list(CLICKS.items())[:1]))
    wait_until(lambda: study.session.live.answered and not study.session.live.partly)
    before, number = int(study.make_labels().sum()), study.session.live.number
    assert before
    study.try_size("object", 4.0)
    wait_until(lambda: study.session.live.number > number)
    assert int(study.make_labels().sum()) > before and study.project.find("object").size == 1.0
    study.follow(False)
    leave()
    assert not study.session.broadcast.is_heard and max(answers) >= 2


def test_a_cancelled_run_ends_and_an_interrupted_one_goes_on_after_the_next_start(tmp_path):
    first = make_desk(tmp_path)
    study = first.open_image(FRAMES, "phantom")
    study.set_clicks("object", CLICKS)
    one, two = study.run(refine=False), study.run(refine=False)
    study.cancel(two)
    assert study.describe_run(two).state == "cancelled"
    wait_until(lambda: study.describe_run(one).state != "waiting")
    first.close()
    second = make_desk(tmp_path)
    again = second.open_image(FRAMES, "phantom")
    assert again.path == study.path and again.project == study.project
    if again.describe_run(one).state == "interrupted":  # unless it was quicker than its end
        again.resume(one)
    state = again.describe_run(one).state
    second.close()
    assert state in ("waiting", "running", "finished")


def test_the_plugin_loads_neither_torch_nor_what_the_page_needs():
    program = (
        "import sys; sys.modules.update(dict.fromkeys(['fastapi', 'uvicorn', 'napari', 'qtpy']));"
        "import fewpoint.napari.desk, fewpoint.napari.files; print('torch' in sys.modules)"
    )
    told = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
    assert told.stdout.strip() == "False", told.stderr


def test_a_standing_says_how_far_a_run_is(finished):
    standing = finished.list_runs()[0]
    assert standing.is_over and str(standing).startswith("run 1: finished, ")
    assert str(replace(standing, state="running", done=0.5, words="")) == "run 1: running 50%"
