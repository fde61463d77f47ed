"""Probabilities that mean what they say, and that masks can be cut from again.

Networks are averaged and what they say is evened out between neighbouring superpixels, which leaves probabilities
closer to 0.5 than they need be: of the pixels given 0.2, hardly any are the object. Squared odds were about right on
the development sequences, and leave 0.5, at which masks are cut, where it is; `benchmarks/health.py` measures it.
"""

from dataclasses import replace

import numpy as np

from fewpoint.core import ObjectResult, ProbabilityMaps
from fewpoint.core.paging import gather_frames, walk

CUT = 0.5  # a pixel belongs to the mask from this probability on
BELOW = np.nextafter(np.float16(CUT), np.float16(0))


def calibrate(found: ObjectResult) -> ObjectResult:
    """What was found of an object, with probabilities of squared odds that are CUT or above in the mask alone.

    Words that are obeyed to the letter, specks and pinholes, and pixels that another object won, are what masks and
    probabilities may differ in.
    """
    values = found.probabilities.values
    frames = (agree(sharpen(frame), mask) for frame, mask in zip(walk(values), walk(found.masks), strict=True))
    return replace(found, probabilities=ProbabilityMaps(gather_frames(frames, values.shape, np.float16)))


def sharpen(probability: np.ndarray) -> np.ndarray:
    """Probabilities whose odds are the squares of those given.

    >>> sharpen(np.array([0.0, 0.25, 0.5, 1.0])).tolist()
    [0.0, 0.1, 0.5, 1.0]
    """
    likely = np.asarray(probability, np.float64 if probability.dtype == np.float64 else np.float32) ** 2
    unlikely = (1 - np.asarray(probability, likely.dtype)) ** 2
    return likely / (likely + unlikely)


def agree(probability: np.ndarray, mask: np.ndarray) -> np.ndarray:
    """(H, W) probabilities as halves, at least CUT in the mask and below it elsewhere.

    >>> agree(np.array([[0.9, 0.9, 0.1]]), np.array([[True, False, True]])).round(2).tolist()
    [[0.89990234375, 0.5, 0.5]]
    """
    halves = probability.astype(np.float16)
    return np.where(mask, np.maximum(halves, np.float16(CUT)), np.minimum(halves, BELOW))
