"""How deep inside the object people click.

Places drawn evenly from a region lie at all depths: on average half of it lies deeper. People who spread their clicks
avoid the edge, and about a third does; of those who click the very middle, next to nothing. What such clicks lie on,
and how far apart they are, then says nothing of the object's size.
"""

import numpy as np
from scipy import ndimage

SPREAD = 0.22  # of the object lies deeper, on average, than clicks that are surely spread over it


def trust_in_spread(marked: np.ndarray, places: np.ndarray) -> float:
    """How far clicks at (N, 3) frames, rows and columns can be taken as spread over the object: 0 … 1.

    marked: (T, H, W) bool, what is likely the object. The mean share of a marked part that lies deeper than the click
    on it, against that of spread clicks, to the third power: clicks in the middle are rarely quite there, and are still
    not to be believed. Clicks on nothing marked have no say; 1 where no click has.
    """
    deeper = [_share_deeper(marked[frame], row, column) for frame, row, column in places if marked[frame, row, column]]
    return min(1.0, float(np.mean(deeper)) / SPREAD) ** 3 if deeper else 1.0


def _share_deeper(marked: np.ndarray, row: int, column: int) -> float:
    """Share of the connected part of a mask (H, W) at this pixel that is deeper inside; half of what is as deep counts.

    >>> _share_deeper(np.ones((1, 3), bool), 0, 0), round(_share_deeper(np.ones((3, 3), bool), 1, 1), 3)
    (0.5, 0.056)
    """
    parts, _ = ndimage.label(marked)
    number = parts[row, column]
    rows, columns = ndimage.find_objects(parts)[number - 1]
    part = np.pad(parts[rows, columns] == number, 1)
    depths = ndimage.distance_transform_edt(part)
    inside, own = depths[part], depths[row - rows.start + 1, column - columns.start + 1]
    return float(((inside > own).mean() + (inside >= own).mean()) / 2)
