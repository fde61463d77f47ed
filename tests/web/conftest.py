"""A server on a small phantom, in this process; runs take a second and leave out the report."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from starlette.testclient import TestClient

from fewpoint.web import queueing
from fewpoint.web.server import create_app
from web.visits import (
    ADDRESS,
    QUICK_WORKER,
    click_everywhere,
    is_over,
    make_options,
    make_root,
    open_frames,
    serve_in_thread,
    start_run,
    watch,
)


@pytest.fixture
def root(tmp_path) -> Path:
    return make_root(tmp_path / "root")


@pytest.fixture
def client(root) -> Iterator[TestClient]:
    with TestClient(create_app(make_options(root)), base_url=ADDRESS) as client:
        yield client


@pytest.fixture(scope="session")
def shared_root(tmp_path_factory) -> Path:
    return make_root(tmp_path_factory.mktemp("web") / "root")


@pytest.fixture(scope="session")
def shared_client(shared_root) -> Iterator[TestClient]:
    """One server for many tests, which leave its project as they find it."""
    real, queueing.COMMAND = queueing.COMMAND, QUICK_WORKER
    with TestClient(create_app(make_options(shared_root)), base_url=ADDRESS) as client:
        yield client
    queueing.COMMAND = real


@pytest.fixture(scope="session")
def finished(shared_client) -> tuple[str, int, list[dict]]:
    """A project, its one finished run, and what a page was told meanwhile."""
    project = open_frames(shared_client)["id"]
    click_everywhere(shared_client, project)
    told = []
    with watch(shared_client, project) as watching:
        run = start_run(shared_client, project)
        while not (told and told[-1]["kind"] == "run" and is_over(told[-1]["run"])):
            told.append(watching.receive_json())
    assert told[-1]["run"]["state"] == "finished", told[-1]
    return project, run, told


@pytest.fixture
def live(root, monkeypatch) -> Iterator[str]:
    """The address of a real server, whose runs leave out the report."""
    monkeypatch.setattr(queueing, "COMMAND", QUICK_WORKER)
    with serve_in_thread(create_app(make_options(root))) as address:
        yield address
