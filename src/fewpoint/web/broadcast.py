"""Telling every page that watches a project what has happened to it."""

import asyncio
import threading
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager

from pydantic import BaseModel

# What a slow page may lag behind before it is cut off and must come again.
MOST_WAITING, MOST_BYTES = 256, 2**23


class Waiting:
    """Messages as text that wait for one page, bounded in number and in size but for a single one."""

    def __init__(self) -> None:
        self._queue: asyncio.Queue[str | None] = asyncio.Queue()
        self._size = 0

    def add(self, text: str) -> None:
        """Let a message wait; when there are too many, all give way to the end."""
        self._size += len(text)
        is_full = self._queue.qsize() >= MOST_WAITING or (self._size > MOST_BYTES and not self._queue.empty())
        if not is_full:
            self._queue.put_nowait(text)
            return
        while not self._queue.empty():
            self._queue.get_nowait()
        self._size = 0
        self._queue.put_nowait(None)

    async def get(self) -> str | None:
        """The next message; None: too many waited, listen again."""
        text = await self._queue.get()
        self._size -= len(text or "")
        return text


class Broadcast:
    """Takes messages from any thread and hands them to all that listen."""

    def __init__(self) -> None:
        self._listeners: set[tuple[asyncio.AbstractEventLoop, Waiting]] = set()
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
                loop.call_soon_threadsafe(queue.add, text)

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
    async def listen(self) -> AsyncIterator["Waiting"]:
        """What waits to be sent to one page."""
        entry = (asyncio.get_running_loop(), Waiting())
        with self._lock:
            self._listeners.add(entry)
        try:
            yield entry[1]
        finally:
            with self._lock:
                self._listeners.discard(entry)
