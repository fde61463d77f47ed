"""A few frames near the last word, handed to what answers at once, so that it need not read all others first."""

from dataclasses import dataclass
from pathlib import Path

import numpy as np

from fewpoint.core import ImageSequence
from fewpoint.core.sequence import numbered_names
from fewpoint.io.atomic import write_atomically
from fewpoint.superpixels.intensity import IntensityWindow

REACH = 4  # frames on either side of the one that was spoken of


@dataclass(frozen=True, eq=False)
class Clip:
    """sequence: some frames of a longer one, as brightness from 0 to 1. first: number of the first of them. total: how
    many the longer one has."""

    sequence: ImageSequence
    first: int
    total: int

    @property
    def end(self) -> int:
        return self.first + len(self.sequence)


def choose_frames(frame: int, total: int) -> range:
    """The frames near one of a sequence of so many.

    >>> choose_frames(1, 100), choose_frames(50, 100)
    (range(0, 6), range(46, 55))
    """
    return range(max(0, frame - REACH), min(total, frame + REACH + 1))


def write_clip(frames: np.ndarray, window: IntensityWindow, place: tuple[int, int], path: Path) -> None:
    """frames: (n, H, W, C) as they are stored. place: number of the first, and of how many."""
    low, high = window.low, window.high
    write_atomically(path, lambda file: np.savez(file, frames=frames, low=low, high=high, place=np.array(place)))


def read_clip(path: Path) -> Clip:
    with np.load(path, allow_pickle=False) as stored:
        bright = IntensityWindow(stored["low"], stored["high"]).apply(stored["frames"])
        first, total = map(int, stored["place"])
    return Clip(ImageSequence(bright, numbered_names(len(bright)), window=(0.0, 1.0)), first, total)
