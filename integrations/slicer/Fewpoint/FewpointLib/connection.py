"""A fewpoint server over HTTP, with nothing but the standard library."""

from __future__ import annotations

import http.client
import json
import os
from collections.abc import Generator, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Union
from urllib.parse import parse_qs, urlencode, urlsplit

ANSWER_S, WORK_S = 10.0, 600.0  # how long a question may take, and something that the server has to work for
PIECE = 2**20
BOUNDARY = "fewpoint-slicer-b71c0a52e6"
UNREACHABLE = (502, 503, 504)  # what a proxy says of a server that is not there
HERE = ("localhost", "127.0.0.1", "::1")

Bytes = Union[bytes, memoryview]


class ServerError(Exception):
    """The server refused; status: the HTTP status."""

    def __init__(self, message: str, status: int = 0) -> None:
        super().__init__(message)
        self.status = status


class LostError(ServerError):
    """The server cannot be reached now; what it was doing goes on, and may be asked for again."""


class Connection:
    """A server that somebody has started with `fewpoint annotate`.

    address: as it was printed, with or without the token in it. token: left empty, that of a server of this user on
    this machine is found.
    """

    def __init__(self, address: str, token: str = "") -> None:
        text = address.strip()
        parts = urlsplit(text if "://" in text else f"http://{text}")
        try:
            port = parts.port
        except ValueError:
            port = -1
        if parts.scheme not in ("http", "https") or not parts.hostname or port == -1:
            raise ServerError(f"the address must be like http://127.0.0.1:8760, got {text[:80] or 'nothing'}")
        self._secure, self._host = parts.scheme == "https", parts.hostname
        self._port = port or (443 if self._secure else 80)
        self.address = f"{parts.scheme}://{parts.netloc.rpartition('@')[2]}"
        token = token.strip() or "".join(parse_qs(parts.query).get("token", [])) or find_key(self._host, self._port)
        self._headers = {"Authorization": f"Bearer {token}"} if token else {}

    def get(self, path: str, /, **query: Any) -> Any:
        return self._ask("GET", path + (f"?{urlencode(query)}" if query else ""), ANSWER_S)

    def post(self, path: str, body: dict[str, Any] | None = None) -> Any:
        return self._ask("POST", path, WORK_S, json.dumps(body or {}).encode())

    def send(self, name: str, parts: Sequence[Bytes]) -> Generator[float, None, str]:
        """Send a file in pieces, giving the share that is sent; the generator's value is the server's path of it."""
        head = (
            f'--{BOUNDARY}\r\nContent-Disposition: form-data; name="files"; filename="{name}"\r\n'
            "Content-Type: application/octet-stream\r\n\r\n"
        ).encode()
        views = [memoryview(part).cast("B") for part in (head, *parts, f"\r\n--{BOUNDARY}--\r\n".encode())]
        total, sent = sum(len(view) for view in views), 0
        connection = self._connect(WORK_S)
        try:
            with explaining(self.address):
                self._begin_form(connection, total)
            for piece in cut(views):
                try:
                    connection.send(piece)
                except OSError:
                    break  # refused before the end: the answer says why
                sent += len(piece)
                yield sent / total
            return self._read(connection)["path"]
        finally:
            connection.close()

    def _connect(self, timeout_s: float) -> http.client.HTTPConnection:
        kind = http.client.HTTPSConnection if self._secure else http.client.HTTPConnection
        return kind(self._host, self._port, timeout=timeout_s)

    def _begin_form(self, connection: http.client.HTTPConnection, length: int) -> None:
        connection.putrequest("POST", "/api/uploads")
        headers = {"Content-Type": f"multipart/form-data; boundary={BOUNDARY}", "Content-Length": str(length)}
        for field, value in {**self._headers, **headers}.items():
            connection.putheader(field, value)
        connection.endheaders()

    def _ask(self, method: str, path: str, timeout_s: float, body: bytes | None = None) -> Any:
        connection = self._connect(timeout_s)
        try:
            with explaining(self.address):
                connection.request(method, f"/api{path}", body, {**self._headers, "Content-Type": "application/json"})
            return self._read(connection)
        finally:
            connection.close()

    def _read(self, connection: http.client.HTTPConnection) -> Any:
        with explaining(self.address):
            answer = connection.getresponse()
            data = answer.read()
        if answer.status in UNREACHABLE:
            raise LostError(f"no fewpoint behind {self.address}: it answered {answer.status}", answer.status)
        try:
            told = json.loads(data)
            if answer.status < 400:
                return told
            detail = str(told["detail"])
        except (ValueError, KeyError, TypeError):
            detail = f"what answers at {self.address} is not fewpoint: status {answer.status}; check the address"
        raise ServerError(detail, answer.status)


@contextmanager
def explaining(address: str) -> Iterator[None]:
    """Say of a network's errors in one line that the server cannot be reached."""
    try:
        yield
    except (OSError, http.client.HTTPException) as error:
        reason = getattr(error, "strerror", None) or str(error) or type(error).__name__
        raise LostError(f"no fewpoint at {address}: {reason}; start fewpoint annotate") from None


def cut(views: Sequence[memoryview]) -> Iterator[memoryview]:
    """Pieces small enough for a panel to stay alive between them."""
    for view in views:
        for start in range(0, len(view), PIECE):
            yield view[start : start + PIECE]


def find_key(host: str, port: int) -> str:
    """The token of this user's server on this machine, which it has left in a file; empty if none is known."""
    if host not in HERE:
        return ""
    base = os.environ.get("XDG_DATA_HOME") or Path.home() / ".local" / "share"
    try:
        return str(json.loads((Path(base) / "fewpoint" / "servers" / f"{port}.json").read_text())["token"])
    except (OSError, ValueError, KeyError, TypeError):
        return ""
