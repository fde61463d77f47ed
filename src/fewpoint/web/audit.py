"""Who did what and when, a line of JSON each, in a file that only the user of the server can read.

Changes of projects are not among them: each stands in its project file, with who made it.
"""

import json
import os
import sys
import threading
from collections import OrderedDict
from datetime import UTC, datetime
from itertools import pairwise
from pathlib import Path
from time import monotonic
from typing import Any

from starlette.types import ASGIApp, Message, Receive, Scope, Send

from fewpoint.web.guard import SAFE_METHODS, VISITOR

ABOUT = "fewpoint.about"  # where the scope of a request says what it is about
MOST_BYTES, KEPT_FILES = 2**24, 4  # of the file, which is then put aside; how many of those are kept
LONGEST_TEXT = 500
MOST_REFUSED_A_MINUTE = 60
LOOK_SECONDS = 3600.0  # for which looks of one visitor at one project are one line
MOST_LOOKS = 10_000  # that are remembered
REFUSALS = (401, 403, 404, 408, 413, 429)
PROJECT = "/api/projects/{project}"
DOWNLOADS = ("/file", "/exports/{name}")
IN_PROJECT_FILE = ("/actions", "/strokes", "/edits", "/imports", "/review", "/look", "/live", "/live/size")


def audit_file() -> Path:
    """Where the servers of this user write down who did what."""
    base = os.environ.get("XDG_DATA_HOME") or Path.home() / ".local" / "share"
    return Path(base) / "fewpoint" / "audit.jsonl"


class AuditLog:
    """A file of lines that is put aside when it is full. A path of None keeps nothing."""

    def __init__(self, path: Path | None) -> None:
        self._path = path
        self._lock = threading.Lock()
        self._has_failed = False

    def write(self, **entry: Any) -> None:
        """Add a line; what cannot be written is told once, and keeps nobody from working."""
        if self._path is None:
            return
        line = to_line({"at": datetime.now(UTC).isoformat(timespec="milliseconds"), **entry})
        with self._lock:
            try:
                _make_room(self._path, len(line))
                with open(os.open(self._path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600), "w") as stream:
                    stream.write(line)
            except OSError as error:
                if not self._has_failed:
                    print(f"fewpoint: {self._path} cannot be written: {error.strerror}", file=sys.stderr, flush=True)
                self._has_failed = True


def to_line(entry: dict[str, Any]) -> str:
    r"""A line in plain ASCII, whatever names hold: nothing in it ends the line or steers a terminal.

    >>> print(to_line({"did": "GET /a\n\x1b[2J\x7f\u202e"}), end="")
    {"did": "GET /a\n\u001b[2J\u007f\u202e"}
    """
    return json.dumps(entry).replace("\x7f", r"\u007f") + "\n"


def _make_room(path: Path, size: int) -> None:
    """Put the file aside if it would grow too large."""
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    if not path.exists() or path.stat().st_size + size <= MOST_BYTES:
        return
    files = [path, *(Path(f"{path}.{number}") for number in range(1, KEPT_FILES + 1))]
    for newer, older in reversed(list(pairwise(files))):
        if newer.exists():
            os.replace(newer, older)


class Audit:
    """Sees every request and its answer, and writes down those that count."""

    def __init__(self, app: ASGIApp, log: AuditLog) -> None:
        self._app, self._log = app, log
        self._looks: OrderedDict[tuple[str, str], float] = OrderedDict()
        self._minute, self._refused = 0, 0

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        async def seeing(message: Message) -> None:
            nonlocal seen
            status = _find_status(message)
            if status and not seen:
                seen = True
                self._hear(scope, status)
            await send(message)

        seen = False
        await self._app(scope, receive, seeing)

    def _hear(self, scope: Scope, status: int) -> None:
        """An answer begins."""
        visitor, route = scope.get(VISITOR), getattr(scope.get("route"), "path", "")
        who, method = "" if visitor is None else visitor.name, scope.get("method", "SOCKET")
        here, there = scope.get("server") or ("", 0), scope.get("client") or ("", 0)
        facts = {"who": who, "from": there[0], "port": here[1], "status": status}
        if status in REFUSALS and (status != 404 or scope["path"].startswith("/api/")):  # no icon is no attempt
            self._refuse(did=f"{method} {scope['path'][:LONGEST_TEXT]}", **facts)
        elif status < 400 and self._counts(method, route, who, scope.get("path_params", {})):
            shown = {**scope.get(ABOUT, {}), **{k: v for k, v in scope["path_params"].items() if k != "project"}}
            about = {name: str(value)[:LONGEST_TEXT] for name, value in shown.items()}
            self._log.write(did=f"{method} {route}", **facts, about=about)

    def _counts(self, method: str, route: str, who: str, given: dict[str, Any]) -> bool:
        """Whether an answer is written down: all changes and downloads, and of looks at a project the first."""
        inner, is_change = route.removeprefix(PROJECT), method not in (*SAFE_METHODS, "SOCKET")
        if route.startswith("/api/") and (inner in DOWNLOADS or (is_change and inner not in IN_PROJECT_FILE)):
            return True
        seen = given.get("project") or (route if is_change else "")
        return bool(seen) and self._is_first_look(who, seen)

    def _is_first_look(self, who: str, what: str) -> bool:
        """Whether somebody has to do with a thing for the first time in a while."""
        now, key = monotonic(), (who, what)
        seen = self._looks.get(key)
        if seen is not None and now - seen < LOOK_SECONDS:
            return False
        self._looks[key] = now
        self._looks.move_to_end(key)
        while len(self._looks) > MOST_LOOKS:
            self._looks.popitem(last=False)
        return True

    def _refuse(self, **entry: Any) -> None:
        """Write a refusal down, unless there were many in this minute, which are counted."""
        minute = int(monotonic() // 60)
        if minute != self._minute:
            if self._refused > MOST_REFUSED_A_MINUTE:
                self._log.write(did="refused", left_out=self._refused - MOST_REFUSED_A_MINUTE)
            self._minute, self._refused = minute, 0
        self._refused += 1
        if self._refused <= MOST_REFUSED_A_MINUTE:
            self._log.write(**entry)


def _find_status(message: Message) -> int:
    """The status that a message begins an answer with, 0 for another message; a socket has 101, or 403 if refused."""
    match message["type"]:
        case "http.response.start":
            return message["status"]
        case "websocket.accept":
            return 101
        case "websocket.close":
            return 403
    return 0
