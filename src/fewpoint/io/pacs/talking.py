"""One request to a PACS and its answer, whatever the server does: within a time and a size, and to nobody else."""

import http.client
import logging
import socket
import ssl
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from http import HTTPStatus

from fewpoint import __version__
from fewpoint.errors import FewpointError, InputError
from fewpoint.io.pacs.addresses import ServiceAddress
from fewpoint.io.pacs.credentials import PASSWORD, TOKEN, USER, Credentials

logger = logging.getLogger(__name__)

IDLE_SECONDS = 60.0  # until the next byte
LONGEST_REASON = 200


class MissingAtPacsError(InputError):
    """The server knows of no such study, series or image."""


@dataclass(frozen=True)
class Limits:
    """Of one request and its answer."""

    seconds: float = 120.0
    answer_bytes: int = 2**25


@dataclass(frozen=True)
class Question:
    """method, path: as HTTP has them, the path below the service's root. accept: the media type that is wanted."""

    method: str
    path: str
    accept: str
    body: bytes | None = None
    content_type: str = ""


@dataclass(eq=False)
class Answer:
    """What a server says. media_type: of the header Content-Type, whole."""

    status: int
    media_type: str
    _read: Callable[[int], bytes]
    _limit: int
    _count: int = field(default=0)

    def read(self, count: int) -> bytes:
        """At most so many further bytes, none at the end; InputError once there are too many."""
        piece = self._read(count)
        self._count += len(piece)
        if self._count > self._limit:
            raise InputError(f"the PACS answers with more than {self._limit / 2**20:.0f} MiB; choose less")
        return piece

    def read_all(self) -> bytes:
        pieces = []
        while piece := self.read(2**16):
            pieces.append(piece)
        return b"".join(pieces)


@contextmanager
def ask(
    service: ServiceAddress, credentials: Credentials, question: Question, limits: Limits = Limits()
) -> Iterator[Answer]:
    """The answer to a question, to be read inside of `with`; InputError for one that is no success.

    Whatever happens it is over after limits.seconds: then the connection is cut from another thread.
    """
    connection = _connect(service)
    with _explaining(service, limits) as clock:
        try:
            connection.connect()
            clock.start(connection.sock)
            path, headers = service.root + question.path, _write_headers(question, credentials)
            connection.request(question.method, path, question.body, headers)
            response = connection.getresponse()
            logger.debug("%s %s: %d", question.method, service.host, response.status)
            _check_status(service, response)
            media_type = response.headers.get("Content-Type", "")
            yield Answer(response.status, media_type, response.read, limits.answer_bytes)
        finally:
            connection.close()


class _Clock:
    """Cuts a connection when its time is over."""

    def __init__(self, seconds: float) -> None:
        self._seconds = seconds
        self._timer: threading.Timer | None = None
        self.is_over = False

    def start(self, sock: socket.socket) -> None:
        def cut() -> None:
            self.is_over = True
            with suppress(OSError, ValueError):
                sock.shutdown(socket.SHUT_RDWR)

        self._timer = threading.Timer(self._seconds, cut)
        self._timer.daemon = True
        self._timer.start()

    def stop(self) -> None:
        if self._timer is not None:
            self._timer.cancel()


def _connect(service: ServiceAddress) -> http.client.HTTPConnection:
    host = service.host.strip("[]")
    if not service.encrypted:
        return http.client.HTTPConnection(host, service.port, timeout=IDLE_SECONDS)
    context = ssl.create_default_context()  # which heeds SSL_CERT_FILE
    return http.client.HTTPSConnection(host, service.port, timeout=IDLE_SECONDS, context=context)


def _write_headers(question: Question, credentials: Credentials) -> dict[str, str]:
    headers = {"Accept": question.accept, "User-Agent": f"fewpoint/{__version__}", "Connection": "close"}
    if question.content_type:
        headers["Content-Type"] = question.content_type
    if credentials.authorisation is not None:
        headers["Authorization"] = credentials.authorisation
    return headers


def _check_status(service: ServiceAddress, response: http.client.HTTPResponse) -> None:
    status = response.status
    if status in (HTTPStatus.UNAUTHORIZED, HTTPStatus.FORBIDDEN):
        raise InputError(
            f"{service} rejected the credentials ({status}); set {TOKEN}, or {USER} and {PASSWORD}, "
            "or write them into ~/.netrc"
        )
    if status == HTTPStatus.NOT_FOUND:
        raise MissingAtPacsError(f"{service} does not have this (404); check the address and its root")
    if 300 <= status < 400:
        raise InputError(
            f"{service} redirects ({status}), which is not followed with credentials; give that address itself"
        )
    if not 200 <= status < 300:
        raise InputError(f"{service} refused: {status} {_one_line(response.reason)}; try again, or ask who runs it")


@contextmanager
def _explaining(service: ServiceAddress, limits: Limits) -> Iterator[_Clock]:
    """Turn whatever a connection meets into one line."""
    clock = _Clock(limits.seconds)
    slow = InputError(f"{service} took longer than {limits.seconds:.0f} s; try again later")
    try:
        yield clock
        if clock.is_over:  # a connection that is cut looks like the end of an answer
            raise slow
    except (FewpointError, OSError, http.client.HTTPException, ValueError) as error:
        if clock.is_over:
            raise slow from None
        if isinstance(error, FewpointError):
            raise
        if isinstance(error, TimeoutError):
            raise InputError(f"{service} has been silent for {IDLE_SECONDS:.0f} s; try again later") from None
        if isinstance(error, http.client.IncompleteRead):
            raise InputError(f"the answer of {service} breaks off; try again") from None
        raise InputError(f"cannot talk to {service}: {_one_line(error)}; check the address") from error
    finally:
        clock.stop()


def _one_line(reason: object) -> str:
    return " ".join(str(reason).split())[:LONGEST_REASON] or type(reason).__name__
