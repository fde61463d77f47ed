"""What a person says about single places, carried over to what is like them: the smallest change that obeys every word.

Scores of regions are changed by a function f of place, time and look that is as small as possible, in the norm of a
kernel k, while every labelled region ends on its side of zero:
  minimise |f|_k  subject to  y_i (s_i + f_i) >= m_i,
where s are the scores, y = 1 for the object and -1 otherwise. Labels that the scores already obey only hold their side.
"""

from dataclasses import dataclass

import numpy as np
from scipy.ndimage import gaussian_filter

from fewpoint.core import ImageSequence, SuperpixelMap
from fewpoint.core.paging import walk
from fewpoint.core.threads import work_ahead
from fewpoint.superpixels.intensity import window_of
from fewpoint.superpixels.regions import channel_means, frame_of_region, region_centroids

LARGEST_PULL = 1.0  # of a label on the level of all scores
MARGIN = 1.0  # by which a label that was contradicted is obeyed
LENGTH = 0.5  # of the kernel in space, in radii of the object
FRAMES = 8.0  # of the kernel in time
LOOK = 0.7  # of the kernel in look, in standard deviations per feature
ANYWHERE = 0.1  # weight of the kernel that ignores place and time
ANYWHERE_LOOK = 0.3  # its length in look: only what looks just the same
BLUR = 3 / 160  # of a frame's longer side, for how the surroundings look
MOST_STRENGTH = 50.0
SWEEPS = 300
TOLERANCE = 1e-3
AT_ONCE = 20_000
RIDGE = 1e-3
SHRINKAGE = 0.1


@dataclass(frozen=True, eq=False)
class RegionTraits:
    """Where regions are and how they look.

    places: (total, 2) y and x in pixels. frames: (total,). looks: (total, D), uncorrelated and of about unit variance.
    """

    places: np.ndarray
    frames: np.ndarray
    looks: np.ndarray

    def compare(self, some: np.ndarray, others: np.ndarray, radius: float) -> np.ndarray:
        """(A, B) kernel between regions, given by their indices. radius: of the object in pixels."""
        apart = _squares(self.places[some], self.places[others]) / (LENGTH * radius) ** 2
        apart += ((self.frames[some][:, np.newaxis] - self.frames[others]) / FRAMES) ** 2
        unlike = _squares(self.looks[some], self.looks[others]) / self.looks.shape[1]
        nearby = np.exp(-0.5 * (apart + unlike / LOOK**2))
        alike = ANYWHERE * np.exp(-0.5 * unlike / ANYWHERE_LOOK**2)
        return nearby + alike


def describe_regions(sequence: ImageSequence, superpixels: SuperpixelMap) -> RegionTraits:
    """Traits of all regions: their mean colour, and that of their surroundings."""
    window = window_of(sequence)
    blur = BLUR * max(sequence.size)

    def measure(frame: np.ndarray, labels: np.ndarray) -> np.ndarray:
        colours = window.apply(frame)
        around = gaussian_filter(colours, (blur, blur, 0))
        return channel_means(labels, np.concatenate([colours, around], axis=-1))

    features = np.concatenate(list(work_ahead(measure, walk(sequence.frames), walk(superpixels.labels))))
    return RegionTraits(region_centroids(superpixels), frame_of_region(superpixels), _whiten(features))


def find_shift(positive: np.ndarray, negative: np.ndarray, doubt: float) -> float:
    """By how much all scores are too high, going by those of labelled regions that they contradict.

    positive, negative: scores of regions on the object and beside it. doubt: about its size, see AreaBound: the
    deviation of what is looked for, in units of the scores. A label pulls by as much as it is contradicted, 1 at most:
    one that is far off says that something else is there, and not how large the object is.

    >>> find_shift(np.array([2.0]), np.array([0.5]), doubt=1.0)  # half of what the label asks for
    0.25
    >>> find_shift(np.array([-0.5, 2.0]), np.array([0.5]), doubt=1.0), find_shift(np.zeros(1), np.ones(1), doubt=0.0)
    (0.0, 0.0)
    """
    if doubt == 0:
        return 0.0

    def pull(shift: float) -> float:
        up, down = (np.clip(own, 0, LARGEST_PULL).sum() for own in (negative - shift, shift - positive))
        return shift / doubt**2 + down - up

    furthest = doubt**2 * LARGEST_PULL * max(len(positive), len(negative), 1)
    bends = [positive, positive + LARGEST_PULL, negative, negative - LARGEST_PULL, [-furthest, furthest]]
    shifts = np.sort(np.concatenate(bends))  # between two of them the pull is a straight line, and it always rises
    return float(np.interp(0.0, [pull(shift) for shift in shifts], shifts))


def find_change(
    traits: RegionTraits, scores: np.ndarray, positive: np.ndarray, negative: np.ndarray, radius: float
) -> np.ndarray:
    """(total,) the smallest change of the scores that puts the positive regions above zero and the negative ones below.

    positive, negative: indices of labelled regions, each once. radius: of the object in pixels. 0 everywhere if no
    label is contradicted.
    """
    labelled = np.concatenate([positive, negative])
    sides = np.repeat([1.0, -1.0], [len(positive), len(negative)])
    own = sides * scores[labelled]
    if not (own < 0).any():
        return np.zeros(len(scores))
    kernel = traits.compare(labelled, labelled, radius) + RIDGE * np.eye(len(labelled))
    strengths = sides * _solve(kernel * np.outer(sides, sides), own, np.where(own < 0, MARGIN, np.minimum(own, MARGIN)))
    active = np.flatnonzero(strengths)
    pieces = [
        traits.compare(np.arange(start, min(start + AT_ONCE, len(scores))), labelled[active], radius)
        @ strengths[active]
        for start in range(0, len(scores), AT_ONCE)
    ]
    return np.concatenate(pieces)


def _solve(kernel: np.ndarray, own: np.ndarray, margins: np.ndarray) -> np.ndarray:
    """(n,) multipliers of the constraints own + kernel @ multipliers >= margins, by coordinate ascent."""
    multipliers, slack = np.zeros(len(own)), own - margins
    for _ in range(SWEEPS):
        largest = 0.0
        for index in range(len(own)):
            curvature = kernel[index, index]
            step = np.clip(multipliers[index] - slack[index] / curvature, 0, MOST_STRENGTH) - multipliers[index]
            if step:
                multipliers[index] += step
                slack += kernel[index] * step
                largest = max(largest, abs(step) * curvature)
        if largest < TOLERANCE:
            break
    return multipliers


def _squares(some: np.ndarray, others: np.ndarray) -> np.ndarray:
    """(A, B) squared distances between rows."""
    sums = (some**2).sum(1)[:, np.newaxis] + (others**2).sum(1)
    return np.maximum(sums - 2 * some @ others.T, 0)


def _whiten(features: np.ndarray) -> np.ndarray:
    """Features without correlation and, but for those that hardly vary, of unit variance."""
    standard = (features - features.mean(0)) / (features.std(0) + 1e-6)
    covariance = standard.T @ standard / len(standard) + SHRINKAGE * np.eye(standard.shape[1])
    values, vectors = np.linalg.eigh(covariance)
    return standard @ vectors / np.sqrt(values)
