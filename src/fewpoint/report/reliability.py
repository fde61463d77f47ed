"""Whether probabilities mean what they say, on frames whose every pixel is known."""

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

BINS = 10


@dataclass(frozen=True, eq=False)
class Reliability:
    """Of each tenth of probability, (BINS,): pixels, the sum of what is said of them, and how many are there."""

    pixels: np.ndarray
    said: np.ndarray
    there: np.ndarray
    frames: int

    @property
    def error(self) -> float:
        """The expected calibration error: mean distance of what is said from what is there, over all pixels."""
        return float(np.abs(self.said - self.there).sum() / max(1.0, self.pixels.sum()))


def count_reliability(frames: Iterable[tuple[np.ndarray, np.ndarray]]) -> Reliability | None:
    """Probabilities (H, W) of some frames against what is there, bool (H, W); None without a frame.

    >>> found = count_reliability([(np.array([[0.9, 0.9, 0.1]]), np.array([[True, False, False]]))])
    >>> round(found.error, 3), found.there.tolist()[-1]
    (0.3, 1.0)
    """
    pixels, said, there, count = np.zeros(BINS), np.zeros(BINS), np.zeros(BINS), 0
    for probability, mask in frames:
        values = probability.astype(np.float64).ravel()
        place = np.minimum((values * BINS).astype(np.int64), BINS - 1)
        pixels += np.bincount(place, minlength=BINS)
        said += np.bincount(place, values, BINS)
        there += np.bincount(place, mask.ravel(), BINS)
        count += 1
    return Reliability(pixels, said, there, count) if count else None
