"""Rough probabilities from the image alone, before anything is learnt: what looks like clicked places and lies near.

For a superpixel x on frame t, with l its log-likelihood ratio of looking like clicked superpixels rather than any, n
its nearness in look to the three clicks nearest in time, and d its distance to where clicks suggest that the object is:
  score(x) = LIKELY l + ALIKE n - d^2 / (2 r^2),
with r^2 = SPREAD x bound / pi. Scores are lowered so that a usual share of the bound is at 0 or above.
"""

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from scipy.ndimage import gaussian_filter
from scipy.special import expit

from fewpoint.core import ImageSequence, PointSet, SuperpixelMap
from fewpoint.core.paging import walk
from fewpoint.core.threads import work_ahead
from fewpoint.learning.clicks import mean_places
from fewpoint.superpixels.diffusion import DiffusionSettings
from fewpoint.superpixels.intensity import window_of
from fewpoint.superpixels.regions import channel_means, region_centroids, regions_at_points
from fewpoint.superpixels.sizing import level_of_area
from fewpoint.superpixels.slic import SuperpixelSettings, segment_frames, to_lightness

SUPERPIXELS = SuperpixelSettings(count=500, max_side=160)
DIFFUSION = DiffusionSettings(last_pull=0.1)
BLURS = (2 / 160, 5 / 160)  # of a frame's longer side, for how the surroundings look
LIKELY, ALIKE, SPREAD = 0.3, 0.5, 0.7
SHRINKAGE = 0.3
COMPARED = 3
LEAST_NEARNESS = -8.0
LARGEST_RATIO = 6.0
USUAL_SHARE = 0.3  # of the bound, as a mean over all frames


@dataclass(frozen=True, eq=False)
class RoughLooks:
    """A sequence cut into coarse superpixels, and how each of them looks."""

    sequence: ImageSequence
    superpixels: SuperpixelMap

    @classmethod
    def of(cls, sequence: ImageSequence) -> "RoughLooks":
        return cls(sequence, segment_frames(sequence, SUPERPIXELS))

    def prepare(self) -> None:
        """Find out now what the first answer would find out else."""
        _ = self.places, self.precision

    @cached_property
    def places(self) -> np.ndarray:
        return region_centroids(self.superpixels)

    @cached_property
    def looks(self) -> np.ndarray:
        """(total, D) standardised: mean and deviation of the colour, and the mean colour of the surroundings."""
        window, sides = window_of(self.sequence), max(self.sequence.size)

        def measure(frame: np.ndarray, labels: np.ndarray) -> np.ndarray:
            colours = to_lightness(window.apply(frame)) / 100
            around = [gaussian_filter(colours, (blur * sides, blur * sides, 0)) for blur in BLURS]
            return channel_means(labels, np.concatenate([colours, colours**2, *around], axis=-1))

        means = np.concatenate(list(work_ahead(measure, walk(self.sequence.frames), walk(self.superpixels.labels))))
        count = self.sequence.shape[-1]
        means[:, count : 2 * count] = np.sqrt(np.maximum(means[:, count : 2 * count] - means[:, :count] ** 2, 0))
        return (means - means.mean(0)) / (means.std(0) + 1e-6)

    @cached_property
    def precision(self) -> np.ndarray:
        """(D, D) inverse of the looks' covariance, shrunk towards the identity."""
        covariance = self.looks.T @ self.looks / len(self.looks)
        return np.linalg.inv(covariance + SHRINKAGE * np.eye(len(covariance)))


def guess(rough: RoughLooks, points: PointSet, areas: np.ndarray, frames: np.ndarray, bound: float) -> np.ndarray:
    """(total,) rough probabilities of one object. areas, frames: (total,) of the regions. bound: share of a frame."""
    clicked = regions_at_points(rough.superpixels, points)
    scores = LIKELY * _likeliness(rough, clicked) + ALIKE * _likeness(rough, clicked, frames)
    scores += _nearness(rough, points, frames, bound)
    return expit(scores - level_of_area(scores, areas, USUAL_SHARE * bound * areas.sum()))


def _likeliness(rough: RoughLooks, clicked: np.ndarray) -> np.ndarray:
    """(total,) log-likelihood ratio of the discriminant between clicked superpixels and all."""
    chosen = np.unique(clicked)
    values = rough.looks @ (rough.precision @ rough.looks[chosen].mean(0))
    usual, spread = values.mean(), values.std() + 1e-6
    own, own_spread = values[chosen].mean(), values[chosen].std() + 0.3 * spread
    ratios = _log_density(values, own, own_spread) - _log_density(values, usual, spread)
    return np.clip(ratios, -LARGEST_RATIO, LARGEST_RATIO)


def _likeness(rough: RoughLooks, clicked: np.ndarray, frames: np.ndarray) -> np.ndarray:
    """(total,) nearness in look to the clicks nearest in time, in standard deviations from its median."""
    white = rough.looks @ np.linalg.cholesky(rough.precision)
    nearness = np.empty(len(frames))
    for frame in range(len(rough.superpixels.counts)):
        nearest = clicked[np.argsort(np.abs(frames[clicked] - frame), kind="stable")[:COMPARED]]
        here = np.flatnonzero(frames == frame)
        nearness[here] = -((white[here][:, np.newaxis] - white[nearest]) ** 2).sum(-1).min(1)
    return (nearness - np.median(nearness)) / (nearness.std() + 1e-6)


def _nearness(rough: RoughLooks, points: PointSet, frames: np.ndarray, bound: float) -> np.ndarray:
    """(total,) minus the squared distance to where clicks, interpolated in time, lead one to expect the object."""
    height, width = rough.sequence.size
    known, places = mean_places(points)
    times = np.arange(len(rough.superpixels.counts))
    expected = np.stack([np.interp(times, known, places[:, axis]) for axis in (0, 1)], axis=1)
    squares = ((rough.places - expected[frames]) ** 2).sum(1)
    return np.maximum(-squares / (2 * SPREAD * bound * height * width / np.pi), LEAST_NEARNESS)


def _log_density(values: np.ndarray, mean: float, deviation: float) -> np.ndarray:
    """Of a Gaussian, but for a constant."""
    return -0.5 * ((values - mean) / deviation) ** 2 - np.log(deviation)
