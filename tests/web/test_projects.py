"""Actions over HTTP, and everyone who watches."""

import pytest
from starlette.testclient import TestClient

from fewpoint.core.actions import KINDS
from fewpoint.io.projects import read_project
from fewpoint.web.server import create_app
from web.visits import ADDRESS, do, make_options, open_frames, watch


def test_an_input_is_opened_once_and_its_project_lies_beside_it(client, root):
    first, second = open_frames(client), open_frames(client)
    assert first["id"] == second["id"]
    assert (root / "frames.fewpoint").is_file()
    assert (first["frames"], first["height"], first["width"], first["channels"]) == (6, 48, 40, 1)
    assert first["kind"] == "frames" and first["frame_names"][0] == "0000"


def test_a_volume_says_how_far_its_voxels_lie_apart(client, root):
    import numpy as np

    from volumes import save_nifti

    save_nifti(root / "volume.nii.gz", np.zeros((8, 9, 4), np.uint8), np.diag([0.5, 0.7, 3.0, 1.0]))
    project = client.post("/api/projects", json={"input": "volume.nii.gz"}).json()
    assert project["kind"] == "volume"
    assert project["spacing_mm"] == pytest.approx([3.0, 0.7, 0.5])


def test_every_kind_of_action_is_taken(client):
    project = open_frames(client)["id"]
    do(client, project, "add_point", object="object", frame=0, y=1, x=2)
    do(client, project, "move_point", point=1, y=3, x=4)
    do(client, project, "mark_absent", object="object", frame=3, last=3, absent=True)
    do(client, project, "set_box", object="object", frame=0, top=0, left=0, bottom=24, right=20)
    do(client, project, "set_fraction", fraction=0.2)
    do(client, project, "add_object", name="liver")
    do(client, project, "rename_object", object="liver", name="spleen")
    do(client, project, "recolour_object", object="spleen", colour="#00FF00")
    do(client, project, "set_settings", preset="fast", seed=3)
    do(client, project, "set_size", object="object", size=1.5)
    do(client, project, "set_size", object="object", size=0.8, frame=2)
    do(client, project, "brush", object="object", frame=1, runs=[[0, 5], [9, 2]])
    state = do(client, project, "brush_frames", object="object", frames=[[2, []]])
    assert [each["name"] for each in state["objects"]] == ["object", "spleen"]
    marked = state["objects"][0]
    assert marked["points"] == [{"id": 1, "frame": 0, "y": 3, "x": 4, "positive": True}]
    assert (marked["absent"], marked["brushed"], marked["box"]["share"]) == ([3], [1, 2], 0.25)
    assert (marked["boxes"], marked["size"], marked["sizes"]) == ([marked["box"]], 1.5, {"2": 0.8})
    assert state["objects"][1]["colour"] == "#00ff00"
    assert [each["bound"] for each in state["objects"]] == [0.25, 0.2]
    assert state["settings"] == {"preset": "fast", "seed": 3} and state["fraction"] == 0.2
    do(client, project, "clear_brush", object="object", frame=2)
    do(client, project, "clear_box", object="object")
    do(client, project, "add_points", object="object", places=[[5, 1, 1], [5, 2, 2]], positive=False)
    do(client, project, "lock_object", object="spleen", locked=True)
    do(client, project, "lock_object", object="spleen", locked=False)
    do(client, project, "undo")
    do(client, project, "undo")
    do(client, project, "undo")
    do(client, project, "remove_object", object="spleen")
    do(client, project, "remove_point", point=1)
    do(client, project, "undo")
    state = do(client, project, "redo")
    assert state["objects"][0]["points"] == [] and state["version"] == 25
    assert len(KINDS) == 20


def test_a_refused_action_says_why_in_one_line_and_changes_nothing(client):
    project = open_frames(client)["id"]
    answer = client.post(
        f"/api/projects/{project}/actions",
        json={"action": {"kind": "add_point", "object": "object", "frame": 99, "y": 0, "x": 0}},
    )
    assert (answer.status_code, answer.json()) == (422, {"detail": "frames go from 0 to 5, got 99"})
    assert client.get(f"/api/projects/{project}").json()["version"] == 0


def test_an_action_on_an_old_version_is_refused_only_where_one_was_named(client):
    project = open_frames(client)["id"]
    action = {"kind": "mark_absent", "object": "object", "frame": 1}
    address = f"/api/projects/{project}/actions"
    assert client.post(address, json={"base_version": 0, "action": action}).status_code == 200
    assert client.post(address, json={"base_version": 0, "action": action}).status_code == 409
    assert client.post(address, json={"action": action}).status_code == 200


def test_two_who_watch_a_project_see_each_others_points(client):
    project = open_frames(client)["id"]
    with watch(client, project) as one, watch(client, project) as other:
        assert one.receive_json() == other.receive_json() == {"kind": "hello", "version": 0}
        do(client, project, "add_point", object="object", frame=0, y=1, x=2)
        for watching in (one, other):
            event = watching.receive_json()
            assert event["kind"] == "project" and event["project"]["version"] == 1
            assert event["project"]["objects"][0]["points"][0]["y"] == 1


def test_nobody_is_told_of_another_project(client, root):
    project = open_frames(client)["id"]
    other = client.post("/api/projects", json={"input": "truth"}).json()["id"]
    with watch(client, project) as watching:
        watching.receive_json()
        do(client, other, "mark_absent", object="object", frame=0)
        do(client, project, "mark_absent", object="object", frame=5)
        assert watching.receive_json()["project"]["objects"][0]["absent"] == [5]


def test_names_come_back_as_they_are_and_only_ever_as_json(client):
    project = open_frames(client)["id"]
    name = "<img src=x onerror=alert(1)>\"'&"
    do(client, project, "add_object", name=name)
    answer = client.post(f"/api/projects/{project}/actions", json={"action": {"kind": "add_object", "name": name}})
    assert answer.status_code == 422 and name in answer.json()["detail"]
    assert answer.headers["content-type"] == "application/json"


def test_the_project_file_can_be_downloaded_and_read(client, tmp_path):
    project = open_frames(client)["id"]
    do(client, project, "add_point", object="object", frame=0, y=1, x=2)
    answer = client.get(f"/api/projects/{project}/file")
    assert 'filename="frames.fewpoint"' in answer.headers["content-disposition"]
    (tmp_path / "copy.fewpoint").write_bytes(answer.content)
    assert len(read_project(tmp_path / "copy.fewpoint").project.objects[0].points) == 1


def test_a_name_cannot_break_out_of_a_header(client, root):
    (root / "frames").rename(root / 'a"b\r\nX: y')
    answer = client.post("/api/projects", json={"input": 'a"b\r\nX: y'})
    headers = client.get(f"/api/projects/{answer.json()['id']}/file").headers
    assert "x" not in headers and headers["content-disposition"].isprintable()


def test_after_the_next_start_a_page_finds_its_project_by_the_same_id(root):
    with TestClient(create_app(make_options(root)), base_url=ADDRESS) as client:
        project = open_frames(client)["id"]
        do(client, project, "add_point", object="object", frame=0, y=1, x=2)
    with TestClient(create_app(make_options(root)), base_url=ADDRESS) as client:
        assert len(client.get(f"/api/projects/{project}").json()["objects"][0]["points"]) == 1


def test_an_input_that_has_changed_since_is_refused(root):
    with TestClient(create_app(make_options(root)), base_url=ADDRESS) as client:
        open_frames(client)
    (root / "frames" / "0005.png").unlink()
    with TestClient(create_app(make_options(root)), base_url=ADDRESS) as client:
        answer = client.post("/api/projects", json={"input": "frames"})
        assert answer.status_code == 422 and "put it back" in answer.text


def test_an_unknown_project_is_missing(client):
    assert client.get("/api/projects/none").status_code == 404
    assert client.get("/api/projects/none/frames/0").json()["detail"].startswith("there is no such project")
