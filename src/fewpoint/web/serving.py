"""Starting the server: a free port, the page's address, and uvicorn."""

import os
import socket
import subprocess
import sys
import threading
import webbrowser
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from tempfile import mkstemp

import uvicorn
from fastapi import FastAPI

from fewpoint.core.workers import safe_environment
from fewpoint.errors import InputError, OutputError
from fewpoint.io.apart.calls import WITHIN
from fewpoint.io.apart.forker import warm_up
from fewpoint.io.projects import is_project
from fewpoint.web.guard import is_loopback
from fewpoint.web.server import Options, State, create_app

MOST_CONNECTIONS = 512
LARGEST_HEAD = 2**15  # bytes of a request's first line and headers
PAGE = (
    '<!doctype html><meta charset="utf-8"><meta http-equiv="refresh" content="0; url={address}"><title>fewpoint</title>'
)


def serve(options: Options, port: int, opened: Path | None, *, open_page: bool, tell: Callable[[str], None]) -> None:
    """Serve until Ctrl-C; the project given is opened first, so that what is wrong with it is known at once."""
    with _reading_within(options.root.path):
        _serve(options, port, opened, open_page=open_page, tell=tell)


@contextmanager
def _reading_within(root: Path) -> Iterator[None]:
    """Meanwhile nothing outside the root is read, neither here nor in the processes of runs."""
    before = os.environ.get(WITHIN)
    os.environ[WITHIN] = str(root)
    try:
        yield
    finally:
        os.environ.pop(WITHIN)
        if before is not None:
            os.environ[WITHIN] = before


def _serve(options: Options, port: int, opened: Path | None, *, open_page: bool, tell: Callable[[str], None]) -> None:
    warm_up(opened)
    listener = _listen(options.gate.host, port)
    door: Path | None = None
    app = create_app(options)
    state = app.state.fewpoint
    try:
        if options.remote is not None:
            app.state.leases.start()  # here, where what is wrong is told in a line
        if opened is not None:
            path = opened.resolve()
            session = state.workspace.open_project(path) if is_project(path) else state.workspace.open_input(path)
            state.options = replace(options, opened=session.id)
            tell(f"project: {session.log.path}")
            for note in session.notes:
                tell(f"note:    {note}")
        address = _address(options, listener.getsockname()[1])
        for line in _introduce(options, address):
            tell(line)
        if open_page:
            door = write_door(address)
            threading.Timer(1.0, webbrowser.open, [f"file://{door}"]).start()
        threading.Thread(target=_find_device, args=(state, options.job.device), daemon=True).start()
        uvicorn.Server(configure(app)).run(sockets=[listener])
    finally:
        state.workspace.close()
        listener.close()
        if door is not None:
            door.unlink(missing_ok=True)


def write_door(address: str) -> Path:
    """A page that leads to an address with a token, for a browser to open: its command line can be listed by others."""
    number, name = mkstemp(prefix="fewpoint-", suffix=".html")  # which nobody else can read
    with open(number, "w") as stream:
        stream.write(PAGE.format(address=address))
    return Path(name)


def _introduce(options: Options, address: str) -> list[str]:
    """Where the server is and who can come in."""
    server, _, token = address.partition("?token=")
    lines = [f"page:    {address}"] if options.remote is None else [f"server:  {server.rstrip('/')}"]
    lines += [f"api key: {token}"] if token and options.remote is not None else []
    return [*lines, f"note:    {_warn(options)}"]


def _warn(options: Options) -> str:
    """Who can come in."""
    if options.gate.token is None:
        return "everybody who works on this machine can open everything below the root"
    encrypted = "" if is_loopback(options.gate.host) else "; nothing is encrypted on the way"
    what = "this address" if options.remote is None else "this key"
    return f"whoever has {what} can open everything below the root{encrypted}"


def configure(app: FastAPI) -> uvicorn.Config:
    """How uvicorn serves the application; pages that stay open do not keep it from ending."""
    return uvicorn.Config(
        app,
        http="h11",
        limit_concurrency=MOST_CONNECTIONS,
        h11_max_incomplete_event_size=LARGEST_HEAD,
        log_level="warning",
        access_log=False,
        server_header=False,
        ws_max_size=2**16,
        timeout_graceful_shutdown=3,
        timeout_keep_alive=15,
        backlog=256,
    )


def _find_device(state: State, device: str) -> None:
    """Ask torch, in a separate process, what runs will compute on; the page shows it."""
    code = (
        "import sys; from fewpoint.learning.devices import choose_device, describe_device; "
        "print(describe_device(choose_device(sys.argv[1])))"
    )
    environment = safe_environment(os.environ)
    done = subprocess.run(
        [sys.executable, "-P", "-c", code, device], env=environment, capture_output=True, text=True, check=False
    )
    state.device = done.stdout.strip() if done.returncode == 0 else f"{device} is not available"


def _listen(host: str, port: int) -> socket.socket:
    try:
        family = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0]
    except (OSError, UnicodeError):
        raise InputError(f"the host must be an address of this machine, got {host}") from None
    listener = socket.socket(family[0], socket.SOCK_STREAM)
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listener.bind(family[4])
        listener.listen()  # before the address is shown, so that whoever is quick waits and is not refused
    except OSError as error:
        listener.close()
        raise OutputError(f"cannot listen at {host}, port {port}: {error.strerror}; give another --port") from error
    return listener


def _address(options: Options, port: int) -> str:
    host = options.gate.host
    if host in ("0.0.0.0", "::"):
        host = socket.gethostname()
    elif is_loopback(host):
        host = "127.0.0.1" if host != "::1" else host
    shown = f"[{host}]" if ":" in host else host
    token = options.gate.token
    return f"http://{shown}:{port}/" + ("" if token is None else f"?token={token}")
