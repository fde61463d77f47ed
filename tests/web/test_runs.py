"""Runs: the same masks as the command line, one after another, stopped, killed and taken up again."""

import os
import signal
import time
from io import BytesIO
from pathlib import Path

import numpy as np
import pytest
from PIL import Image
from starlette.testclient import TestClient

from fewpoint.cli.main import run as run_command
from fewpoint.core.job import Job
from fewpoint.core.run_lengths import decode_mask
from fewpoint.errors import OutputError
from fewpoint.io.jobs import write_job
from fewpoint.io.masks import read_masks
from fewpoint.io.projects import RunRecord, read_project
from fewpoint.web import queueing
from fewpoint.web.queueing import Entry, explain_end, take_turns
from fewpoint.web.server import create_app
from web.visits import (
    ADDRESS,
    QUICK_WORKER,
    click_everywhere,
    do,
    make_options,
    open_frames,
    start_run,
    wait_for,
    watch,
)

LONG = (("warmup.epochs", 4000),)


def mask_of(client, project, run, frame, name="object") -> np.ndarray:
    found = client.get(f"/api/projects/{project}/runs/{run}/masks/{frame}", params={"object": name}).json()
    return decode_mask(tuple(map(tuple, found["runs"])), tuple(found["size"]))


@pytest.mark.nightly
def test_a_run_tells_phases_epochs_priors_and_previews_while_it_goes(finished):
    _, _, told = finished
    runs = [event["run"] for event in told if event["kind"] == "run"]
    phases = [run["phase"] for run in runs]
    assert "starting" in phases and "warm-up" in phases and "round 1" in phases
    assert [run["epoch"] for run in runs] == sorted(run["epoch"] for run in runs)
    assert any(run["seconds_left"] is not None for run in runs)
    assert any(run["priors"] is not None and len(run["priors"]["object"]) == 6 for run in runs)
    assert any(event["kind"] == "preview" for event in told)


@pytest.mark.nightly
def test_masks_are_those_of_the_command_line_to_the_bit(shared_client, shared_root, finished, tmp_path, monkeypatch):
    project, run, _ = finished
    monkeypatch.setattr("fewpoint.runs.runner.write_report", lambda *given: None)
    options = ["--out", str(tmp_path / "out"), "--config", str(shared_root / "tiny.toml"), "--device", "cpu"]
    assert run_command(["segment", str(shared_root / "frames.fewpoint"), *options]) == 0
    masks = read_masks(tmp_path / "out")
    shown = [mask_of(shared_client, project, run, frame) for frame in range(6)]
    assert masks.any() and np.array_equal(masks, shown)


def test_a_mask_is_also_an_image_and_so_are_probabilities(shared_client, finished):
    project, run, _ = finished
    address = f"/api/projects/{project}/runs/{run}"
    image = shared_client.get(f"{address}/masks/2", params={"object": "object", "as": "png"})
    assert np.array_equal(
        np.asarray(Image.open(BytesIO(image.content))) == 255, mask_of(shared_client, project, run, 2)
    )
    shown = shared_client.get(f"{address}/probabilities/2", params={"object": "object"})
    assert Image.open(BytesIO(shown.content)).mode == "L"


def test_the_frame_most_worth_a_look_is_the_most_uncertain_one(shared_client, finished):
    project, run, _ = finished
    doubts = shared_client.get(f"/api/projects/{project}/runs/{run}/uncertainty").json()
    assert len(doubts["frames"]) == 6 and doubts["next"] == int(np.argmax(doubts["frames"]))


def test_a_brushed_frame_wins_and_is_in_doubt_no_longer(shared_client, finished):
    project, run, _ = finished
    address = f"/api/projects/{project}/runs/{run}"
    worst = shared_client.get(f"{address}/uncertainty").json()["next"]
    do(shared_client, project, "brush", object="object", frame=worst, runs=[[0, 7]])
    assert mask_of(shared_client, project, run, worst).sum() == 7
    doubts = shared_client.get(f"{address}/uncertainty").json()
    assert doubts["frames"][worst] == 0 and doubts["next"] != worst
    do(shared_client, project, "undo")


def test_masks_follow_an_object_that_is_renamed(shared_client, finished):
    project, run, _ = finished
    before = mask_of(shared_client, project, run, 1)
    do(shared_client, project, "rename_object", object="object", name="liver")
    assert np.array_equal(mask_of(shared_client, project, run, 1, "liver"), before)
    missing = shared_client.get(f"/api/projects/{project}/runs/{run}/masks/1", params={"object": "object"})
    assert missing.status_code == 422
    do(shared_client, project, "undo")


def test_an_object_that_was_added_after_the_run_has_an_empty_mask(shared_client, finished):
    project, run, _ = finished
    do(shared_client, project, "add_object", name="late")
    assert not mask_of(shared_client, project, run, 1, "late").any()
    do(shared_client, project, "undo")


def test_without_a_point_there_is_nothing_to_run_and_nothing_to_refine(client):
    project = open_frames(client)["id"]
    answer = client.post(f"/api/projects/{project}/runs", json={})
    assert answer.status_code == 422 and "click on one" in answer.text
    do(client, project, "add_point", object="object", frame=0, y=20, x=20)
    answer = client.post(f"/api/projects/{project}/runs", json={"refine": True})
    assert answer.status_code == 422 and "run once first" in answer.text


def test_a_run_that_is_not_there_is_missing(client):
    project = open_frames(client)["id"]
    for what in ("", "/uncertainty", "/masks/0?object=object", "/preview/0?object=object"):
        assert client.get(f"/api/projects/{project}/runs/7{what}").status_code == 404
    assert client.post(f"/api/projects/{project}/runs/7/cancel").status_code == 404
    assert client.post(f"/api/projects/{project}/runs/7/resume").status_code == 404


@pytest.fixture
def quick(root, monkeypatch):
    """Starts servers whose runs are so long that they end only when something ends them."""
    monkeypatch.setattr(queueing, "COMMAND", QUICK_WORKER)
    return lambda: TestClient(create_app(make_options(root, changes=LONG)), base_url=ADDRESS)


def wait_for_preview(client, project, run) -> None:
    for _ in range(3000):
        found = client.get(f"/api/projects/{project}/runs/{run}").json()
        if found["priors"] is not None and found["epoch"] > 3:
            return
        assert found["state"] in ("waiting", "running"), found
        time.sleep(0.1)
    raise AssertionError("no preview came")


@pytest.mark.nightly
def test_a_long_run_is_waited_for_stopped_with_its_masks_killed_and_taken_up_again(quick, root):
    """One story, because each start of a training process costs seconds."""
    with quick() as client:
        project = open_frames(client)["id"]
        click_everywhere(client, project)
        first, second, third = (start_run(client, project) for _ in range(3))
        waiting = client.get(f"/api/projects/{project}/runs/{second}").json()
        assert (waiting["state"], waiting["ahead"]) == ("waiting", 1)
        assert waiting["message"] == "1 run ahead of this one"

        wait_for_preview(client, project, first)
        preview = client.get(f"/api/projects/{project}/runs/{first}/preview/1", params={"object": "object"}).json()
        assert preview["size"] == [48, 40]
        cancelled = client.post(f"/api/projects/{project}/runs/{third}/cancel").json()
        assert (cancelled["state"], cancelled["best"]) == ("cancelled", False)

        client.post(f"/api/projects/{project}/runs/{first}/cancel")
        stopped = wait_for(client, project, first)
        assert (stopped["state"], stopped["best"]) == ("cancelled", True) and "found so far" in stopped["message"]
        points = read_project(root / "frames.fewpoint").project.to_points().coordinates
        for frame, y, x in points.tolist():
            assert mask_of(client, project, first, frame)[y, x]
        exported = client.post(f"/api/projects/{project}/runs/{first}/exports", json={"format": "png"})
        assert len(exported.json()["files"]) == 6

        wait_for_preview(client, project, second)
        kill_worker(client, second)
        failed = wait_for(client, project, second)
        assert failed["state"] == "failed" and "killed by SIGKILL" in failed["error"]
        assert client.get("/api/health").status_code == 200
        start_run(client, project)
        last = start_run(client, project)
    with quick() as client:
        states = {run["id"]: run["state"] for run in client.get(f"/api/projects/{project}").json()["runs"]}
        assert states == {1: "cancelled", 2: "failed", 3: "cancelled", 4: "interrupted", last: "interrupted"}
        with watch(client, project) as watching:
            client.post(f"/api/projects/{project}/runs/{second}/resume")
            told = iter(watching.receive_json, None)
            first_news = next(event["run"] for event in told if event["kind"] == "run" and event["run"]["epochs"])
        assert first_news["epoch"] >= 3  # not from the beginning
        assert client.post(f"/api/projects/{project}/runs/{first}/resume").status_code == 422


def kill_worker(client, run: int) -> None:
    entry = client.app.state.fewpoint.queue._current
    assert entry.record.id == run
    os.kill(entry.process.pid, signal.SIGKILL)


def test_a_disk_that_fills_up_fails_the_run_and_not_the_server(client, monkeypatch):
    project = open_frames(client)["id"]
    click_everywhere(client, project)
    session = client.app.state.fewpoint.workspace.find(project)
    real = session.log.record_run

    def refuse(record):
        if record.state != "waiting":
            raise OutputError("the disk is full")
        real(record)

    monkeypatch.setattr(session.log, "record_run", refuse)
    for _ in range(2):
        state = wait_for(client, project, start_run(client, project))
        assert state["state"] == "failed" and "the disk is full" in state["error"]
    assert client.get("/api/health").status_code == 200


def test_a_process_that_dies_without_a_word_is_explained(tmp_path):
    log = tmp_path / "worker.log"
    assert "SIGSEGV" in explain_end(-signal.SIGSEGV, log)
    assert "no message" in explain_end(3, log)
    log.write_text("Traceback\nMemoryError: too much\n")
    assert explain_end(1, log).endswith("MemoryError: too much")


def test_the_files_of_a_run_lie_beside_the_project(shared_root, finished):
    _, run, _ = finished
    folder = Path(shared_root / "frames.fewpoint.runs" / str(run))
    assert (folder / "result" / "manifest.json").exists() and (folder / "job.json").exists()


def test_an_interrupted_run_of_an_earlier_version_is_refused_in_one_line(client, root):
    project = open_frames(client)["id"]
    click_everywhere(client, project)
    session = client.app.state.fewpoint.workspace.find(project)
    session.log.record_run(RunRecord(1, session.log.history.version, (0,), "interrupted"))
    folder = root / "frames.fewpoint.runs" / "1"
    folder.mkdir(parents=True)
    (folder / "order.json").write_text("{}", encoding="utf-8")
    answer = client.post(f"/api/projects/{project}/runs/1/resume")
    assert answer.status_code == 422 and "started by an earlier version" in answer.json()["detail"]


def test_two_objects_cannot_share_a_pixel(client):
    project = open_frames(client)["id"]
    do(client, project, "add_object", name="b")
    for name in ("object", "b"):
        do(client, project, "add_point", object=name, frame=0, y=20, x=20)
    answer = client.post(f"/api/projects/{project}/runs", json={})
    assert answer.status_code == 422 and "frame 0, y 20, x 20 is a duplicate" in answer.json()["detail"]


def test_one_of_several_objects_that_was_renamed_since_a_run_cannot_be_refined_by_it(client, root):
    project = open_frames(client)["id"]
    click_everywhere(client, project)
    do(client, project, "add_object", name="b")
    do(client, project, "add_point", object="b", frame=0, y=1, x=1)
    session = client.app.state.fewpoint.workspace.find(project)
    numbers = tuple(each.id for each in session.project.objects)
    session.log.record_run(RunRecord(1, session.log.history.version, numbers, "finished", best=True))
    (root / "frames.fewpoint.runs" / "1" / "result").mkdir(parents=True)
    (root / "frames.fewpoint.runs" / "1" / "result" / "model.npz").touch()
    do(client, project, "rename_object", object="b", name="c")
    answer = client.post(f"/api/projects/{project}/runs", json={"refine": True})
    assert answer.status_code == 422 and "c was called b in run 1" in answer.json()["detail"]


def test_a_job_that_names_files_of_its_own_is_not_taken_up(client, root):
    project = open_frames(client)["id"]
    click_everywhere(client, project)
    session = client.app.state.fewpoint.workspace.find(project)
    session.log.record_run(RunRecord(1, session.log.history.version, (0,), "interrupted"))
    folder = root / "frames.fewpoint.runs" / "1"
    folder.mkdir(parents=True)
    write_job(Job(input="/etc", points="/etc/passwd"), folder / "job.json")
    answer = client.post(f"/api/projects/{project}/runs/1/resume")
    assert answer.status_code == 422 and "has no job file" in answer.json()["detail"]


def test_runs_of_several_people_take_turns():
    entries = [Entry(None, None, None, None, owner) for owner in "aaabbc"]  # type: ignore[arg-type]
    ordered = take_turns(entries, {"a": 2, "b": 1})
    assert "".join(entry.owner for entry in ordered) == "cbabaa"
    assert [entry for entry in ordered if entry.owner == "a"] == entries[:3]
