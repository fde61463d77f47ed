"""Max SP: the best that any method made of superpixels can do."""

import numpy as np

from fewpoint.core import SuperpixelMap
from fewpoint.errors import InputError
from fewpoint.evaluation.metrics import MaskScores, score_masks


def best_superpixel_masks(superpixels: SuperpixelMap, truth: np.ndarray) -> np.ndarray:
    """(T, H, W) bool: the superpixels of which more than half the pixels are true.

    >>> superpixels = SuperpixelMap(np.array([[[0, 0, 1, 1, 1]]], np.int32))
    >>> best_superpixel_masks(superpixels, np.array([[[1, 0, 1, 1, 0]]], bool)).astype(int).tolist()
    [[[0, 0, 1, 1, 1]]]
    """
    if truth.shape != superpixels.labels.shape:
        raise InputError(
            f"truth must have the superpixels' shape {superpixels.labels.shape} (frames, height, width), "
            f"got {truth.shape}"
        )
    best = np.empty(truth.shape, bool)
    for frame, labels in enumerate(superpixels.labels):
        true_pixels = np.bincount(labels.ravel(), truth[frame].ravel())
        best[frame] = (2 * true_pixels > np.bincount(labels.ravel()))[labels]
    return best


def score_ceiling(superpixels: SuperpixelMap, truth: np.ndarray) -> MaskScores:
    """Scores of the best superpixel masks against the pixel truth; its pooled F1 is the paper's Max SP."""
    return score_masks(best_superpixel_masks(superpixels, truth), truth)
