"""Frames, clicks and maps at a smaller size, for methods whose time grows with the number of pixels."""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from fewpoint.core import ImageSequence, PointSet
from fewpoint.core.paging import walk
from fewpoint.superpixels.intensity import window_of


@dataclass(frozen=True, eq=False)
class SmallFrame:
    """One frame at its working size.

    colours: (h, w, C) float32, Lab / 100 if the frame is in colour, otherwise its channels in [0, 1].
    clicks: (P, 2) int64 y, x of the frame's clicks at that size.
    """

    colours: np.ndarray
    clicks: np.ndarray

    @property
    def size(self) -> tuple[int, int]:
        return self.colours.shape[:2]

    def click_distances(self) -> np.ndarray:
        """(h, w) distance in pixels to the nearest click, infinite without one.

        >>> SmallFrame(np.zeros((1, 4, 1), np.float32), np.array([[0, 1]])).click_distances().tolist()
        [[1.0, 0.0, 1.0, 2.0]]
        """
        rows, columns = np.indices(self.size)
        distances = np.full(self.size, np.inf)
        for y, x in self.clicks:
            distances = np.minimum(distances, np.hypot(rows - y, columns - x))
        return distances


def small_frames(sequence: ImageSequence, points: PointSet, max_side: int) -> Iterator[SmallFrame]:
    """The frames one by one, none with a longer side than max_side pixels."""
    window, size = window_of(sequence), reduced_size(sequence.size, max_side, sequence.square_size)
    for number, frame in enumerate(walk(sequence.frames)):
        places = points.coordinates[points.frames == number, 1:]
        yield SmallFrame(to_colours(resize(window.apply(frame), size)), places * size // sequence.size)


def reduced_size(size: tuple[int, int], max_side: int, square: tuple[int, int] | None = None) -> tuple[int, int]:
    """Height and width with the same aspect and at most max_side pixels; never enlarged.

    square: the size with square pixels, see ImageSequence.square_size; None if they are.

    >>> reduced_size((288, 384), 128), reduced_size((60, 512), 128, square=(480, 512))
    ((96, 128), (60, 128))
    """
    square = square or size
    scale = min(1.0, max_side / max(square))
    height, width = (min(side, max(1, round(wanted * scale))) for side, wanted in zip(size, square, strict=True))
    return height, width


def resize(image: np.ndarray, size: tuple[int, int]) -> np.ndarray:
    """(h, w) or (h, w, C) float32 at another size; smoothed first if it shrinks."""
    from skimage.transform import resize as resize_image

    if image.shape[:2] == tuple(size):
        return image
    smaller = size[0] < image.shape[0] or size[1] < image.shape[1]
    resized = resize_image(image, size, order=1, anti_aliasing=smaller, preserve_range=True)
    return np.asarray(resized).astype(np.float32)


def to_colours(image: np.ndarray) -> np.ndarray:
    """(h, w, C) in [0, 1] to Lab / 100 if it is in colour, otherwise unchanged."""
    if image.shape[-1] != 3:
        return image
    from skimage.color import rgb2lab

    return (rgb2lab(image) / 100).astype(np.float32)
