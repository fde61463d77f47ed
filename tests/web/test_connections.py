"""Requests that are too large or come too slowly leave the server to the others; on real sockets."""

import json
import socket
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from urllib.error import HTTPError
from urllib.parse import urlsplit
from urllib.request import urlopen

import pytest
import uvicorn

from fewpoint.web import guard, serving
from fewpoint.web.guard import HEADERS
from fewpoint.web.server import create_app
from fewpoint.web.serving import configure
from web.visits import make_options

LONG_S = 180.0  # for whatever a busy machine does in between
HEAD = b"HTTP/1.1\r\nHost: 127.0.0.1\r\n"


@contextmanager
def serve(root) -> Iterator[str]:
    listener = socket.create_server(("127.0.0.1", 0), backlog=8)
    server = uvicorn.Server(configure(create_app(make_options(root))))
    thread = threading.Thread(target=server.run, kwargs={"sockets": [listener]})
    thread.start()
    while not server.started:
        time.sleep(0.02)
    try:
        yield f"http://127.0.0.1:{listener.getsockname()[1]}"
    finally:
        server.should_exit = True
        thread.join()
        listener.close()


@pytest.fixture
def hasty(monkeypatch) -> None:
    """Bodies are not waited for long."""
    monkeypatch.setattr(guard, "BODY_SECONDS", 0.3)


def dial(address: str) -> socket.socket:
    parts = urlsplit(address)
    return socket.create_connection((parts.hostname, parts.port), timeout=LONG_S)


def wait_until_closed(connection: socket.socket) -> bytes:
    """All that the server says before it hangs up."""
    said = b""
    with suppress(ConnectionError):
        while piece := connection.recv(65536):
            said += piece
    return said


def is_well(address: str) -> bool:
    with urlopen(f"{address}/api/health", timeout=LONG_S) as answer:
        return "version" in json.load(answer)


def test_a_request_beyond_the_most_connections_is_told_to_come_again(root, monkeypatch):
    monkeypatch.setattr(serving, "MOST_CONNECTIONS", 2)
    with serve(root) as address, dial(address), dial(address), pytest.raises(HTTPError, match="503"):
        is_well(address)


def test_headers_that_are_too_large_are_refused(root):
    with serve(root) as address, dial(address) as large:
        with suppress(ConnectionError):
            large.sendall(b"GET /api/health " + HEAD + b"X: " + b"a" * 2**22)
        assert wait_until_closed(large)[:12] in (b"HTTP/1.1 400", b"")  # the answer is lost if more was on its way
        assert is_well(address)


@pytest.mark.parametrize("path", [b"/api/projects", b"/api/uploads"])
def test_a_body_that_comes_too_slowly_is_cut_off_and_the_connection_closed(root, hasty, path):
    kind = b"multipart/form-data; boundary=x" if path.endswith(b"uploads") else b"application/json"
    with serve(root) as address, dial(address) as slow:
        slow.sendall(b"POST " + path + b" " + HEAD + b"Content-Type: " + kind + b"\r\nContent-Length: 1000\r\n\r\n-")
        said = wait_until_closed(slow)
        assert said.startswith(b"HTTP/1.1 408") and b"too slowly" in said
        assert all(name.encode() in said for name in HEADERS)
        assert is_well(address)


def test_a_body_may_take_longer_the_more_of_it_there_is(monkeypatch):
    body = guard._Body(lambda: None, 2**20)  # type: ignore[arg-type]
    body._taken = 100 * guard.SLOWEST_BYTES_PER_S
    assert body._allowed_s == guard.BODY_SECONDS + 100
