"""The bound on the object's share of a frame: checked where given, estimated where not."""

import numpy as np

from fewpoint.core import AreaBound, ImageSequence, PointSet, SuperpixelMap
from fewpoint.errors import InputError
from fewpoint.learning.clicks import squared_steps
from fewpoint.superpixels.regions import share_of_points

LARGEST = 0.5
SMALLEST_SUPERPIXELS = 4.0
CLICK_FACTOR = 3.0
FEWEST_PAIRS = 4
FALLBACK = 0.1


def check_bound(bound: AreaBound, superpixels: SuperpixelMap, points: PointSet) -> AreaBound:
    """Raise InputError where the clicked superpixels alone already fill the bound."""
    covered = share_of_points(superpixels, points)
    if bound.fraction <= covered:
        raise InputError(
            f"the object may cover {bound.fraction:.4g} of a frame, but the superpixels under the points already cover "
            f"{covered:.4g}; give a larger --max-fraction or raise superpixels.count"
        )
    return bound


def estimate_bound(sequence: ImageSequence, superpixels: SuperpixelMap, points: PointSet) -> AreaBound:
    """A bound from how far apart clicks on neighbouring clicked frames lie.

    Two independent places drawn evenly from a disc of radius r lie r apart in the root mean square, so that pi times
    the mean squared distance is the disc's area. People click well inside, and the largest frame exceeds the mean:
    CLICK_FACTOR makes a bound of it. Movement only makes the bound more generous. With fewer than FEWEST_PAIRS pairs
    there is nothing to measure and FALLBACK is assumed.
    """
    squares = squared_steps(points)
    least = max(2 * share_of_points(superpixels, points), SMALLEST_SUPERPIXELS / superpixels.counts.max())
    if len(squares) < FEWEST_PAIRS:
        share = min(max(FALLBACK, least), LARGEST)
        origin = f"assumed to be {share:.1%} of a frame: too few points to estimate it; give --max-fraction"
        return AreaBound(share, origin)
    height, width = sequence.size
    share = min(max(CLICK_FACTOR * np.pi * float(squares.mean()) / (height * width), least), LARGEST)
    return AreaBound(share, f"estimated as {share:.1%} of a frame from how far the points lie apart")
