"""EEL (Lejeune et al., 2017): boosted stumps under an expected exponential loss of propagated probabilities.

1. Guess: the density of a superpixel's colour under those of the clicked superpixel of its frame that fits it best.
2. Propagate the guess over neighbours that move alike.
3. Boost stumps on deep features; unlabelled superpixels count as both classes, weighed by their propagated probability.

What differs from the original: it had features of a network pretrained on photographs, here they are those of an
autoencoder of the sequence itself. Densities have no upper limit: propagated values are scaled so that half of
the clicked superpixels are certain; all of these belong to the mask whatever their score.

Threshold: the loss's own, f = 0, at which both classes cost the same; as a probability, 1 / (1 + e^-2f) = 0.5.
"""

from dataclasses import dataclass
from itertools import pairwise
from typing import NamedTuple, Protocol

import numpy as np

from fewpoint.core import AreaBound, ImageSequence, Listener, PointSet, Result, SuperpixelMap, ignore
from fewpoint.core.paging import walk
from fewpoint.methods.competitors.flow import estimate_flow, flow_directions
from fewpoint.methods.competitors.frames import to_colours
from fewpoint.methods.competitors.results import ASSUMED_BOUND, describe_probabilities
from fewpoint.methods.competitors.settings import LINKS, BoostingSettings, EelSettings, PropagationSettings
from fewpoint.superpixels.intensity import window_of
from fewpoint.superpixels.regions import (
    frame_of_region,
    paint_regions,
    region_centroids,
    region_means,
    regions_at_points,
)
from fewpoint.superpixels.slic import segment_frames

RIDGE = 1e-4  # added to colour variances (Lab / 100), that of a step of one unit of lightness


@dataclass(frozen=True)
class Eel:
    """device: auto, cpu, cuda or mps, for the autoencoder."""

    settings: EelSettings = EelSettings()
    device: str = "auto"
    listener: Listener = ignore
    name: str = "eel"

    def segment(self, sequence: ImageSequence, points: PointSet, bound: AreaBound | None, *, seed: int) -> Result:
        from fewpoint.learning.devices import choose_device
        from fewpoint.methods.competitors.autoencoder import learn_features  # loads torch

        points.check_inside(len(sequence), sequence.size)
        settings = self.settings
        superpixels = segment_frames(sequence, settings.superpixels, self.listener)
        positive = np.zeros(superpixels.total, bool)
        positive[regions_at_points(superpixels, points)] = True
        guess = guess_probabilities(sequence, superpixels, positive)
        directions = flow_directions(superpixels, estimate_flow(sequence))
        affinity = build_affinity(superpixels, directions, settings.propagation)
        expected = calibrate(propagate(guess, affinity, settings.propagation), positive)
        features = learn_features(
            sequence, superpixels, settings.autoencoder, seed=seed, device=choose_device(self.device)
        )
        scores = boost(features, positive, expected, settings.boosting, np.random.default_rng(seed))
        probabilities = np.where(positive, 1.0, 1 / (1 + np.exp(-2 * np.clip(scores, -20, 20))))
        return describe_probabilities(
            paint_regions(superpixels, probabilities), sequence, points, bound or ASSUMED_BOUND
        )


class Affinity(Protocol):
    """(total, total) weights, sparse or not."""

    def __matmul__(self, values: np.ndarray, /) -> np.ndarray: ...


def guess_probabilities(sequence: ImageSequence, superpixels: SuperpixelMap, positive: np.ndarray) -> np.ndarray:
    """(total,) density of a superpixel's mean colour under the colours of a superpixel that was clicked on its frame.

    Of several clicked superpixels the one that gives the most counts. 0 on frames without a click.
    """
    window = window_of(sequence)
    colours = np.stack([to_colours(window.apply(frame)) for frame in walk(sequence.frames)])
    means = np.stack([region_means(superpixels, colours[..., channel]) for channel in range(colours.shape[-1])], axis=1)
    frames, best = frame_of_region(superpixels), np.zeros(superpixels.total)
    for region in np.flatnonzero(positive):
        frame = frames[region]
        own = superpixels.on_frame(frame)
        pixels = colours[frame][superpixels.global_labels(frame) == region]
        best[own] = np.maximum(best[own], colour_density(means[own], pixels))
    return best


def colour_density(means: np.ndarray, pixels: np.ndarray) -> np.ndarray:
    """(N,) density of (N, C) colours under the Gaussian N(m, S) of (P, C) pixels.

    exp(-(x - m)' S^-1 (x - m) / 2) / sqrt(det(2 pi S))
    """
    covariance = np.cov(pixels.T, bias=True).reshape(pixels.shape[1], -1) + RIDGE * np.eye(pixels.shape[1])
    differences = means - pixels.mean(axis=0)
    squares = (differences @ np.linalg.inv(covariance) * differences).sum(axis=1)
    return np.exp(-0.5 * squares) / np.sqrt(np.linalg.det(2 * np.pi * covariance))


def build_affinity(superpixels: SuperpixelMap, directions: np.ndarray, settings: PropagationSettings) -> Affinity:
    """(total, total) sparse weights of neighbours on the same and the next frames: D^-1/2 A D^-1/2, D the sums of A.

    A = exp(-dtheta^2 / 2 s_a^2) exp(-d^2 / 2 s_d^2) of flow directions and centre distances, zero beyond s_d. Both
    sides are divided as in the propagation of Zhou et al. (2004), so that what is given equals what is taken.
    """
    from scipy.sparse import coo_array, diags_array
    from scipy.spatial import cKDTree  # pyright: ignore[reportAttributeAccessIssue] - compiled, without a stub

    centroids, offsets = region_centroids(superpixels), superpixels.offsets
    reach = settings.reach * max(superpixels.labels.shape[1:])
    trees = [cKDTree(centroids[first:last]) for first, last in pairwise(offsets)]
    rows, columns, weights = [], [], []
    for frame, tree in enumerate(trees):
        for other in (frame + step for step in LINKS[settings.links] if 0 <= frame + step < len(trees)):
            near = tree.sparse_distance_matrix(trees[other], reach, output_type="ndarray")
            first, second = near["i"] + offsets[frame], near["j"] + offsets[other]
            turn = np.angle(np.exp(1j * (directions[first] - directions[second])))
            rows.append(first)
            columns.append(second)
            weights.append(np.exp(-0.5 * (turn / settings.angle) ** 2 - 0.5 * (near["v"] / reach) ** 2))
    nothing = [np.empty(0, np.int64)]  # of a lone frame, linked across
    places = (np.concatenate(nothing + rows), np.concatenate(nothing + columns))
    affinity = coo_array((np.concatenate(nothing + weights), places), shape=(superpixels.total,) * 2).tocsr()
    affinity.setdiag(0)
    scales = diags_array(1 / np.sqrt(np.maximum(np.asarray(affinity.sum(axis=1)).ravel(), 1e-12)))
    return scales @ affinity @ scales


def propagate(guess: np.ndarray, affinity: Affinity, settings: PropagationSettings) -> np.ndarray:
    """(total,) P after some steps of P <- alpha W P + (1 - alpha) P0, from P = P0.

    >>> swap = np.array([[0.0, 1.0], [1.0, 0.0]])
    >>> propagate(np.array([1.0, 0.0]), swap, PropagationSettings(steps=1, keep=0.75)).tolist()
    [0.25, 0.75]
    """
    probabilities = guess
    for _ in range(settings.steps):
        probabilities = settings.keep * (affinity @ probabilities) + (1 - settings.keep) * guess
    return probabilities


def calibrate(expected: np.ndarray, positive: np.ndarray) -> np.ndarray:
    """(total,) propagated values as probabilities, scaled so that clicked superpixels, which are sure, have median 1.

    Neither densities nor propagation have a scale of their own. The median, since a clicked superpixel of one colour
    has a density many times that of others, which would decide a mean alone.

    >>> calibrate(np.array([0.4, 0.6, 0.1, 0.8]), np.array([True, True, False, False])).tolist()
    [0.8, 1.0, 0.2, 1.0]
    """
    return np.clip(expected / max(float(np.median(expected[positive])), 1e-12), 0, 1)


def boost(
    features: np.ndarray,
    positive: np.ndarray,
    expected: np.ndarray,
    settings: BoostingSettings,
    rng: np.random.Generator,
) -> np.ndarray:
    """(total,) scores f of a sum of stumps that lowers sum_P e^-f + sum_U (eps e^-f + (1 - eps) e^f) round by round.

    All positives and a share of the unlabelled are learnt from; eps is the expected probability, 1 for positives.
    """
    unlabelled = np.flatnonzero(~positive)
    count = min(len(unlabelled), max(1, round(settings.unlabelled * len(unlabelled))))
    drawn = rng.choice(unlabelled, count, replace=False)
    chosen = np.sort(np.concatenate([np.flatnonzero(positive), drawn]))
    belief = np.where(positive, 1.0, expected)[chosen]
    splits, scores = Splits.of(features[chosen]), np.zeros(len(features))
    for _ in range(settings.rounds):
        up, down = pull(scores[chosen], belief)
        stump = splits.find_best(up - down)
        above = features[:, stump.feature].astype(np.float64) > stump.threshold  # the midpoint may not be a float32
        for side in (above, ~above):
            own = side[chosen]
            scores[side] += settings.shrinkage * best_step(up[own].sum(), down[own].sum())
    return scores


class Stump(NamedTuple):
    """Separates samples by whether a feature exceeds a threshold; infinite if nothing can be separated."""

    feature: int
    threshold: float


@dataclass(frozen=True, eq=False)
class Splits:
    """Every way to split n samples by one of D features, sorted once for all rounds.

    values: (D, n) ascending. order: (D, n) the samples that have them. weights: (D, n - 1) n / (a b) of a split that
    leaves a samples below and b above, 0 between equal values.
    """

    values: np.ndarray
    order: np.ndarray
    weights: np.ndarray

    @classmethod
    def of(cls, features: np.ndarray) -> "Splits":
        """features: (n, D)."""
        columns = np.ascontiguousarray(features.T)
        order = np.argsort(columns, axis=1, kind="stable")
        values = np.take_along_axis(columns, order, axis=1)
        total, below = len(features), np.arange(1, len(features))
        weights = np.where(values[:, 1:] > values[:, :-1], total / (below * (total - below)), 0)
        return cls(values, order, weights)

    def find_best(self, targets: np.ndarray) -> Stump:
        """The split whose two means fit (n,) targets with the least squared error, halfway between two values.

        With targets less their mean, the error falls by s^2 n / (a b), s their sum below.

        >>> Splits.of(np.array([[7.0, 0.0], [7.0, 1.0], [7.0, 4.0]])).find_best(np.array([-1.0, -1.0, 1.0]))
        Stump(feature=1, threshold=2.5)
        """
        if not self.weights.any():
            return Stump(0, np.inf)
        gains = np.cumsum((targets - targets.mean())[self.order], axis=1)[:, :-1]
        np.square(gains, out=gains)
        gains *= self.weights
        feature, place = divmod(int(gains.argmax()), gains.shape[1])
        lower, upper = self.values[feature, place : place + 2].tolist()
        return Stump(feature, lower + (upper - lower) / 2)


def pull(scores: np.ndarray, belief: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The loss's two terms, eps e^-f and (1 - eps) e^f; their difference is the negative gradient by f."""
    return belief * np.exp(-scores), (1 - belief) * np.exp(scores)


def best_step(up: float, down: float) -> float:
    """The c that makes up e^-c + down e^c smallest, log(up / down) / 2; at most 3 if one of them is nearly 0.

    >>> round(best_step(2.718281828, 1.0), 6)
    0.5
    """
    return float(np.clip(0.5 * (np.log(up + 1e-12) - np.log(down + 1e-12)), -3, 3))


def expected_loss(scores: np.ndarray, positive: np.ndarray, belief: np.ndarray) -> float:
    """sum_P e^-f + sum_U (eps e^-f + (1 - eps) e^f).

    >>> expected_loss(np.zeros(2), np.array([True, False]), np.array([0.0, 0.25]))
    2.0
    """
    up, down = pull(scores, np.where(positive, 1.0, belief))
    return float(up.sum() + down.sum())
