"""Starting the server: a free port, the page's address, and uvicorn."""

import socket
import threading
import webbrowser
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import uvicorn

from fewpoint.errors import InputError, OutputError
from fewpoint.io.projects import is_project
from fewpoint.web.guard import is_loopback
from fewpoint.web.server import Options, create_app


def serve(options: Options, port: int, opened: Path | None, *, open_page: bool, tell: Callable[[str], None]) -> None:
    """Serve until Ctrl-C; the project given is opened first, so that what is wrong with it is told at once."""
    listener = _listen(options.gate.host, port)
    app = create_app(options)
    state = app.state.fewpoint
    try:
        if opened is not None:
            path = opened.resolve()
            session = state.workspace.open_project(path) if is_project(path) else state.workspace.open_input(path)
            state.options = replace(options, opened=session.id)
            tell(f"project: {session.log.path}")
            for note in session.notes:
                tell(f"note:    {note}")
        address = _address(options, listener.getsockname()[1])
        tell(f"page:    {address}")
        if options.gate.token is not None:
            tell(
                "note:    whoever has this address can open everything below the root; nothing is encrypted on the way"
            )
        if open_page:
            threading.Timer(1.0, webbrowser.open, [address]).start()
        config = uvicorn.Config(
            app,
            log_level="warning",
            ws_max_size=2**16,
            server_header=False,
            access_log=False,
            timeout_graceful_shutdown=3,
        )
        uvicorn.Server(config).run(sockets=[listener])
    finally:
        state.workspace.close()
        listener.close()


def _listen(host: str, port: int) -> socket.socket:
    try:
        family = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0]
    except (OSError, UnicodeError):
        raise InputError(f"the host must be an address of this machine, got {host}") from None
    listener = socket.socket(family[0], socket.SOCK_STREAM)
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listener.bind(family[4])
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
