"""Local Fisher discriminant analysis against a slow version, and what it is for."""

import numpy as np

from fewpoint.methods.competitors.discriminant import fit_metric, local_scatters
from fewpoint.methods.competitors.settings import MetricSettings


def scatter_slowly(samples: np.ndarray, positive: np.ndarray, neighbours: int) -> tuple[np.ndarray, np.ndarray]:
    """The definition, pair by pair."""
    total, size = samples.shape
    between, within = np.zeros((size, size)), np.zeros((size, size))
    for i in range(total):
        for j in range(total):
            outer = np.outer(samples[i] - samples[j], samples[i] - samples[j])
            if positive[i] != positive[j]:
                between += outer / (2 * total)
                continue
            own = samples[positive == positive[i]]
            scales = [np.sort(np.linalg.norm(own - samples[k], axis=1))[neighbours] for k in (i, j)]
            affinity = np.exp(-((samples[i] - samples[j]) ** 2).sum() / (scales[0] * scales[1]))
            between += affinity * (1 / total - 1 / len(own)) * outer / 2
            within += affinity / len(own) * outer / 2
    return between, within


def test_scatters_are_those_of_the_slow_version():
    rng = np.random.default_rng(0)
    samples, positive = rng.standard_normal((20, 3)), np.arange(20) < 8
    for found, expected in zip(local_scatters(samples, positive, 5), scatter_slowly(samples, positive, 5), strict=True):
        np.testing.assert_allclose(found, expected, rtol=1e-9)


def test_the_metric_sees_the_feature_that_tells_and_not_the_loud_one():
    rng = np.random.default_rng(0)
    positive = np.arange(200) < 100
    samples = np.stack([positive + 0.1 * rng.standard_normal(200), 10 * rng.standard_normal(200)], axis=1)
    metric = fit_metric(samples, positive, MetricSettings(dimensions=1))
    assert abs(metric[0, 0]) > 50 * abs(metric[1, 0])


def test_positives_are_one_apart_on_average():
    rng = np.random.default_rng(0)
    samples, positive = rng.standard_normal((60, 4)), np.arange(60) < 30
    projected = samples[positive] @ fit_metric(samples, positive, MetricSettings(dimensions=2))
    apart = ((projected[:, None] - projected[None]) ** 2).sum(axis=-1)
    np.testing.assert_allclose(apart.mean(), 1)


def test_few_features_and_few_samples_are_enough():
    assert fit_metric(np.array([[0.0], [0.1], [1.0], [1.1]]), np.arange(4) < 2, MetricSettings()).shape == (1, 1)
