"""A server on a small phantom, in this process; runs take a second and leave out the report."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from starlette.testclient import TestClient

from fewpoint.web import queueing
from fewpoint.web.server import create_app
from web.visits import ADDRESS, QUICK_WORKER, make_options, make_root


@pytest.fixture
def root(tmp_path) -> Path:
    return make_root(tmp_path / "root")


@pytest.fixture
def client(root) -> Iterator[TestClient]:
    with TestClient(create_app(make_options(root)), base_url=ADDRESS) as client:
        yield client


@pytest.fixture(scope="module")
def module_root(tmp_path_factory) -> Path:
    return make_root(tmp_path_factory.mktemp("web") / "root")


@pytest.fixture(scope="module")
def module_client(module_root) -> Iterator[TestClient]:
    """One server for a whole module, where starting it anew would only cost time."""
    real, queueing.COMMAND = queueing.COMMAND, QUICK_WORKER
    with TestClient(create_app(make_options(module_root)), base_url=ADDRESS) as client:
        yield client
    queueing.COMMAND = real
