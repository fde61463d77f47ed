"""Probabilities of superpixels taken to their pixels: superpixels say what belongs together, pixels where it ends."""

from collections.abc import Iterator

import numpy as np
from scipy.ndimage import gaussian_filter
from scipy.special import expit

from fewpoint.core import SuperpixelMap
from fewpoint.core.paging import walk
from fewpoint.core.threads import work_ahead
from fewpoint.superpixels.regions import paint_frames, region_means

SUREST = 1e-4  # probabilities are kept this far from 0 and 1, where their logits have no end


def take_to_pixels(
    superpixels: SuperpixelMap, pixels: np.ndarray, regions: np.ndarray, blur: float
) -> Iterator[np.ndarray]:
    """(H, W) float32 probabilities of each frame: those of superpixels, more or less as pixels differ from their mean.

    On a scale of logits, so that a superpixel's new value moves all of its pixels alike. pixels: (T, H, W)
    probabilities. regions: (total,) those that superpixels have now. blur: standard deviation, in pixels, of the
    Gaussian that smooths the result within each frame; 0 for none.

    >>> superpixels = SuperpixelMap(np.array([[[0, 0, 1]]], np.int32))
    >>> (frame,) = take_to_pixels(superpixels, np.array([[[0.8, 0.4, 0.2]]]), np.array([0.5, 0.2]), blur=0.0)
    >>> frame.round(2)
    array([[0.73, 0.31, 0.2 ]], dtype=float32)
    """
    moves = _logits(regions) - _logits(region_means(superpixels, pixels))

    def move_pixels(move: np.ndarray, own: np.ndarray) -> np.ndarray:
        return gaussian_filter(expit(_logits(own.astype(np.float32)) + move), blur)

    return work_ahead(move_pixels, paint_frames(superpixels, moves.astype(np.float32)), walk(pixels))


def _logits(probabilities: np.ndarray) -> np.ndarray:
    clipped = np.clip(probabilities, SUREST, 1 - SUREST)
    return np.log(clipped / (1 - clipped))
