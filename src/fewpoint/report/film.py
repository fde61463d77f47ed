"""A result to watch: every frame with the outline of its mask."""

from collections.abc import Iterator

import numpy as np

from fewpoint.core import ImageSequence
from fewpoint.core.paging import walk
from fewpoint.errors import InputError
from fewpoint.report.tiles import CONTOUR_COLOUR, Colour, draw_outlines, render_frame
from fewpoint.superpixels.intensity import window_of

LONGEST_SIDE, SHORTEST_SIDE = 1280, 64


def draw_film(
    sequence: ImageSequence, masks: np.ndarray, colours: tuple[Colour, ...] = (CONTOUR_COLOUR,)
) -> Iterator[np.ndarray]:
    """(H, W, 3) uint8 pictures of all frames, at an even height and width as videos need them.

    masks: (T, H, W) bool, or the number of an object from 1 at each pixel, 0 for none. colours: one per object.
    """
    if sequence.shape[:3] != masks.shape:
        raise InputError(f"sequence and masks must have one (T, H, W), got {sequence.shape[:3]} and {masks.shape}")
    size, window = fit_film(sequence.square_size), window_of(sequence)
    for frame, mask in zip(walk(sequence.frames), walk(masks), strict=True):
        outlines = [(mask == number, colour) for number, colour in enumerate(colours, start=1)]
        yield draw_outlines(render_frame(frame, window), size, outlines)


def fit_film(size: tuple[int, int]) -> tuple[int, int]:
    """Height and width of the film: even, neither too large to play nor too small to see.

    >>> fit_film((2000, 4000)), fit_film((101, 99)), fit_film((20, 10))
    ((640, 1280), (102, 100), (64, 64))
    """
    scale = min(1.0, LONGEST_SIDE / max(size))
    height, width = (max(SHORTEST_SIDE, 2 * round((side * scale + 0.5) / 2)) for side in size)
    return height, width
