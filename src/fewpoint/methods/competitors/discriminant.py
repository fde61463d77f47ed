"""Local Fisher discriminant analysis (Sugiyama, 2007): it separates classes and keeps neighbours close."""

import numpy as np

from fewpoint.methods.competitors.settings import MetricSettings

RIDGE = 1e-3


def fit_metric(samples: np.ndarray, positive: np.ndarray, settings: MetricSettings) -> np.ndarray:
    """(D, d) float64 projection V of (N, D) samples in two classes; |(a - b) V|^2 is 1 on average among positives.

    V solves S_between v = lambda S_within v for the largest lambda. The scale is free in the analysis; fixing it by
    the positives makes exp(-|(a - b) V|^2) a likelihood that two superpixels both belong to the object.
    """
    from scipy.linalg import eigh

    scales = np.maximum(samples.std(axis=0), 1e-9)  # or a large feature would drown the others in ridge and affinities
    samples = samples / scales
    between, within = local_scatters(samples, positive, settings.neighbours)
    size = len(within)
    within = within + RIDGE * max(np.trace(within) / size, 1e-12) * np.eye(size)
    dimensions = min(settings.dimensions, size)
    _, vectors = eigh(between, within, subset_by_index=(size - dimensions, size - 1))
    projected = samples[positive] @ vectors
    # The mean squared distance of two draws is twice the total variance.
    spread = 2 * projected.var(axis=0).sum()
    return vectors / np.sqrt(max(spread, 1e-12)) / scales[:, np.newaxis]


def local_scatters(samples: np.ndarray, positive: np.ndarray, neighbours: int) -> tuple[np.ndarray, np.ndarray]:
    """(D, D) local between- and within-class scatter, 1/2 sum_ij W_ij (x_i - x_j)(x_i - x_j)'.

    Within a class of n_c among n samples, W_between = A (1/n - 1/n_c) and W_within = A / n_c; across classes 1/n and 0.
    A_ij = exp(-|x_i - x_j|^2 / (s_i s_j)), s_i the distance to the k-th nearest neighbour of the same class.
    """
    total = len(samples)
    between, within = np.full((total, total), 1 / total), np.zeros((total, total))
    for members in (np.flatnonzero(positive), np.flatnonzero(~positive)):
        affinity = local_affinity(samples[members], neighbours)
        between[np.ix_(members, members)] = affinity * (1 / total - 1 / len(members))
        within[np.ix_(members, members)] = affinity / len(members)
    return _scatter(samples, between), _scatter(samples, within)


def local_affinity(samples: np.ndarray, neighbours: int) -> np.ndarray:
    """(n, n) affinities of the samples of one class, each scaled by its own neighbourhood."""
    squares = (samples**2).sum(axis=1)
    apart = np.maximum(squares[:, np.newaxis] + squares - 2 * samples @ samples.T, 0)
    np.fill_diagonal(apart, 0)
    place = min(neighbours, len(samples) - 1)
    scales = np.sqrt(np.partition(apart, place, axis=1)[:, place])
    return np.exp(-apart / np.maximum(scales[:, np.newaxis] * scales, 1e-12))


def _scatter(samples: np.ndarray, weights: np.ndarray) -> np.ndarray:
    """1/2 sum_ij W_ij (x_i - x_j)(x_i - x_j)' of symmetric weights, as X' (diag(W 1) - W) X."""
    scatter = samples.T @ (weights.sum(axis=1)[:, np.newaxis] * samples) - samples.T @ weights @ samples
    return (scatter + scatter.T) / 2
