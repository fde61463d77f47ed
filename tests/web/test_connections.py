"""Connections that do nothing, slowly, or too often leave the server to the others; on real sockets."""

import json
import select
import socket
import threading
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from urllib.parse import urlsplit
from urllib.request import urlopen

import pytest
import uvicorn

from fewpoint.web import connections, guard
from fewpoint.web.guard import HEADERS
from fewpoint.web.server import create_app
from fewpoint.web.serving import configure
from web.visits import make_options

MANY, MOST = 300, 64
LONG_S = 180.0  # for whatever a busy machine does in between
HEAD = b"HTTP/1.1\r\nHost: 127.0.0.1\r\n"


@contextmanager
def serve(root, most: int = MOST) -> Iterator[str]:
    listener = socket.create_server(("127.0.0.1", 0), backlog=MANY)
    server = uvicorn.Server(configure(create_app(make_options(root)), most))
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
    """Bodies and answers are not waited for long, which does not end what is on its way when the machine is busy."""
    monkeypatch.setattr(connections, "STALL_SECONDS", 0.5)
    monkeypatch.setattr(connections, "LOOK_SECONDS", 0.1)
    monkeypatch.setattr(guard, "BODY_SECONDS", 0.3)


@pytest.fixture
def hasty_heads(monkeypatch, hasty) -> None:
    """Nor are headers, which a busy machine may take as long to send."""
    monkeypatch.setattr(connections, "HEAD_SECONDS", 2.0)


def dial(address: str) -> socket.socket:
    parts = urlsplit(address)
    return socket.create_connection((parts.hostname, parts.port), timeout=LONG_S)


def is_closed(connection: socket.socket) -> bool:
    """Whether the server has hung up, all that it said before taken in."""
    try:
        while select.select([connection], [], [], 0)[0]:
            if not connection.recv(65536):
                return True
    except ConnectionError:
        return True
    return False


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


def test_hundreds_of_idle_connections_leave_room_for_whoever_asks(root):
    with serve(root) as address, ExitStack() as kept:
        idle = [kept.enter_context(dial(address)) for _ in range(MANY)]
        assert is_well(address)
        ending = time.monotonic() + LONG_S
        while sum(map(is_closed, idle)) < MANY - MOST and time.monotonic() < ending:
            time.sleep(0.05)
        assert sum(not is_closed(each) for each in idle) <= MOST
        assert is_well(address)


@pytest.mark.nightly
def test_a_connection_that_never_asks_is_closed(root, hasty_heads):
    with serve(root) as address, dial(address) as idle:
        assert wait_until_closed(idle) == b""
        assert is_well(address)


@pytest.mark.nightly
def test_headers_that_come_byte_by_byte_are_not_waited_for(root, hasty_heads):
    with serve(root) as address, dial(address) as slow:
        slow.sendall(b"GET /api/health " + HEAD)
        ending = time.monotonic() + LONG_S
        while not is_closed(slow) and time.monotonic() < ending:
            try:
                slow.sendall(b"a")
            except ConnectionError:
                break
            time.sleep(0.02)
        assert time.monotonic() < ending


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


def test_an_answer_that_nobody_reads_is_given_up(root, hasty):
    with serve(root) as address, ExitStack() as kept:
        deaf = kept.enter_context(socket.socket())
        deaf.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 1024)
        deaf.connect((urlsplit(address).hostname, urlsplit(address).port))
        deaf.settimeout(LONG_S)
        asking = (b"GET /api/openapi.json " + HEAD + b"\r\n") * 400  # more than buffers of the system hold
        with pytest.raises(ConnectionError):
            ending = time.monotonic() + LONG_S
            while time.monotonic() < ending:
                deaf.sendall(asking)
                time.sleep(0.05)
        assert is_well(address)


def test_descriptors_are_left_for_everything_else(monkeypatch):
    resource = pytest.importorskip("resource")
    told = []
    monkeypatch.setattr(resource, "setrlimit", lambda kind, limits: told.append(limits))
    for limits, most in {(256, 256): 128, (1024, 4096): 512, (10**6, 10**6): 512, (1024, 1024): 512}.items():
        monkeypatch.setattr(resource, "getrlimit", lambda kind, limits=limits: limits)
        assert connections.allow_descriptors() == most
    assert told == [(256, 256), (2048, 4096), (1024, 1024)]
