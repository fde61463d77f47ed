"""The process that decoders are forked from: started once, in a neutral folder and without the user's environment.

It listens to the process that started it, and ends with it. For each file it loads the libraries that the file needs,
once, and forks; the fork confines itself, decodes, answers over a socket of its own, and is gone.
"""

import gc
import inspect
import json
import os
import signal
import socket
import sys
import sysconfig
import tempfile
from contextlib import suppress
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import Any

import fewpoint
from fewpoint.core import paging
from fewpoint.errors import FewpointError
from fewpoint.io.apart import confine, plain, pulse
from fewpoint.io.apart.forker import ANSWER, LENGTH

STORES = 6  # files without a name that one reading may fill
CALLABLE = "fewpoint.io."  # modules whose functions can be called
SYSTEM = ("/lib", "/lib64", "/usr/lib", "/usr/lib64", "/usr/local/lib", "/etc/ld.so.cache", "/dev/urandom")


def main(number: int) -> None:
    """Serve until the process at the other end of a socket is gone."""
    import fewpoint.io.stacks  # noqa: F401 - what every fork needs

    signal.signal(signal.SIGINT, signal.SIG_IGN)
    _code_places()
    with socket.socket(fileno=number) as control:
        while (order := _hear(control)) is not None:
            told, link = order
            if "load" in told:
                _load(told["load"])
            elif link is not None:
                _say(control, _begin(told["libraries"], link, control))
                os.close(link)
            else:
                _say(control, _end(told["end"]))


def _hear(control: socket.socket) -> tuple[dict[str, Any], int | None] | None:
    """An order and the socket that came with it, None if there was none; None when there will be no more."""
    data, files, _, _ = socket.recv_fds(control, LENGTH.size, 1)
    if len(data) < LENGTH.size:
        return None
    text = b""
    (length,) = LENGTH.unpack(data)
    while len(text) < length:
        text += control.recv(length - len(text))
    return json.loads(text), files[0] if files else None


def _say(control: socket.socket, number: int) -> None:
    with suppress(BrokenPipeError):
        control.sendall(ANSWER.pack(number))


def _load(libraries: list[str]) -> None:
    for library in libraries:
        with suppress(Exception):  # one that is missing is spoken of by who needs it
            import_module(library)


def _begin(libraries: list[str], link: int, control: socket.socket) -> int:
    _load(libraries)
    gc.freeze()  # what is never looked at again is never copied into a fork
    child = os.fork()
    if child == 0:
        control.close()
        code = 1
        try:
            _serve(socket.socket(fileno=link))
            code = 0
        finally:
            os._exit(code)
    return child


def _end(child: int) -> int:
    """Make sure that a fork is gone; returns how it ended, as os.waitstatus_to_exitcode says it."""
    with suppress(ProcessLookupError):
        os.kill(child, signal.SIGKILL)
    try:
        return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    except ChildProcessError:
        return 0


def _serve(link: socket.socket) -> None:
    """Confine this process, do what is asked, and answer."""
    confine.die_with_parent()
    asked = plain.receive(link)
    try:
        function = _find(asked["function"])
        tempfile.tempdir = asked["folder"]
        confine.limit(*asked["limits"])
        paging.prepare_stores(STORES)
        confine.shut_in([*map(Path, asked["readable"]), *_code_places()])
        pulse.start(lambda: plain.send(link, ("alive",)))
        answer = function(*asked["arguments"])
        if inspect.isgenerator(answer):
            for value in answer:
                plain.send(link, ("next", value))
            answer = None
        plain.send(link, ("answer", answer))
    except FewpointError as error:
        plain.send(link, ("error", type(error).__name__, str(error)))
    except MemoryError:
        plain.send(link, ("memory",))
    except Exception as error:
        plain.send(link, ("error", "InputError", f"cannot read {asked['arguments'][0]}: {_describe(error)}"))


def _find(name: str) -> Any:
    module, _, function = name.partition(":")
    if not module.startswith(CALLABLE):
        raise ValueError(f"{module} cannot be called")
    return getattr(import_module(module), function)


@cache
def _code_places() -> list[Path]:
    """Where Python, its libraries and those of the system are: parts of them are loaded when they are first needed."""
    installed = [sysconfig.get_path(name) for name in ("stdlib", "platstdlib", "purelib", "platlib")]
    added = [entry for entry in sys.path if entry.endswith(("site-packages", "dist-packages", "lib-dynload"))]
    libraries = [entry for entry in os.environ.get("LD_LIBRARY_PATH", "").split(":") if entry.startswith("/")]
    own = str(Path(fewpoint.__file__).parent)
    return [Path(entry) for entry in dict.fromkeys([*installed, *added, *libraries, own, *SYSTEM])]


def _describe(error: Exception) -> str:
    return " ".join(f"{type(error).__name__}: {error}".split())[:200]
