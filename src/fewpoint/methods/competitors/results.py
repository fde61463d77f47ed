"""What a competitor returns: a full result from whatever it found."""

import numpy as np

from fewpoint.core import AreaBound, ImageSequence, PointSet, PriorEstimate, PriorHistory, ProbabilityMaps, Result

ASSUMED_BOUND = AreaBound(0.1, "assumed to be a tenth of a frame, as none was given")


def describe_masks(masks: np.ndarray, sequence: ImageSequence, bound: AreaBound) -> Result:
    """A result of (T, H, W) bool masks alone: probabilities 0 and 1, priors the masks' own shares, no history."""
    return _assemble(masks, masks.astype(np.float32), sequence, bound)


def describe_choice(
    masks: np.ndarray, probabilities: np.ndarray, sequence: ImageSequence, points: PointSet, bound: AreaBound
) -> Result:
    """A result of (T, H, W) masks chosen by more than their probabilities; nothing on frames marked absent."""
    masks, values = masks.copy(), np.clip(probabilities, 0, 1).astype(np.float32)
    masks[list(points.absent)] = False
    values[list(points.absent)] = 0
    return _assemble(masks, values, sequence, bound)


def describe_probabilities(
    probabilities: np.ndarray, sequence: ImageSequence, points: PointSet, bound: AreaBound
) -> Result:
    """A result of (T, H, W) probabilities: masks from 0.5 on, nothing on frames marked absent."""
    values = np.clip(probabilities, 0, 1).astype(np.float32)
    values[list(points.absent)] = 0
    return _assemble(values >= 0.5, values, sequence, bound)


def _assemble(masks: np.ndarray, probabilities: np.ndarray, sequence: ImageSequence, bound: AreaBound) -> Result:
    shares = masks.mean(axis=(1, 2))
    observed = probabilities.mean(axis=(1, 2), dtype=np.float64)
    return Result.single(
        masks,
        ProbabilityMaps(probabilities),
        PriorEstimate(shares, np.abs(shares - observed), observed),
        PriorHistory.empty(len(masks)),
        bound,
        sequence.names,
        sequence.source,
    )
