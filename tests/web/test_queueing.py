"""Which run goes when, what ends it, and how it goes on, with a process that does nothing but wait."""

import json
import os
import shutil
import signal
import sys
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from fewpoint.io.projects import RunRecord, interrupt_runs, runs_folder, write_seconds
from fewpoint.web import queueing
from fewpoint.web.orders import shown_folder
from fewpoint.web.queueing import Asked
from fewpoint.web.shown import MASKS
from web.visits import click_everywhere, do, start_run, wait_for, watch

DEAF = (sys.executable, str(Path(__file__).with_name("deaf_worker.py")))


@pytest.fixture(autouse=True)
def deaf(monkeypatch):
    monkeypatch.setattr(queueing, "COMMAND", DEAF)


@pytest.fixture
def projects(client, root) -> tuple[str, str]:
    """Two projects, each with clicks on every frame."""
    shutil.copytree(root / "frames", root / "others")
    found = [client.post("/api/projects", json={"input": name}).json()["id"] for name in ("frames", "others")]
    for project in found:
        click_everywhere(client, project)
    return found[0], found[1]


def read_run(client, project: str, run: int = 1) -> dict:
    return client.get(f"/api/projects/{project}/runs/{run}").json()


def wait_until(holds: Callable[[], object]) -> None:
    end = time.monotonic() + 240
    while not holds():
        assert time.monotonic() < end, "waited in vain"
        time.sleep(0.02)


def wait_until_previewed(client, project: str, run: int = 1) -> None:
    wait_until(lambda: read_run(client, project, run)["epoch"] == 5)


def find_folder(client, project: str, run: int = 1) -> Path:
    return client.app.state.fewpoint.workspace.find(project).runs_folder / str(run)


def finish(client, project: str) -> dict:
    (find_folder(client, project) / "finish").touch()
    return wait_for(client, project, 1)


def read_orders(client, project: str) -> list[dict]:
    return [json.loads(line) for line in (find_folder(client, project) / "orders.jsonl").read_text().splitlines()]


def test_a_run_that_does_not_listen_is_stopped_all_the_same_and_its_preview_is_kept(client, projects):
    project, _ = projects
    session = client.app.state.fewpoint.workspace.find(project)
    do(client, project, "add_point", object="object", frame=1, y=2, x=3, positive=False)
    start_run(client, project)
    wait_until_previewed(client, project)
    client.post(f"/api/projects/{project}/runs/1/cancel")
    stopped = wait_for(client, project, 1)
    assert (stopped["state"], stopped["best"]) == ("cancelled", True) and queueing.STOP_SECONDS < 2
    packed = np.load(shown_folder(find_folder(client, project), 0) / MASKS)
    kept = np.unpackbits(packed, axis=-1, count=session.project.shape[2]).astype(bool)
    expected = np.zeros(session.project.shape, bool)
    expected[:, :24] = True
    for frame, y, x in session.project.to_points().coordinates.tolist():
        expected[frame, y, x] = True
    expected[1, 2, 3] = False
    assert np.array_equal(kept, expected)
    exported = client.post(f"/api/projects/{project}/runs/1/exports", json={"format": "png"})
    assert len(exported.json()["files"]) == 6


def test_what_is_looked_at_comes_before_a_run_in_the_background_which_goes_on_after_it(client, projects):
    background, looked_at = projects
    start_run(client, background)
    wait_until_previewed(client, background)
    start_run(client, looked_at)
    assert read_run(client, looked_at)["state"] == "waiting"  # nobody looks at either of them
    with watch(client, looked_at):
        wait_until(lambda: read_run(client, looked_at)["state"] == "running")
        assert read_run(client, background)["state"] == "waiting"
        wait_until_previewed(client, looked_at)
        assert read_run(client, background)["ahead"] == 1
        assert finish(client, looked_at)["state"] == "finished"
    wait_until(lambda: len(read_orders(client, background)) == 2)
    assert finish(client, background)["state"] == "finished"
    first, second = read_orders(client, background)
    assert first == second  # the same job goes on from its checkpoint


def test_a_run_that_made_way_and_is_stopped_while_it_waits_keeps_its_preview(client, projects):
    background, looked_at = projects
    start_run(client, background)
    wait_until_previewed(client, background)
    with watch(client, looked_at):
        start_run(client, looked_at)
        wait_until(lambda: read_run(client, background)["state"] == "waiting")
        stopped = client.post(f"/api/projects/{background}/runs/1/cancel").json()
        assert (stopped["state"], stopped["best"]) == ("cancelled", True)
        assert finish(client, looked_at)["state"] == "finished"


def test_a_run_that_is_looked_at_makes_way_for_no_other(client, projects):
    first, second = projects
    with watch(client, first), watch(client, second):
        start_run(client, first)
        wait_until_previewed(client, first)
        start_run(client, second)
        assert read_run(client, second)["state"] == "waiting"
        assert finish(client, first)["state"] == "finished"
        assert finish(client, second)["state"] == "finished"
    assert len(read_orders(client, first)) == 1


def test_what_began_by_itself_is_ended_and_goes_on_and_what_a_person_began_is_not(client, projects):
    by_itself, asked_for = projects
    state = client.app.state.fewpoint
    session = state.workspace.find(by_itself)
    state.queue.add(session, False, Asked(by_itself=True))
    wait_until_previewed(client, by_itself)
    start_run(client, asked_for)
    state.queue.pause(session)
    state.queue.pause(state.workspace.find(asked_for))
    assert wait_for(client, by_itself, 1)["state"] == "interrupted"
    wait_until_previewed(client, asked_for)
    assert client.post(f"/api/projects/{by_itself}/runs/1/resume").status_code == 200
    assert finish(client, asked_for)["state"] == "finished"
    assert finish(client, by_itself)["state"] == "finished"
    assert len(read_orders(client, by_itself)) == 2


def kill_worker(client) -> None:
    os.kill(client.app.state.fewpoint.queue._current.process.pid, signal.SIGKILL)


def start_from_and_kill(client, project, other) -> None:
    """Begin a run with the networks of another, and lose its process once it has shown a preview."""
    other.mkdir()
    (other / "model.npz").touch()
    state = client.app.state.fewpoint
    state.queue.add(state.workspace.find(project), False, Asked(warm_start=str(other)))
    wait_until_previewed(client, project)
    kill_worker(client)


def test_a_run_that_began_with_networks_of_another_goes_on_with_them(client, projects, tmp_path):
    project, other = projects[0], tmp_path / "other"
    start_from_and_kill(client, project, other)
    assert wait_for(client, project, 1)["state"] == "failed"
    client.post(f"/api/projects/{project}/runs/1/resume")
    assert finish(client, project)["state"] == "finished"
    first, second = read_orders(client, project)
    assert first == second and second["warm_start"] == str(other)


def test_a_run_whose_start_is_gone_says_so(client, projects, tmp_path):
    project, other = projects[0], tmp_path / "other"
    start_from_and_kill(client, project, other)
    wait_for(client, project, 1)
    shutil.rmtree(other)
    answer = client.post(f"/api/projects/{project}/runs/1/resume")
    assert answer.status_code == 422 and "is gone from" in answer.json()["detail"]


def test_the_time_that_a_run_took_counts_starts_that_were_killed_with_the_server(client, projects, monkeypatch):
    monkeypatch.setattr(queueing, "BEAT_SECONDS", 0.05)
    project, _ = projects
    log = client.app.state.fewpoint.workspace.find(project).log
    log.record_run(RunRecord(1, log.history.version, (0,), "running", seconds=100.0))
    folder = runs_folder(log.path) / "1"
    folder.mkdir()
    write_seconds(374.0, folder)  # as the server does until it is killed
    interrupt_runs(log)
    assert log.runs[1].seconds == 374.0
    start_run(client, project)
    wait_until((runs_folder(log.path) / "2" / "seconds.json").exists)
