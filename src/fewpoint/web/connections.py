"""How long a connection may wait, and how many there may be: what uvicorn leaves to others.

uvicorn closes a connection that was answered and then keeps silent. One that never asks, that sends its request byte by
byte, or that does not read its answer, it leaves open.
"""

from asyncio import BaseTransport, Transport
from contextlib import suppress
from typing import cast

from uvicorn.protocols.http.h11_impl import H11Protocol

MOST_CONNECTIONS = 512
HEAD_SECONDS = 20.0  # from the last answer, or the beginning, to the end of a request's headers
STALL_SECONDS = 60.0  # in which some of an answer must be taken
LOOK_SECONDS = 5.0
LARGEST_HEAD = 2**15  # bytes of a request's first line and headers


class BoundedProtocol(H11Protocol):
    """A connection that is closed when it has nothing to ask for, and makes room when there are too many."""

    most = MOST_CONNECTIONS

    def connection_made(self, transport: BaseTransport) -> None:
        super().connection_made(cast(Transport, transport))
        self._waits_since = self._moved_at = self.loop.time()
        self._unread = 0
        self._make_room()
        self._look_later()

    @property
    def is_waiting(self) -> bool:
        """Whether no whole request is there that has not been answered."""
        return self.cycle is None or self.cycle.response_complete

    def on_response_complete(self) -> None:
        self._waits_since = self.loop.time()
        super().on_response_complete()

    def _make_room(self) -> None:
        """If there are too many, close the one that has waited longest: this one if all others are being answered."""
        there = [each for each in self.connections if not each.transport.is_closing()]
        if len(there) > self.most:
            waiting = [each for each in there if isinstance(each, BoundedProtocol) and each.is_waiting]
            min(waiting, key=lambda each: each._waits_since).transport.abort()

    def _look_later(self) -> None:
        self.loop.call_later(LOOK_SECONDS, self._look)

    def _look(self) -> None:
        """Close the connection if it has taken too long, else look again later."""
        if self not in self.connections:  # it is gone, or has become a socket of its own protocol
            return
        now, unread = self.loop.time(), self.transport.get_write_buffer_size()
        if unread != self._unread or not unread:
            self._unread, self._moved_at = unread, now
        is_late = self.is_waiting and not unread and now - self._waits_since > HEAD_SECONDS
        if is_late or now - self._moved_at > STALL_SECONDS:
            self.transport.abort()
        else:
            self._look_later()


def allow_descriptors() -> int:
    """Make sure that connections leave descriptors for everything else; returns how many connections there may be."""
    with suppress(ImportError, OSError, ValueError):
        import resource

        least = 4 * MOST_CONNECTIONS
        soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
        if 0 <= soft < least:
            soft = least if hard < 0 else min(least, hard)
            resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
        return MOST_CONNECTIONS if soft < 0 else min(MOST_CONNECTIONS, soft // 2)
    return MOST_CONNECTIONS // 2
