"""Masks that need no learning; a method that does not clearly beat them is broken."""

from dataclasses import dataclass

import numpy as np

from fewpoint.core import AreaBound, ImageSequence, PointSet, Result
from fewpoint.methods.competitors.results import ASSUMED_BOUND, describe_masks


@dataclass(frozen=True)
class AllPositive:
    """Marks every pixel of every frame that is not marked absent."""

    name: str = "all-positive"

    def segment(self, sequence: ImageSequence, points: PointSet, bound: AreaBound | None, *, seed: int) -> Result:
        points.check_inside(len(sequence), sequence.size)
        masks = np.ones(sequence.shape[:3], bool)
        masks[list(points.absent)] = False
        return describe_masks(masks, sequence, bound or ASSUMED_BOUND)


@dataclass(frozen=True)
class HalfDisc:
    """Marks a disc of half the size limit's area around each click, and nothing on frames without one."""

    name: str = "half-disc"

    def segment(self, sequence: ImageSequence, points: PointSet, bound: AreaBound | None, *, seed: int) -> Result:
        points.check_inside(len(sequence), sequence.size)
        bound = bound or ASSUMED_BOUND
        masks = draw_discs(points, bound.fraction / 2, sequence.shape[:3])
        return describe_masks(masks, sequence, bound)


def draw_discs(points: PointSet, share: float, shape: tuple[int, int, int]) -> np.ndarray:
    """(T, H, W) bool: round each point the pixels of a disc that has a share of the frame's area, cut at the frame.

    >>> draw_discs(PointSet.from_rows([(0, 1, 1)]), 0.25, (1, 3, 5)).astype(int).tolist()
    [[[0, 1, 0, 0, 0], [1, 1, 1, 0, 0], [0, 1, 0, 0, 0]]]
    """
    rows, columns = np.indices(shape[1:])
    squared_radius = share * rows.size / np.pi
    discs = np.zeros(shape, bool)
    for frame, y, x in points.coordinates:
        discs[frame] |= (rows - y) ** 2 + (columns - x) ** 2 <= squared_radius
    return discs
