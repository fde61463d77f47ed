"""Probabilities of superpixels taken to their pixels: superpixels say what belongs together, pixels where it ends."""

import numpy as np
from scipy.ndimage import gaussian_filter
from scipy.special import expit

SUREST = 1e-4  # probabilities are kept this far from 0 and 1, where their logits have no end


def find_moves(means: np.ndarray, regions: np.ndarray) -> np.ndarray:
    """(total,) float32, by how much the logits of each superpixel's pixels change.

    means: (total,) mean probabilities of these pixels. regions: (total,) those that superpixels have now.
    """
    return (_logits(regions) - _logits(means)).astype(np.float32)


def move_pixels(pixels: np.ndarray, moves: np.ndarray, blur: float) -> np.ndarray:
    """(H, W) float32 probabilities of a frame: those of superpixels, more or less as pixels differ from their mean.

    On a scale of logits, so that a superpixel's new value moves all of its pixels alike. pixels: (H, W) probabilities.
    moves: (H, W), see find_moves. blur: standard deviation, in pixels, of the Gaussian that smooths the result; 0 for
    none.

    >>> moves = find_moves(np.array([0.6, 0.2]), np.array([0.5, 0.2]))[np.array([[0, 0, 1]])]
    >>> move_pixels(np.array([[0.8, 0.4, 0.2]]), moves, blur=0.0).round(2)
    array([[0.73, 0.31, 0.2 ]], dtype=float32)
    """
    return gaussian_filter(expit(_logits(pixels.astype(np.float32)) + moves), blur)


def _logits(probabilities: np.ndarray) -> np.ndarray:
    clipped = np.clip(probabilities, SUREST, 1 - SUREST)
    return np.log(clipped / (1 - clipped))
