"""A volume goes to a running server and its masks come back to the voxel, whatever happens in between."""

import doctest
from contextlib import ExitStack
from dataclasses import replace

import numpy as np
import pytest
from FewpointLib import grid
from FewpointLib import study as study_module
from FewpointLib.connection import Connection, LostError, ServerError
from FewpointLib.grid import PlaceError, Point
from FewpointLib.study import Clicks, Memory, check_grid, is_negative, open_study, sort_points

from fewpoint.io.markups import split_name
from fewpoint.web import queueing
from fewpoint.web.client import Client
from fewpoint.web.server import create_app
from integrations.slicer.conftest import TOKEN
from integrations.slicer.phantoms import CLICKS, POINTS, ROWS, VOLUME, finish, place_ras, to_slicer
from web.visits import QUICK_WORKER, make_options, make_root, serve_in_thread

LONG = (("warmup.epochs", 3000), ("rounds.round_epochs", 3000))


def renamed(name: str):
    """The volume as another one, which gets a project of its own."""
    return replace(VOLUME, name=name, array=VOLUME.array ^ len(name))


def state_of(study) -> dict:
    return study.connection.get(f"/projects/{study.memory.project}")


def test_masks_of_a_volume_at_an_angle_are_the_servers_to_the_voxel_and_hold_every_click(segmented, server):
    study, (mask,), _ = segmented
    assert (mask.name, mask.array.shape, mask.array.dtype) == ("liver", VOLUME.array.shape, np.uint8)
    assert all(mask.array[y, x, frame] for frame, y, x in ROWS)
    client = Client(server.partition("/?")[0], TOKEN)
    (project,) = [each for each in client.projects() if each["id"] == study.memory.project]
    assert project["name"] == "3 CT Abdomen.nrrd"
    frames = client.open_project(f"{project['input']}.fewpoint").masks(1, "liver")
    assert np.array_equal(mask.array, to_slicer(frames))


def test_every_step_is_told_with_how_far_it_is(segmented):
    texts = [step.text for step in segmented[2]]
    assert texts[0] == "Sending the volume" and "Fetching liver" in texts
    assert all(step.share is None or 0 <= step.share <= 1 for step in segmented[2])


def test_with_nothing_new_to_say_the_masks_are_fetched_and_nothing_is_trained(segmented):
    study, masks, _ = segmented
    before = len(state_of(study)["runs"])
    (again,) = finish(study.segment())
    assert len(state_of(study)["runs"]) == before
    assert study.run != 1 or np.array_equal(again.array, masks[0].array)


def test_a_project_is_found_again_when_slicer_was_started_again(segmented, server):
    first, _, _ = segmented
    memory = Memory.from_text(first.memory.to_text())
    study = finish(open_study(Connection(server), VOLUME, memory))
    assert memory == first.memory == study.memory and study.can_refine
    rounded = replace(VOLUME, ijk_to_ras=VOLUME.ijk_to_ras + 1e-6)
    assert finish(open_study(Connection(server), rounded, memory)).memory == memory


def test_clicks_taken_away_in_slicer_go_and_those_made_on_the_page_stay(server):
    study = finish(open_study(Connection(server), renamed("page")))
    study.say(CLICKS)
    page = Client(server.partition("/?")[0], TOKEN)
    page.post(
        f"/projects/{study.memory.project}/actions",
        {"action": {"kind": "add_point", "object": "liver", "frame": 5, "y": 2, "x": 3}},
    )
    study.say(replace(CLICKS, on=CLICKS.on[:2]))
    (found,) = state_of(study)["objects"]
    assert sorted((each["frame"], each["y"], each["x"]) for each in found["points"]) == sorted([*ROWS[:2], (5, 2, 3)])
    study.say(Clicks("spleen", (POINTS[3],)))
    assert [each["name"] for each in state_of(study)["objects"]] == ["liver", "spleen"]


def test_masks_follow_a_click_at_once(server):
    study = finish(open_study(Connection(server), renamed("at once")))
    study.listen(True)
    study.say(CLICKS)
    (mask,) = finish(study.answer())
    assert all(mask.array[y, x, frame] for frame, y, x in ROWS)
    assert state_of(study)["runs"] == []
    study.say(replace(CLICKS, off=(Point("beside", place_ras(2, 1, 1)),)))
    (mask,) = finish(study.answer())
    assert mask.array[1, 1, 2] == 0
    study.listen(False)


def test_a_preset_is_chosen_for_the_runs_to_come(server):
    study = finish(open_study(Connection(server), renamed("preset")))
    study.choose("accurate")
    assert state_of(study)["settings"]["preset"] == "accurate"
    with pytest.raises(ServerError, match="preset"):
        study.choose("best")


def test_a_volume_that_has_changed_or_whose_project_is_gone_is_sent_anew(server):
    study = finish(open_study(Connection(server), renamed("gone")))
    moved = replace(renamed("gone"), ijk_to_ras=VOLUME.ijk_to_ras + 0.1)
    assert finish(open_study(Connection(server), moved, study.memory)).memory.project != study.memory.project
    gone = replace(study.memory, project="0123456789abcdef")
    assert finish(open_study(Connection(server), renamed("gone"), gone)).memory.project != study.memory.project
    assert finish(open_study(Connection(server), renamed("other"), study.memory)).memory.project != study.memory.project


def test_a_run_outlives_a_server_that_goes_away_and_is_stopped_with_what_it_found(tmp_path, monkeypatch):
    """One story, because each start of a training process costs seconds."""
    monkeypatch.setattr(queueing, "COMMAND", QUICK_WORKER)
    root, texts, epochs = make_root(tmp_path / "root"), [], []

    def serve(port: int = 0):
        return serve_in_thread(create_app(make_options(root, changes=LONG)), port)

    with ExitStack() as stack:
        first = stack.enter_context(ExitStack())
        address = first.enter_context(serve())
        study = finish(open_study(Connection(address), VOLUME))
        study.say(CLICKS)

        def meddle(step) -> None:
            texts.append(step.text)
            learning = step.share is not None and step.text.partition(" ")[0] != "Fetching"
            if learning and not any("trying again" in text for text in texts):
                first.close()
            elif "trying again" in step.text and texts.count(step.text) == 1:
                stack.enter_context(serve(int(address.rpartition(":")[2])))
            elif learning:
                epochs.append(study.connection.get(path)["epoch"])
                if epochs[-1] > epochs[0] + 4:  # there is something to show since it goes on
                    study.stop()

        path = f"/projects/{study.memory.project}/runs/1"
        (mask,) = finish(study.segment(), meddle)
        study.stop()  # which is no error when the run is over
        assert mask.array.any()
        assert [run["state"] for run in state_of(study)["runs"]] == ["cancelled"]


def test_a_stop_before_anything_was_found_is_said(segmented):
    study, _, _ = segmented
    told = {"state": "cancelled", "best": False}
    alone = study.__class__(Answers([told]), study.grid, study.memory)
    with pytest.raises(ServerError, match="before there was anything"):
        finish(alone._follow(1))


class Answers:
    """A connection that gives one answer after the other; an error is raised."""

    def __init__(self, answers: list) -> None:
        self.answers = answers

    def get(self, path: str, **query):
        answer = self.answers.pop(0)
        if isinstance(answer, Exception):
            raise answer
        return answer


def test_a_lost_connection_is_tried_again_and_a_refusal_is_not(segmented):
    study, _, _ = segmented
    steps = []
    patient = study.__class__(Answers([LostError("no fewpoint"), {"runs": []}]), study.grid, study.memory)
    assert finish(patient._get("/masks/0"), steps.append) == {"runs": []}
    assert "trying again" in steps[0].text and steps[0].pause_s > 0
    refused = study.__class__(Answers([ServerError("there is no frame", 404)]), study.grid, study.memory)
    with pytest.raises(ServerError, match="no frame"):
        finish(refused._get("/masks/0"))


@pytest.mark.parametrize(
    ("clicks", "words"),
    [
        (Clicks("liver", ()), "needs at least one point"),
        (Clicks("liver", CLICKS.on, CLICKS.on[:1]), "on one voxel"),
        (Clicks("liver", (Point("F-9", (900.0, 0.0, 0.0)),)), "F-9 lies outside"),
    ],
)
def test_points_that_cannot_be_used_are_refused_before_anything_is_sent(segmented, clicks, words):
    study, _, _ = segmented
    before = state_of(study)["version"]
    with pytest.raises(PlaceError, match=words):
        study.say(clicks)
    assert state_of(study)["version"] == before


def test_frames_that_the_server_cuts_otherwise_are_refused(segmented):
    study, _, _ = segmented
    state = state_of(study)
    for wrong in ({"frames": 7}, {"spacing_mm": None}, {"spacing_mm": [1, 1, 1]}):
        with pytest.raises(ServerError, match="must cut the volume"):
            check_grid({**state, **wrong}, study.grid)


def test_a_memory_that_is_none_is_forgotten():
    assert [Memory.from_text(text) for text in (None, "", "{", "[]", '{"address": 1}')] == [None] * 5


@pytest.mark.parametrize(
    "name", ["F-1", "F-2 negative", "liver-negative", "Negative", "seronegative", "a_NEGATIVE", ""]
)
def test_negatives_are_named_as_in_files_of_points(name):
    assert is_negative(name) is not split_name(name)[1]


def test_labels_and_a_second_list_say_where_the_object_is_not():
    one, two, three = POINTS[0], replace(POINTS[1], label="F-2 negative"), POINTS[2]
    assert sort_points("liver", [one, two], [three]) == Clicks("liver", (one,), (two, three))


@pytest.mark.parametrize("module", [grid, study_module], ids=["grid", "study"])
def test_the_examples_of_the_module_hold(module):
    done = doctest.testmod(module)
    assert done.attempted and not done.failed
