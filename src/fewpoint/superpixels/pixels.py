"""Probabilities of superpixels taken to their pixels: superpixels say what belongs together, pixels where it ends."""

import numpy as np
from scipy.ndimage import gaussian_filter
from scipy.special import expit

from fewpoint.core import SuperpixelMap
from fewpoint.superpixels.regions import paint_regions, region_means

SUREST = 1e-4  # probabilities are kept this far from 0 and 1, where their logits have no end


def take_to_pixels(superpixels: SuperpixelMap, pixels: np.ndarray, regions: np.ndarray, blur: float) -> np.ndarray:
    """(T, H, W) float32 probabilities: those of the superpixels, higher or lower as a pixel differs from their mean.

    On a scale of logits, so that a superpixel's new value moves all of its pixels alike. pixels: (T, H, W)
    probabilities. regions: (total,) those that superpixels have now. blur: standard deviation, in pixels, of the
    Gaussian that smooths the result within each frame; 0 for none.

    >>> superpixels = SuperpixelMap(np.array([[[0, 0, 1]]], np.int32))
    >>> take_to_pixels(superpixels, np.array([[[0.8, 0.4, 0.2]]]), np.array([0.5, 0.2]), blur=0.0).round(2)
    array([[[0.73, 0.31, 0.2 ]]], dtype=float32)
    """
    moves = _logits(regions) - _logits(region_means(superpixels, pixels))
    maps = paint_regions(superpixels, moves.astype(np.float32))
    for moved, own in zip(maps, pixels, strict=True):
        moved[:] = gaussian_filter(expit(_logits(own.astype(np.float32)) + moved), blur)
    return maps


def _logits(probabilities: np.ndarray) -> np.ndarray:
    clipped = np.clip(probabilities, SUREST, 1 - SUREST)
    return np.log(clipped / (1 - clipped))
