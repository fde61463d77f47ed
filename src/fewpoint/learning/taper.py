"""Slices of a whole object taper: they are largest in the middle and shrink to nothing at both ends.

Equally spaced slices of an ellipsoid have areas in proportion to 4 u (1 - u), u from 0 at one end to 1 at the other. A
network marks too much at the ends, where it has seen few clicks, but its sizes still follow this curve. How well they
do says how far the curve can be trusted: a vessel cut at both ends, or a video, does not follow it.
"""

from dataclasses import dataclass

import numpy as np

from fewpoint.core import PointSet
from fewpoint.learning.clicks import usual_gap

FEWEST_FRAMES = 8
LEAST_CLICKED = 0.35  # of the mean slice: an object that is seen on a frame has not shrunk to nothing there


@dataclass(frozen=True, eq=False)
class Taper:
    """profile: (T,) area of an ellipsoid's slices, above 0 and at most 1. trust: 0 … 1, how far it can be trusted.

    clicked: (T,) bool, frames on which a person saw the object; None if there are none.
    """

    profile: np.ndarray
    trust: float
    clicked: np.ndarray | None = None

    @property
    def bent(self) -> np.ndarray:
        """(T,) the profile as far as it is trusted; a clicked slice keeps LEAST_CLICKED of the mean."""
        bent = self.profile**self.trust
        return bent if self.clicked is None else np.maximum(bent, LEAST_CLICKED * bent.mean() * self.clicked)


def find_taper(shares: np.ndarray, points: PointSet) -> Taper:
    """The slices of an ellipsoid from the first click to the last, and how well the (T,) shares follow them.

    The object is assumed to reach half the usual gap between clicks beyond them, within the sequence. The trust is how
    much of the variance of the shares' logarithms the profile explains; 0 if they run against it or frames are too few.
    """
    half = usual_gap(points) / 2
    start = max(0.0, points.frames.min() + 0.5 - half)
    end = min(float(len(shares)), points.frames.max() + 0.5 + half)
    places = (np.arange(len(shares)) + 0.5 - start) / (end - start)
    inside = (places > 0) & (places < 1)
    areas = 4 * places * (1 - places)
    profile = np.where(inside, areas, areas[inside].min())
    clicked = np.isin(np.arange(len(shares)), points.frames)
    return Taper(profile, _explained(np.log(shares[inside]), np.log(profile[inside])), clicked)


def _explained(values: np.ndarray, curve: np.ndarray) -> float:
    """Share of the values' variance that a positive multiple of the curve explains."""
    if len(values) < FEWEST_FRAMES or np.ptp(values) == 0:
        return 0.0
    return max(0.0, float(np.corrcoef(values, curve)[0, 1])) ** 2
