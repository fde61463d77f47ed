"""Parts of a frame with a clear outline: a network's probability falls steeply all round them.

A network that has learnt from few clicks is sure of the object and half sure of much that looks like it, more on some
frames than on others, so that no single threshold suits all. Of all parts that some threshold cuts out, the object
is the one round which the probability falls most steeply.
"""

from typing import NamedTuple

import numpy as np
from scipy import ndimage

from fewpoint.learning.components import label_components

LEVELS = np.append(np.arange(1, 20) / 20, 0.97)
SMALLEST = 0.003  # of a frame
ROOM = 1.1  # times the bound: superpixels will still round a part off
ALIKE = 0.7  # of the steepest: other parts with as clear an outline belong to the object as well


class Part(NamedTuple):
    """box: rows and columns that hold it. mask: bool, within the box. steepness: mean fall along its outline."""

    box: tuple[slice, slice]
    mask: np.ndarray
    steepness: float


def find_outlined(probabilities: np.ndarray, valid: np.ndarray, largest: float) -> np.ndarray:
    """(T, h, w) bool, the parts of each frame with the clearest outlines.

    probabilities, valid: (T, h, w); what is not valid does not belong to the frame. largest: share of a frame that
    the object may cover. Points do not count: one of several parts holds the click, and the others are as clear.
    """
    outlined = np.zeros(probabilities.shape, bool)
    for chosen, probability, inside in zip(outlined, probabilities, valid, strict=True):
        _choose(cut_parts(probability, inside, largest), chosen)
    return outlined


def cut_parts(probability: np.ndarray, valid: np.ndarray, largest: float) -> list[Part]:
    """All connected parts of one frame (h, w) at or above some level, not tiny, too large or the whole frame."""
    along_rows, along_columns = np.gradient(ndimage.gaussian_filter(probability, 1.0))
    fall = np.hypot(along_rows, along_columns)
    least, most = SMALLEST * valid.sum(), ROOM * largest * valid.sum()
    parts = []
    for level in LEVELS:
        components, _ = label_components((probability >= level) & valid)
        areas, boxes = np.bincount(components.ravel()), ndimage.find_objects(components)
        for number in 1 + np.flatnonzero((areas[1:] >= least) & (areas[1:] <= most)):
            rows, columns = boxes[number - 1]
            box = (_widen(rows), _widen(columns))
            mask = components[box] == number
            outline = _outline(mask, valid[box])
            if outline.any():
                parts.append(Part(box, mask, float(fall[box][outline].mean())))
    return parts


def innermost(mask: np.ndarray) -> list[tuple[int, int]]:
    """Row and column of the pixel farthest from the edge of each part of a mask (h, w); a frame's edge is not one."""
    components, count = label_components(mask)
    depths = ndimage.distance_transform_edt(mask)
    places = ndimage.maximum_position(depths, components, range(1, count + 1))
    return [(int(row), int(column)) for row, column in places]


def _choose(parts: list[Part], chosen: np.ndarray) -> None:
    """Mark the part with the steepest outline, and others apart from it whose outline is almost as steep."""
    ordered = sorted(parts, key=lambda part: -part.steepness)
    for part in ordered:
        if part.steepness < ALIKE * ordered[0].steepness:
            return
        if not chosen[part.box][part.mask].any():
            chosen[part.box] |= part.mask


def _outline(mask: np.ndarray, valid: np.ndarray) -> np.ndarray:
    """The pixels on both sides of a mask's edge; the frame's edge does not count."""
    differs = np.zeros_like(mask)  # from the pixel above, below, left or right
    for one, other in ((np.s_[1:], np.s_[:-1]), (np.s_[:, 1:], np.s_[:, :-1])):
        unlike = mask[one] != mask[other]
        differs[one] |= unlike
        differs[other] |= unlike
    return differs & (mask | valid)


def _widen(side: slice) -> slice:
    return slice(max(0, side.start - 1), side.stop + 1)
