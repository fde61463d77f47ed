"""How deep inside the object people click.

Places drawn uniformly from a region lie at all depths: on average half of the region is deeper. For people who spread
their clicks but avoid the edge it is about a third, and for those who click the very middle next to nothing. What
centred clicks lie on, and how far apart they are, says nothing about the object's size.
"""

import numpy as np
from scipy import ndimage

from fewpoint.learning.components import label_components

SPREAD = 0.22  # of the object lies deeper, on average, than clicks that are surely spread over it


def trust_in_spread(marked: np.ndarray, places: np.ndarray) -> float:
    """How far clicks at (N, 3) frames, rows and columns can be taken as spread over the object: 0 … 1.

    marked: (T, H, W) bool, what is likely the object. The mean share of a marked component that is deeper than the
    click on it, relative to that of spread clicks, to the third power: centred clicks are rarely exactly centred, and
    must still not be trusted. Clicks on unmarked pixels do not count; 1 if no click counts.
    """
    deeper = [_share_deeper(marked[frame], row, column) for frame, row, column in places if marked[frame, row, column]]
    return min(1.0, float(np.mean(deeper)) / SPREAD) ** 3 if deeper else 1.0


def _share_deeper(marked: np.ndarray, row: int, column: int) -> float:
    """Share of the component of a mask (H, W) at this pixel that is deeper inside; what is as deep counts half.

    >>> _share_deeper(np.ones((1, 3), bool), 0, 0), round(_share_deeper(np.ones((3, 3), bool), 1, 1), 3)
    (0.5, 0.056)
    """
    components, _ = label_components(marked)
    number = components[row, column]
    rows, columns = ndimage.find_objects(components)[number - 1]
    component = np.pad(components[rows, columns] == number, 1)
    depths = np.asarray(ndimage.distance_transform_edt(component))
    inside, own = depths[component], depths[row - rows.start + 1, column - columns.start + 1]
    return float(((inside > own).mean() + (inside >= own).mean()) / 2)
