"""Large messages are read and acted upon aside, one at a time, so that nobody else waits for them.

What reads a message, and checks it, holds up the loop that answers everybody: a mask of a million stretches is 11 MB
of JSON, and a million small objects.
"""

import asyncio
import gc
from collections.abc import Iterator
from contextlib import contextmanager

from starlette.concurrency import run_in_threadpool
from starlette.datastructures import Headers
from starlette.types import ASGIApp, Message, Receive, Scope, Send

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
            asyncio.run(_run(self._app, scope, _replay(body, wait_for_ever), note))
        return said


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
