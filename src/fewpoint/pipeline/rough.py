"""Rough probabilities from the image alone, before anything is learnt: what looks like clicked places and lies near.

For a superpixel x on frame t, with l its log-likelihood ratio of looking like clicked superpixels rather than any, n
its nearness in look to the three clicks nearest in time, and d its distance to where clicks suggest that the object is:
  score(x) = LIKELY l + ALIKE n - d^2 / (2 r^2),
with r^2 = SPREAD x bound / pi. Scores are lowered so that a usual share of the bound is at 0 or above.

Looks are colours. Those who have a pretrained model give its features, too, and l and n of these are added. All is
closed-form, so that a click is answered on all frames at once.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from scipy.ndimage import gaussian_filter
from scipy.sparse import csr_array
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
FEATURES_LIKELY, FEATURES_ALIKE = 1.0, 1.0
SHRINKAGE, FEATURES_SHRINKAGE = 0.3, 1.0
MOST_FEATURES = 64  # directions in which features vary most
COMPARED = 3
LEAST_NEARNESS = -8.0
LARGEST_RATIO = 6.0
USUAL_SHARE = 0.3  # of the bound, as a mean over all frames


@dataclass(frozen=True, eq=False)
class Looks:
    """values: (total, D) how each superpixel looks, of about unit variance. shrinkage: of their covariance."""

    values: np.ndarray
    shrinkage: float

    @cached_property
    def precision(self) -> np.ndarray:
        """(D, D) inverse of the looks' covariance, shrunk towards the identity."""
        covariance = self.values.T @ self.values / len(self.values)
        return np.linalg.inv(covariance + self.shrinkage * np.eye(len(covariance)))


@dataclass(frozen=True, eq=False)
class RoughLooks:
    """A sequence cut into coarse superpixels, and how each of them looks."""

    sequence: ImageSequence
    superpixels: SuperpixelMap
    features: Looks | None = None

    @classmethod
    def of(cls, sequence: ImageSequence, features: Sequence[np.ndarray] = ()) -> "RoughLooks":
        """features: (h, w, D) of each frame, of equal parts of it; nothing if only colours are known."""
        superpixels = segment_frames(sequence, SUPERPIXELS)
        if not features:
            return cls(sequence, superpixels)
        means = [mean_features(*each) for each in zip(superpixels.labels, features, strict=True)]
        return cls(sequence, superpixels, Looks(reduce_features(np.concatenate(means)), FEATURES_SHRINKAGE))

    def prepare(self) -> None:
        """Find out now what the first answer would find out else."""
        _ = self.places, self.looks.precision, self.features and self.features.precision

    @cached_property
    def places(self) -> np.ndarray:
        return region_centroids(self.superpixels)

    @cached_property
    def looks(self) -> Looks:
        """Standardised: mean and deviation of the colour, and the mean colour of the surroundings."""
        window, sides = window_of(self.sequence), max(self.sequence.size)

        def measure(frame: np.ndarray, labels: np.ndarray) -> np.ndarray:
            colours = to_lightness(window.apply(frame)) / 100
            around = [gaussian_filter(colours, (blur * sides, blur * sides, 0)) for blur in BLURS]
            return channel_means(labels, np.concatenate([colours, colours**2, *around], axis=-1))

        means = np.concatenate(list(work_ahead(measure, walk(self.sequence.frames), walk(self.superpixels.labels))))
        count = self.sequence.shape[-1]
        means[:, count : 2 * count] = np.sqrt(np.maximum(means[:, count : 2 * count] - means[:, :count] ** 2, 0))
        return Looks((means - means.mean(0)) / (means.std(0) + 1e-6), SHRINKAGE)


def mean_features(labels: np.ndarray, features: np.ndarray) -> np.ndarray:
    """(regions, D) mean over the pixels of each region of a frame (H, W) of (h, w, D) features, bilinear between parts.

    >>> mean_features(np.array([[0, 0, 1, 1]]), np.array([[[1.0], [3.0]]])).ravel().tolist()
    [1.25, 2.75]
    """
    rows, columns = (_between(size, parts) for size, parts in zip(labels.shape, features.shape[:2], strict=True))
    flat, shape = features.reshape(-1, features.shape[-1]), (int(labels.max()) + 1, features[..., 0].size)
    sums = np.zeros((shape[0], flat.shape[1]))
    for row, row_weight in rows:
        for column, column_weight in columns:
            cells = row[:, np.newaxis] * features.shape[1] + column
            weights = (row_weight[:, np.newaxis] * column_weight).ravel()
            sums += csr_array((weights, (labels.ravel(), cells.ravel())), shape=shape) @ flat
    return sums / np.maximum(np.bincount(labels.ravel()), 1)[:, np.newaxis]


def reduce_features(features: np.ndarray) -> np.ndarray:
    """(total, d) of (total, D) features: the directions in which they vary most, of unit variance on average."""
    centred = features - features.mean(0)
    _, vectors = np.linalg.eigh(centred.T @ centred / len(centred))
    reduced = centred @ vectors[:, -MOST_FEATURES:]
    return reduced / (np.sqrt((reduced**2).mean()) + 1e-9)


def _between(size: int, parts: int) -> list[tuple[np.ndarray, np.ndarray]]:
    """For each of `size` pixels the two of `parts` nearest to it, each with its weight."""
    places = np.clip((np.arange(size) + 0.5) * parts / size - 0.5, 0, parts - 1)
    first = np.minimum(places.astype(int), max(parts - 2, 0))
    return [(first, 1 - (places - first)), (np.minimum(first + 1, parts - 1), places - first)]


def guess(rough: RoughLooks, points: PointSet, areas: np.ndarray, frames: np.ndarray, bound: float) -> np.ndarray:
    """(total,) rough probabilities of one object. areas, frames: (total,) of the regions. bound: share of a frame."""
    clicked = regions_at_points(rough.superpixels, points)
    scores = LIKELY * _likeliness(rough.looks, clicked) + ALIKE * _likeness(rough.looks, clicked, frames)
    if rough.features is not None:
        scores += FEATURES_LIKELY * _likeliness(rough.features, clicked)
        scores += FEATURES_ALIKE * _likeness(rough.features, clicked, frames)
    scores += _nearness(rough, points, frames, bound)
    return expit(scores - level_of_area(scores, areas, USUAL_SHARE * bound * areas.sum()))


def _likeliness(looks: Looks, clicked: np.ndarray) -> np.ndarray:
    """(total,) log-likelihood ratio of the discriminant between clicked superpixels and all."""
    chosen = np.unique(clicked)
    values = looks.values @ (looks.precision @ looks.values[chosen].mean(0))
    usual, spread = values.mean(), values.std() + 1e-6
    own, own_spread = values[chosen].mean(), values[chosen].std() + 0.3 * spread
    ratios = _log_density(values, own, own_spread) - _log_density(values, usual, spread)
    return np.clip(ratios, -LARGEST_RATIO, LARGEST_RATIO)


def _likeness(looks: Looks, clicked: np.ndarray, frames: np.ndarray) -> np.ndarray:
    """(total,) nearness in look to the clicks nearest in time, in standard deviations from its median."""
    white = looks.values @ np.linalg.cholesky(looks.precision)
    nearness = np.empty(len(frames))
    ends = np.searchsorted(frames, np.arange(int(frames[-1]) + 2))
    for frame, here in enumerate(map(slice, ends[:-1], ends[1:])):
        nearest = clicked[np.argsort(np.abs(frames[clicked] - frame), kind="stable")[:COMPARED]]
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
