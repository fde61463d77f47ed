"""Whether one method scores higher than another on the same sequences: Wilcoxon's signed ranks."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

CONFIDENCE = 0.95


@dataclass(frozen=True)
class Difference:
    """median: of the means of all pairs of differences (Hodges and Lehmann). low, high: its interval by the same ranks,
    None if there are too few differences. p: that signs are random, two-sided; 1 if nothing differs."""

    count: int
    median: float
    low: float | None
    high: float | None
    p: float


def compare(differences: Sequence[float]) -> Difference:
    """Sum up paired differences.

    >>> compare([0.1, 0.2, 0.3, 0.4, 0.5, 0.6])
    Difference(count=6, median=0.35, low=0.1, high=0.6, p=0.03125)
    """
    from scipy.stats import wilcoxon

    values = np.asarray(differences, np.float64)
    rows, columns = np.triu_indices(len(values))
    means = np.sort((values[rows] + values[columns]) / 2)
    ranks: Any = wilcoxon(values) if values.any() else None  # scipy's stub lacks the result's fields
    p = 1.0 if ranks is None else float(ranks.pvalue)
    rank = lowest_rank(len(values))
    low, high = (float(means[rank - 1]), float(means[-rank])) if rank else (None, None)
    return Difference(len(values), float(np.median(means)), low, high, p)


def lowest_rank(count: int) -> int:
    """The place, from 1, of the mean of pairs at which the interval begins; 0 if even the first leaves it too narrow.

    The largest k for which a sum of signed ranks below k has a probability of 2.5 % at most.

    >>> lowest_rank(5), lowest_rank(6), lowest_rank(20)
    (0, 1, 53)
    """
    ways = np.ones(1)
    for rank in range(1, count + 1):  # each rank is in the sum or not
        ways = np.concatenate([ways, np.zeros(rank)]) + np.concatenate([np.zeros(rank), ways])
    below = np.cumsum(ways) / 2.0**count
    return int((below <= (1 - CONFIDENCE) / 2).sum())
