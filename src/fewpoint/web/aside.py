"""Large messages are read in a process apart and acted upon aside, one at a time, so that nobody else waits for them.

A mask of a million stretches is 11 MB of JSON, and a million small objects: what reads it holds up the loop that
answers everybody and, being one call of Python's own library, every other thread of the process, too. The process apart
packs such lists (core/packing.py); from then on they are worked on piece by piece.
"""

import asyncio
import gc
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

from starlette.concurrency import run_in_threadpool
from starlette.datastructures import Headers
from starlette.responses import JSONResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from fewpoint.errors import FewpointError, InputError
from fewpoint.io.apart.calls import call
from fewpoint.io.atomic import explaining_write_errors
from fewpoint.io.large_json import pack_message
from fewpoint.web.faults import status_of

LARGE_BYTES = 2**18
JSON = "json"  # of application/json, and of others that are read as it is


class Aside:
    """Answers requests with much JSON in a thread that has a loop of its own."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app
        self._turn = asyncio.Semaphore(1)  # each takes ten times its size in memory while it is read

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http" or JSON not in Headers(scope=scope).get("content-type", "").lower():
            await self._app(scope, receive, send)
            return
        body = await _read(receive)
        if len(body) < LARGE_BYTES:
            await self._app(scope, _replay(body, receive), send)
            return
        async with self._turn:
            for message in await run_in_threadpool(self._answer, scope, body):
                await send(message)

    def _answer(self, scope: Scope, body: bytes) -> list[Message]:
        """All that the application answers."""
        said: list[Message] = []

        async def wait_for_ever() -> Message:
            await asyncio.Event().wait()
            raise RuntimeError("it has ended")

        async def note(message: Message) -> None:
            said.append(message)

        with _uncollected():
            try:
                app, packed = self._app, _pack(body)
            except FewpointError as error:
                app, packed = JSONResponse({"detail": str(error)}, status_of(error)), b""
            asyncio.run(_run(app, scope, _replay(packed, wait_for_ever), note))
        return said


def _pack(body: bytes) -> bytes:
    """A message with its long lists packed, read in a process apart."""
    with explaining_write_errors(Path("a temporary file")), TemporaryDirectory() as folder:
        path = Path(folder) / "message.json"
        path.write_bytes(body)
        try:
            return call(pack_message, path).tobytes()
        except InputError as error:
            raise InputError(str(error).replace(str(path), "the message")) from None


async def _run(app: ASGIApp, scope: Scope, receive: Receive, send: Send) -> None:
    await app(scope, receive, send)


async def _read(receive: Receive) -> bytes:
    """The whole body."""
    pieces, more = [], True
    while more:
        message = await receive()
        pieces.append(message.get("body", b""))
        more = message.get("more_body", False)
    return b"".join(pieces)


def _replay(body: bytes, receive: Receive) -> Receive:
    """A body that is all there, then what comes after it."""
    left: list[Message] = [{"type": "http.request", "body": body, "more_body": False}]

    async def take() -> Message:
        return left.pop() if left else await receive()

    return take


@contextmanager
def _uncollected() -> Iterator[None]:
    """Leave out the search for circles among objects: among a million that are none it takes longer than their making,
    and holds up all threads."""
    was_on = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_on:
            gc.enable()
