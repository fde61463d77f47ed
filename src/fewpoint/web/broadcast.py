"""Telling every page that watches a project what has happened to it."""

import asyncio
import threading
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager

from pydantic import BaseModel

MOST_WAITING = 256  # messages that a slow page may lag behind before it is cut off and must come again


class Broadcast:
    """Takes messages from any thread and hands them to all that listen."""

    def __init__(self) -> None:
        self._listeners: set[tuple[asyncio.AbstractEventLoop, asyncio.Queue[str | None]]] = set()
        self._subscribers: list[Callable[[BaseModel], None]] = []
        self._lock = threading.Lock()

    @property
    def is_heard(self) -> bool:
        """Whether anybody listens."""
        with self._lock:
            return bool(self._listeners or self._subscribers)

    def tell(self, event: BaseModel) -> None:
        """Send an event to everyone."""
        with self._lock:
            listeners, subscribers = list(self._listeners), list(self._subscribers)
        for hear in subscribers:
            hear(event)
        if not listeners:
            return
        text = event.model_dump_json()
        for loop, queue in listeners:
            if not loop.is_closed():
                loop.call_soon_threadsafe(_put, queue, text)

    def subscribe(self, hear: Callable[[BaseModel], None]) -> Callable[[], None]:
        """Have a program of the same process told every event, and return what ends that.

        hear: called in the thread of whoever tells, which holds locks; it must hand the event on and return.
        """
        with self._lock:
            self._subscribers.append(hear)

        def leave() -> None:
            with self._lock:
                if hear in self._subscribers:
                    self._subscribers.remove(hear)

        return leave

    @asynccontextmanager
    async def listen(self) -> AsyncIterator["asyncio.Queue[str | None]"]:
        """A queue of messages as text; None: too many waited, listen again."""
        entry = (asyncio.get_running_loop(), asyncio.Queue(MOST_WAITING))
        with self._lock:
            self._listeners.add(entry)
        try:
            yield entry[1]
        finally:
            with self._lock:
                self._listeners.discard(entry)


def _put(queue: "asyncio.Queue[str | None]", text: str) -> None:
    if queue.full():
        while not queue.empty():
            queue.get_nowait()
        queue.put_nowait(None)
    else:
        queue.put_nowait(text)
