"""Max SP: the best that any method made of superpixels can do."""

import numpy as np

from fewpoint.core import SuperpixelMap
from fewpoint.evaluation.metrics import MaskScores, score_masks
from fewpoint.evaluation.regions import RegionTruth


def best_superpixel_masks(superpixels: SuperpixelMap, truth: np.ndarray) -> np.ndarray:
    """(T, H, W) bool: the superpixels of which more than half the pixels are true.

    >>> superpixels = SuperpixelMap(np.array([[[0, 0, 1, 1, 1]]], np.int32))
    >>> best_superpixel_masks(superpixels, np.array([[[1, 0, 1, 1, 0]]], bool)).astype(int).tolist()
    [[[0, 0, 1, 1, 1]]]
    """
    counts = RegionTruth.count(superpixels, truth)
    better = counts.true_pixels > counts.false_pixels
    return np.stack([chosen[labels] for chosen, labels in zip(better, superpixels.labels, strict=True)])


def score_ceiling(superpixels: SuperpixelMap, truth: np.ndarray) -> MaskScores:
    """Scores of the best superpixel masks against the pixel truth; its pooled F1 is the paper's Max SP."""
    return score_masks(best_superpixel_masks(superpixels, truth), truth)
