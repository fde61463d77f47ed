"""Gaze2Segment (Khosravan et al., 2016): seeds where people look and the image stands out, then a random walker.

What differs from the original: clicks stand in for gaze, all of equal duration. A frame without a click stays empty.

Threshold: 0.5 of the walker. Foreground seeds are where attention times saliency is at least half its maximum; no
parameter depends on the truth, nor on the bound, which the method does not know.
"""

from dataclasses import dataclass

import numpy as np

from fewpoint.core import AreaBound, ImageSequence, PointSet, Result
from fewpoint.methods.competitors.frames import SmallFrame, resize, small_frames
from fewpoint.methods.competitors.random_walker import BACKGROUND, FOREGROUND, MAX_SIDE, walk
from fewpoint.methods.competitors.results import ASSUMED_BOUND, describe_probabilities
from fewpoint.methods.competitors.saliency import find_saliency

ATTENTION_SIGMA = 0.05  # of the frame's longer side: about the part of a frame that is seen sharply
HIGH = 0.5
DIRECTIONS = 16
MARGIN = 2  # pixels between the border found on a ray and the seed beyond it


@dataclass(frozen=True)
class Gaze2Segment:
    """Each frame on its own, at most 256 pixels wide or high."""

    name: str = "gaze2segment"

    def segment(self, sequence: ImageSequence, points: PointSet, bound: AreaBound | None, *, seed: int) -> Result:
        points.check_inside(len(sequence), sequence.size)
        maps = [
            walk(frame.colours, place_seeds(frame)) if len(frame.clicks) else np.zeros(frame.size, np.float32)
            for frame in small_frames(sequence, points, MAX_SIDE)
        ]
        enlarged = np.stack([resize(values, sequence.size) for values in maps])
        return describe_probabilities(enlarged, sequence, points, bound or ASSUMED_BOUND)


def place_seeds(frame: SmallFrame) -> np.ndarray:
    """(h, w) int: foreground where attention and saliency are high, background beyond saliency's steepest falls."""
    saliency = find_saliency(frame.colours)
    attention = np.exp(-0.5 * (frame.click_distances() / (ATTENTION_SIGMA * max(frame.size))) ** 2)
    seeds = np.zeros(frame.size, int)
    for click in frame.clicks:
        for y, x in find_borders(saliency, click):
            seeds[y, x] = BACKGROUND
    both = attention * saliency
    seeds[(both >= HIGH * both.max()) & (attention >= HIGH)] = FOREGROUND
    seeds[tuple(frame.clicks.T)] = FOREGROUND
    return seeds


def find_borders(saliency: np.ndarray, click: np.ndarray) -> list[tuple[int, int]]:
    """On each of sixteen rays from a click, the pixel a little beyond where (h, w) saliency falls most steeply.

    A ray on which saliency never falls has none.

    >>> fall = np.where(np.arange(9) < 6, 1.0, 0.0)[np.newaxis]
    >>> find_borders(fall, np.array([0, 2]))
    [(0, 8)]
    """
    height, width = saliency.shape
    borders = []
    for angle in 2 * np.pi * np.arange(DIRECTIONS) / DIRECTIONS:
        steps = np.arange(height + width)
        rows = np.rint(click[0] + steps * np.sin(angle)).astype(int)
        columns = np.rint(click[1] + steps * np.cos(angle)).astype(int)
        inside = (rows >= 0) & (rows < height) & (columns >= 0) & (columns < width)
        rows, columns = rows[inside], columns[inside]
        falls = -np.diff(saliency[rows, columns])
        if len(falls) and falls.max() > 0:
            beyond = min(int(falls.argmax()) + 1 + MARGIN, len(rows) - 1)
            borders.append((int(rows[beyond]), int(columns[beyond])))
    return borders
