"""A real server for the module, whose runs take a second."""

from collections.abc import Iterator

import pytest

from fewpoint.web import queueing
from fewpoint.web.guard import Gate
from fewpoint.web.server import create_app
from web.visits import QUICK_WORKER, make_options, make_root, serve_in_thread

TOKEN = "a-token-of-the-tests"


@pytest.fixture(scope="session")
def server(tmp_path_factory) -> Iterator[str]:
    """Its address as it is printed, with the token."""
    root = make_root(tmp_path_factory.mktemp("slicer") / "root")
    real, queueing.COMMAND = queueing.COMMAND, QUICK_WORKER
    with serve_in_thread(create_app(make_options(root, gate=Gate.for_host("127.0.0.1", TOKEN)))) as address:
        yield f"{address}/?token={TOKEN}"
    queueing.COMMAND = real
