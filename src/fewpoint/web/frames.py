"""The pixels of open projects: those used last are in memory, the others are read again when they are looked at."""

import threading
from collections import OrderedDict
from collections.abc import Callable
from pathlib import Path

import numpy as np

from fewpoint.core import ImageSequence
from fewpoint.core.paging import gather_frames, walk
from fewpoint.core.sequence import numbered_names
from fewpoint.core.source import Source
from fewpoint.io.images import read_sequence
from fewpoint.io.video import FORMAT as VIDEO
from fewpoint.io.video import SUFFIXES as VIDEO_SUFFIXES
from fewpoint.io.video import FilmReading
from fewpoint.web.faults import MissingError

MOST_BYTES = 2**30  # of all projects together; the one looked at last is kept however large it is


class Pixels:
    """The frames of one input. film: set while it is a film that may still be decoded."""

    def __init__(self, sequence: ImageSequence, film: FilmReading | None = None) -> None:
        self.sequence, self._film = sequence, film

    @classmethod
    def read(cls, path: Path) -> "Pixels":
        """Read an input; of a film only the first frame is waited for."""
        if not path.name.lower().endswith(VIDEO_SUFFIXES):
            return cls(_own(read_sequence(path)))
        film = FilmReading(path)
        source = Source(str(path.absolute()), VIDEO)
        return cls(ImageSequence(film.frames, numbered_names(film.shape[0]), source), film)

    @property
    def is_film(self) -> bool:
        return self._film is not None

    @property
    def size_bytes(self) -> int:
        """What they take in memory; those in a file take none worth counting."""
        base = self.sequence.frames
        while isinstance(base, np.ndarray) and not isinstance(base, np.memmap) and base.base is not None:
            base = base.base
        return 0 if isinstance(base, np.memmap) or not isinstance(base, np.ndarray) else self.sequence.frames.nbytes

    def cut(self, axis: int, index: int) -> np.ndarray:
        """(rows, columns, C) pixels of a frame, or across the frames at a row (axis 1) or column (axis 2)."""
        if axis not in (0, 1, 2) or not 0 <= index < self.sequence.shape[axis]:
            raise MissingError(f"there is no frame {index} along axis {axis}")
        if self._film is not None:
            self._film.wait_for(index if axis == 0 else self.sequence.shape[0] - 1)
        return np.take(self.sequence.frames, index, axis=axis)

    def close(self) -> None:
        if self._film is not None:
            self._film.close()


class PixelStore:
    """The pixels of several inputs within so many bytes, those used last first."""

    def __init__(self, most_bytes: int = MOST_BYTES) -> None:
        self.most_bytes = most_bytes
        self._kept: OrderedDict[str, Pixels] = OrderedDict()
        self._lock = threading.RLock()

    @property
    def size_bytes(self) -> int:
        with self._lock:
            return sum(pixels.size_bytes for pixels in self._kept.values())

    def keep(self, key: str, pixels: Pixels) -> None:
        """Add what was just read, and let go of what was used longest ago."""
        with self._lock:
            self._kept[key] = pixels
            self._kept.move_to_end(key)
            while self.size_bytes > self.most_bytes and len(self._kept) > 1:
                oldest = next((each for each, old in self._kept.items() if each != key and old.size_bytes), None)
                if oldest is None:
                    return
                self._kept.pop(oldest).close()

    def get(self, key: str, read: Callable[[], Pixels]) -> Pixels:
        """The pixels under a key, read again if they were let go of."""
        with self._lock:
            if key in self._kept:
                self._kept.move_to_end(key)
                return self._kept[key]
        pixels = read()
        self.keep(key, pixels)
        return pixels

    def drop(self, key: str) -> None:
        """Let go of the pixels under a key."""
        with self._lock:
            if key in self._kept:
                self._kept.pop(key).close()

    def close(self) -> None:
        with self._lock:
            for pixels in self._kept.values():
                pixels.close()
            self._kept.clear()


def _own(sequence: ImageSequence) -> ImageSequence:
    """The sequence apart from its file: to look at a mapped one that was cut short meanwhile would end the server."""
    if not is_mapped(sequence.frames):
        return sequence
    frames = gather_frames(walk(sequence.frames), sequence.shape, sequence.frames.dtype)
    return ImageSequence(frames, sequence.names, sequence.source, sequence.window)


def is_mapped(array: np.ndarray) -> bool:
    """Whether an array lies in a file that has a name, which others can change."""
    owner: object = array
    while isinstance(owner, np.ndarray):
        if isinstance(owner, np.memmap) and owner.filename is not None:
            return True
        owner = owner.base
    return False


def without_pixels(sequence: ImageSequence) -> ImageSequence:
    """The same sequence with zeros that take no memory: for its shape, names and place."""
    return ImageSequence(
        np.broadcast_to(np.zeros((), sequence.frames.dtype), sequence.shape),
        sequence.names,
        sequence.source,
        sequence.window,
    )
