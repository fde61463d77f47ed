"""Connected components of masks."""

from typing import cast

import numpy as np
from scipy import ndimage


def label_components(mask: np.ndarray, structure: np.ndarray | None = None) -> tuple[np.ndarray, int]:
    """The number of the component that each pixel belongs to, from 1, and 0 outside the mask; and how many there are.

    structure: which neighbours are connected; None for those that share a side.

    >>> label_components(np.array([True, False, True, True]))
    (array([1, 0, 2, 2], dtype=int32), 2)
    """
    # scipy returns the count alone if it is given an array to write to, and a type checker cannot tell the two apart.
    return cast(tuple[np.ndarray, int], ndimage.label(mask, structure))
