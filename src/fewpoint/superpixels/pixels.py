"""Masks cut pixel by pixel: superpixels say what belongs together, pixels where the outline runs."""

import numpy as np
from scipy.ndimage import gaussian_filter

from fewpoint.core import SuperpixelMap
from fewpoint.superpixels.regions import paint_regions

SUREST = 1e-4  # probabilities are kept this far from 0 and 1, where their logits have no end


def sum_logits(superpixels: SuperpixelMap, pixels: np.ndarray, regions: np.ndarray, blur: float) -> np.ndarray:
    """(T, H, W) float32: the logit of each pixel and that of its superpixel together; the mask is where they reach 0.

    pixels: (T, H, W) probabilities. regions: (total,) probabilities. blur: standard deviation, in pixels, of the
    Gaussian that the sum is smoothed by, within each frame; 0 for none.

    >>> superpixels = SuperpixelMap(np.array([[[0, 0, 1]]], np.int32))
    >>> sum_logits(superpixels, np.array([[[0.9, 0.2, 0.2]]]), np.array([0.7, 0.1]), blur=0.0).round(2).tolist()
    [[[3.04, -0.54, -3.58]]]
    """
    sums = paint_regions(superpixels, _logits(regions).astype(np.float32))
    for shared, own in zip(sums, pixels, strict=True):
        shared[:] = gaussian_filter(_logits(own.astype(np.float32)) + shared, blur)
    return sums


def _logits(probabilities: np.ndarray) -> np.ndarray:
    clipped = np.clip(probabilities, SUREST, 1 - SUREST)
    return np.log(clipped / (1 - clipped))
