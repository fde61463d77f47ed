"""The worklist: how far each study is, who worked on it, verdicts, exports of all, room on disk, and series."""

import shutil

import numpy as np
import pytest

from web.visits import click_everywhere, do, open_frames


@pytest.fixture
def studies(client, root):
    """A root with three studies."""
    for name in ("b", "c"):
        shutil.copytree(root / "frames", root / "week" / name)
    return client


def states(client) -> dict[str, str]:
    return {entry["input"]: entry["state"] for entry in client.get("/api/work").json()}


def draw(client, project: str, **fields) -> None:
    do(client, project, "brush", object="object", frame=0, runs=[[100, 10]], **fields)


def test_every_study_is_listed_with_how_far_it_is(studies):
    client = studies
    assert states(client) == {"frames": "new", "truth": "new", "week/b": "new", "week/c": "new"}
    project = client.post("/api/projects", json={"input": "week/b"}).json()["id"]
    assert states(client)["week/b"] == "new"
    action = {"kind": "add_point", "object": "object", "frame": 0, "y": 5, "x": 5}
    client.post(f"/api/projects/{project}/actions", json={"action": action, "by": "Anna.k1/t1"})
    assert states(client)["week/b"] == "clicked"
    entry = next(each for each in client.get("/api/work").json() if each["input"] == "week/b")
    assert entry["people"] == ["Anna"] and entry["points"] == 1 and entry["project"] == project


def test_a_verdict_holds_until_something_else_is_said(studies):
    client = studies
    project = client.post("/api/projects", json={"input": "week/c"}).json()["id"]
    address = f"/api/projects/{project}/review"
    assert client.post(address, json={"verdict": "accepted"}).status_code == 422  # there is nothing to accept
    draw(client, project)
    answer = client.post(address, json={"verdict": "accepted", "by": "Ben.k2/t1"}).json()
    assert answer["review"] == {"verdict": "accepted", "by": "Ben", "current": True}
    assert states(client)["week/c"] == "accepted"
    do(client, project, "add_point", object="object", frame=1, y=5, x=5)
    assert not client.get(f"/api/projects/{project}").json()["review"]["current"]
    assert states(client)["week/c"] == "clicked"
    client.post(address, json={"verdict": "rejected"})
    assert states(client)["week/c"] == "rejected"


@pytest.mark.nightly
def test_runs_and_exports_say_what_they_take_and_can_be_deleted_and_all_accepted_are_exported(
    shared_client, finished, shared_root
):
    client, (project, run, _) = shared_client, finished
    address = f"/api/projects/{project}"
    assert client.post("/api/work/exports", json={"format": "png"}).status_code == 422  # none was accepted
    client.post(f"{address}/review", json={"verdict": "accepted"})
    written = client.post("/api/work/exports", json={"format": "png"}).json()
    assert [each["name"] for each in written] == [f"run-{run}-png"]
    assert states(client)["frames"] == "exported"
    storage = client.get(f"{address}/storage").json()
    assert storage["runs"][str(run)] > 10_000 and storage["exports"][f"run-{run}-png"] > 100
    assert storage["upload"] is None
    left = client.post(f"{address}/exports/run-{run}-png/delete").json()
    assert f"run-{run}-png" not in left["exports"]
    client.post(f"{address}/review", json={"verdict": ""})
    assert client.post(f"{address}/upload/delete").status_code == 422  # it was not sent


@pytest.mark.nightly
def test_a_run_that_is_deleted_is_shown_no_more(client, monkeypatch):
    from fewpoint.web import queueing
    from web.visits import QUICK_WORKER, start_run, wait_for

    monkeypatch.setattr(queueing, "COMMAND", QUICK_WORKER)
    project = open_frames(client)["id"]
    click_everywhere(client, project)
    assert client.get("/api/queue").json() == []
    run = start_run(client, project)
    queue = client.get("/api/queue").json()
    assert [(each["project"], each["run"]) for each in queue] == [(project, run)]
    assert client.post(f"/api/projects/{project}/runs/{run}/delete").status_code == 422  # it goes on
    assert wait_for(client, project, run)["state"] == "finished"
    state = client.post(f"/api/projects/{project}/runs/{run}/delete").json()
    assert state["shown"] is None and state["runs"][0]["state"] == "deleted"
    assert client.get(f"/api/projects/{project}/storage").json()["runs"][str(run)] == 0


def test_what_was_sent_can_be_deleted_with_its_project(client, root):
    from io import BytesIO

    stream = BytesIO()
    np.save(stream, np.zeros((3, 8, 8), np.uint8))
    path = client.post("/api/uploads", files=[("files", ("knee.npy", stream.getvalue()))]).json()["path"]
    project = client.post("/api/projects", json={"input": path}).json()["id"]
    assert client.get(f"/api/projects/{project}/storage").json()["upload"] > 100
    left = client.post(f"/api/projects/{project}/upload/delete").json()
    assert left == [] and list((root / "fewpoint-uploads").iterdir()) == []
    assert client.get(f"/api/projects/{project}").status_code == 404


def test_a_folder_of_several_series_lists_them_and_each_can_be_opened(client, root):
    pytest.importorskip("pydicom")
    from dicom_series import save_two_series

    save_two_series(root / "dicom")
    listing = client.get("/api/files").json()["entries"]
    assert {entry["name"]: entry["kind"] for entry in listing}["dicom"] == "series"
    series = client.get("/api/series", params={"path": "dicom"}).json()
    assert sorted((each["description"], each["images"], each["patient"]) for each in series) == [
        ("arterial", 3, "P1"),
        ("venous", 4, "P1"),
    ]
    for each in series:
        opened = client.post("/api/projects", json={"input": each["path"]})
        assert opened.status_code == 200 and opened.json()["frames"] == each["images"]
    assert client.post("/api/projects", json={"input": "dicom"}).status_code == 422
