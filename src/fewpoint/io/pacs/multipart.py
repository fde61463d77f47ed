"""The parts of a multipart/related answer, as they come: none is ever whole in memory."""

from collections.abc import Callable, Iterator
from email.message import Message

from fewpoint.errors import InputError

PIECE = 2**20
LONGEST_HEAD = 2**14  # of a part, and of what stands before the first
LONGEST_BOUNDARY = 70
END = b"--"


def find_boundary(media_type: str) -> bytes:
    """What stands between parts, by the answer's Content-Type; InputError if it is no multipart.

    >>> find_boundary('multipart/related; type="application/dicom"; boundary=abc')
    b'abc'
    """
    header = Message()
    header["Content-Type"] = media_type
    boundary = header.get_boundary() if header.get_content_maintype() == "multipart" else None
    if not boundary or len(boundary) > LONGEST_BOUNDARY or not boundary.isascii():
        raise InputError(f"a PACS must answer with images as multipart/related, got {media_type[:80]!r}")
    return boundary.encode("ascii")


def read_parts(read: Callable[[int], bytes], boundary: bytes) -> Iterator[Iterator[bytes]]:
    """The bodies of the parts, each as pieces; one must be used up before the next.

    read: gives at most so many further bytes, none at the end. InputError for what breaks off before its end.
    """
    stream = _Stream(read, b"\r\n--" + boundary)
    stream.skip_to_boundary()
    while not stream.is_at_end():
        stream.skip_head()
        yield stream.read_body()


class _Stream:
    """What has come and is not used yet; starts with a line's end, so that the first boundary is like the others."""

    def __init__(self, read: Callable[[int], bytes], delimiter: bytes) -> None:
        self._read, self._delimiter = read, delimiter
        self._buffer = bytearray(b"\r\n")

    def skip_to_boundary(self) -> None:
        self._buffer = self._buffer[self._wait_for(self._delimiter) :]

    def is_at_end(self) -> bool:
        """Whether the boundary just passed was the last."""
        while len(self._buffer) < len(END):
            self._fill()
        return self._buffer.startswith(END)

    def skip_head(self) -> None:
        """Pass the rest of the boundary's line and the headers of a part; what they say is not needed."""
        del self._buffer[: self._wait_for(b"\r\n") - 2]  # the line's end stays: a part may have no headers
        del self._buffer[: self._wait_for(b"\r\n\r\n")]

    def read_body(self) -> Iterator[bytes]:
        """All up to the next boundary, which is passed."""
        kept = len(self._delimiter) - 1  # could be the start of one
        while (found := self._buffer.find(self._delimiter)) < 0:
            if len(self._buffer) > kept:
                yield bytes(self._buffer[:-kept])
                del self._buffer[:-kept]
            self._fill()
        yield bytes(self._buffer[:found])
        del self._buffer[: found + len(self._delimiter)]

    def _wait_for(self, text: bytes) -> int:
        """Where what follows a text begins."""
        while (found := self._buffer.find(text)) < 0:
            if len(self._buffer) > LONGEST_HEAD + PIECE:
                raise InputError("the answer of the PACS is no multipart that can be read; try again")
            self._fill()
        return found + len(text)

    def _fill(self) -> None:
        piece = self._read(PIECE)
        if not piece:
            raise InputError("the answer of the PACS breaks off before its end; try again")
        self._buffer += piece
