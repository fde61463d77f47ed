"""A server for nnInteractive's clients, and an image to send to it."""

from collections.abc import Iterator
from types import SimpleNamespace

import numpy as np
import pytest

from fewpoint.evaluation.phantom import make_phantom
from fewpoint.web import queueing
from fewpoint.web.remote.limits import Limits
from fewpoint.web.server import create_app
from web.remote.visitor import Visitor
from web.visits import QUICK_WORKER, make_options, make_root, serve_in_thread


@pytest.fixture(scope="session")
def scan() -> SimpleNamespace:
    """image, mask: (T, H, W). places: one click on each frame."""
    phantom = make_phantom(n_frames=6, size=(48, 40))
    return SimpleNamespace(
        image=np.ascontiguousarray(phantom.sequence.frames[..., 0]).astype(np.int16),
        mask=phantom.truth,
        places=phantom.points.coordinates.tolist(),
    )


@pytest.fixture(scope="session")
def server(tmp_path_factory) -> Iterator[SimpleNamespace]:
    """address, leases, and the folder in which it keeps what is sent."""
    root = make_root(tmp_path_factory.mktemp("remote") / "root")
    app = create_app(make_options(root, live=True, remote=Limits(most_sessions=3)))
    real, queueing.COMMAND = queueing.COMMAND, QUICK_WORKER
    with serve_in_thread(app) as address:
        yield SimpleNamespace(address=address, leases=app.state.leases, app=app)
    queueing.COMMAND = real
    assert not list((root.parent / "kept" / "remote").iterdir())


@pytest.fixture(scope="session")
def opened(server, scan) -> Iterator[Visitor]:
    """A client that has sent the image."""
    visitor = Visitor(server.address)
    visitor.open(scan.image, spacing=[1.0, 1.0, 1.0])
    yield visitor
    visitor.leave()


@pytest.fixture
def visitor(opened) -> Visitor:
    """The same with nothing marked."""
    opened.reset()
    return opened
