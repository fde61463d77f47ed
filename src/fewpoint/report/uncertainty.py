"""Which frames a person should look at first, judged without the truth."""

from dataclasses import dataclass, replace

import numpy as np

from fewpoint.core import Result
from fewpoint.core.paging import walk

SMALLEST_SHARE_OF_MEAN = 0.1


@dataclass(frozen=True)
class FrameUncertainty:
    """How doubtful the mask of one frame is.

    uncertainty: in [0, 1], relative to the object's own size. worth: in [0, 1], how much a look at the frame is worth,
    relative to the frame where it is worth most. mask_share, prior: shares of the frame that are masked and expected;
    prior may be NaN.
    """

    frame: int
    name: str
    uncertainty: float
    mask_share: float
    prior: float
    worth: float = 0.0


def rank_frames(segmentation: Result) -> tuple[FrameUncertainty, ...]:
    """Order the frames by how much a look at them is worth, without the truth.

    Frame t has N pixels, mask M, probabilities p and prior pi. Let A = max(|M|, pi N, a tenth of the mean mask, 1) be
    the object's area in pixels, and R the mask and the A most probable pixels outside it. With the binary entropy
    h(p) = -p log2(p) - (1 - p) log2(1 - p),

        E = mean of h(p) over R          how undecided the network is in and round the object
        D = ||M| - pi N| / A             how far the mask is from the area that was expected
        uncertainty = 1 - (1 - E)(1 - D) one of the two suffices

    All areas are relative to the object, so that small objects count as much as large ones, down to a tenth of the
    mean mask: below it, single pixels would decide where the object is absent. If the prior is NaN, D = 0.

    What a look is worth is about how many pixels may be put right: W = sqrt(|M| sum min(p, 1 - p)), divided by its
    largest. `fewpoint bench` counts how often the frame suggested is among the worst fifth.
    """
    masks, areas = segmentation.masks, segmentation.areas
    smallest = max(1.0, SMALLEST_SHARE_OF_MEAN * areas.mean())
    pixels = masks[0].size
    ranked = []
    maps = zip(walk(masks), walk(segmentation.probabilities.values), strict=True)
    for frame, (mask, probability) in enumerate(maps):
        prior = float(segmentation.priors.mean[frame])
        expected = prior * pixels if np.isfinite(prior) else float(areas[frame])
        area = max(areas[frame], expected, smallest)
        undecided = measure_indecision(probability, mask, int(np.ceil(area)))
        disagreement = abs(areas[frame] - expected) / area
        uncertainty = 1 - (1 - undecided) * (1 - disagreement)
        name, share = segmentation.names[frame], float(areas[frame] / pixels)
        worth = _count_doubtful(probability, float(areas[frame]))
        ranked.append(FrameUncertainty(frame, name, float(uncertainty), share, prior, worth))
    largest = max(entry.worth for entry in ranked) or 1.0
    ranked = [replace(entry, worth=entry.worth / largest) for entry in ranked]
    return tuple(sorted(ranked, key=lambda entry: (-entry.worth, -entry.uncertainty, entry.frame)))


def _count_doubtful(probability: np.ndarray, area: float) -> float:
    """About how many pixels of a frame may be wrong: sqrt(area x sum of min(p, 1 - p))."""
    values = probability.astype(np.float32)
    return float(np.sqrt(area * np.minimum(values, 1 - values).sum()))


def measure_indecision(probability: np.ndarray, mask: np.ndarray, outside: int) -> float:
    """Mean binary entropy in bits over a (H, W) mask and so many of the most probable pixels outside it.

    >>> measure_indecision(np.array([[1.0, 0.5, 0.0, 0.0]]), np.array([[True, False, False, False]]), 1)
    0.5
    """
    probability = probability.astype(np.float32)  # halves are slow to sort
    beyond = probability[~mask]
    outside = min(outside, len(beyond))
    likely = np.partition(beyond, len(beyond) - outside)[len(beyond) - outside :] if outside else beyond
    return float(binary_entropy(np.concatenate([probability[mask], likely])).mean())


def binary_entropy(probability: np.ndarray) -> np.ndarray:
    """Entropy in bits of a yes-no question answered yes with the given probability.

    >>> binary_entropy(np.array([0.0, 0.5, 1.0])).tolist()
    [0.0, 1.0, 0.0]
    """
    entropy = np.zeros(probability.shape)
    inside = (probability > 0) & (probability < 1)
    p = probability[inside].astype(np.float64)
    entropy[inside] = -p * np.log2(p) - (1 - p) * np.log2(1 - p)
    return entropy
