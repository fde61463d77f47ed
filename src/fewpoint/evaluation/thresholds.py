"""How good masks of given probabilities could be if only the truth told how much of them to take; evaluation only."""

from dataclasses import dataclass

import numpy as np

from fewpoint.core.paging import walk
from fewpoint.errors import InputError

LEVELS = int(np.float16(1).view(np.uint16)) + 1  # float16 from 0 to 1 are as many, in the order of their bits


@dataclass(frozen=True)
class CutScores:
    """F1 over all pixels of the same probabilities, cut in two ways that need the truth.

    one_threshold: at the threshold that is best for the whole sequence. true_sizes: each frame so that its mask has as
    many pixels as the truth; of pixels equally probable, a share is taken.
    """

    one_threshold: float
    true_sizes: float


def score_cuts(probabilities: np.ndarray, truth: np.ndarray) -> CutScores:
    """Cut (T, H, W) probabilities in [0, 1], rounded to float16, and compare with (T, H, W) bool truth.

    >>> probabilities = np.array([[[0.9, 0.8, 0.1]], [[0.3, 0.2, 0.1]]])
    >>> truth = np.array([[[True, True, False]], [[True, False, False]]])
    >>> score_cuts(probabilities, truth)
    CutScores(one_threshold=1.0, true_sizes=1.0)
    """
    if probabilities.shape != truth.shape:
        raise InputError(f"probabilities and truth must have one shape, got {probabilities.shape} and {truth.shape}")
    every, hits, hits_at_size = np.zeros(LEVELS), np.zeros(LEVELS), 0.0
    for frame, mask in zip(walk(probabilities), truth, strict=True):
        levels = np.abs(frame.astype(np.float16)).view(np.uint16)
        counts = [np.cumsum(np.bincount(part.ravel(), minlength=LEVELS)[::-1]) for part in (levels, levels[mask])]
        hits_at_size += _take(*counts)
        every, hits = every + counts[0], hits + counts[1]
    true = hits[-1]
    if true == 0:
        return CutScores(1.0, 1.0)
    return CutScores(float((2 * hits / (every + true)).max()), float(hits_at_size / true))


def _take(every: np.ndarray, hits: np.ndarray) -> float:
    """True pixels among the most probable of a frame, as many as are true.

    every, hits: (LEVELS,) pixels, and true pixels, at a level or above, from the highest level down.
    """
    size = hits[-1]
    if size == 0:
        return 0.0
    level = int(np.searchsorted(every, size))  # the first at which there are enough
    above, hits_above = (each[level - 1] if level else 0 for each in (every, hits))
    share = (size - above) / (every[level] - above)
    return float(hits_above + share * (hits[level] - hits_above))
