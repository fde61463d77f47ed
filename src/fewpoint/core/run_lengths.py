"""A mask as the stretches of pixels that show the object, read row by row."""

from typing import Annotated

import numpy as np

from fewpoint.core.packing import Packable, to_rows
from fewpoint.errors import InputError

Stretches = Annotated[tuple[tuple[int, int], ...], Packable(2)]


def encode_mask(mask: np.ndarray) -> Stretches:
    """(start, length) of each stretch of true pixels of a (H, W) mask, in row-major order.

    >>> encode_mask(np.array([[0, 1, 1], [1, 0, 1]], bool))
    ((1, 3), (5, 1))
    """
    return to_rows(find_stretches(mask))


def find_stretches(mask: np.ndarray) -> np.ndarray:
    """The same as a (N, 2) array."""
    flat = np.concatenate([[0], mask.ravel().astype(np.int8), [0]])
    edges = np.flatnonzero(np.diff(flat))
    starts, ends = edges[::2], edges[1::2]
    return np.column_stack([starts, ends - starts])


def decode_mask(stretches: Stretches, size: tuple[int, int]) -> np.ndarray:
    """The (H, W) bool mask that has these stretches.

    >>> decode_mask(((1, 3), (5, 1)), (2, 3)).astype(int).tolist()
    [[0, 1, 1], [1, 0, 1]]
    """
    check_stretches(stretches, size)
    mask = np.zeros(size[0] * size[1], bool)
    for start, length in stretches:
        mask[start : start + length] = True
    return mask.reshape(size)


def check_stretches(stretches: Stretches, size: tuple[int, int]) -> None:
    """Raise InputError unless the stretches follow each other inside a frame of this size."""
    reached = 0
    for start, length in stretches:
        if start < reached or length < 1 or start + length > size[0] * size[1]:
            raise InputError(
                f"the runs of a mask must follow each other inside the {size[0]} x {size[1]} frame, "
                f"got start {start}, length {length}; send them in order, each at least one pixel long"
            )
        reached = start + length
