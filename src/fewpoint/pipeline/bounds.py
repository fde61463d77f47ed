"""The bound on the object's share of a frame: checked if given, estimated if not."""

import math
from dataclasses import replace

import numpy as np

from fewpoint.core import AreaBound, ImageSequence, PointSet, SuperpixelMap
from fewpoint.errors import InputError
from fewpoint.learning.clicks import squared_steps
from fewpoint.learning.motion import followed_steps
from fewpoint.superpixels.regions import share_of_points

LARGEST = 0.5
LARGEST_RAISED = 0.95
SMALLEST = 0.002
SMALLEST_SUPERPIXELS = 4.0
CLICK_FACTOR = 3.0
FEWEST_PAIRS = 4
FALLBACK = 0.1


def estimate_bound(sequence: ImageSequence, points: PointSet) -> AreaBound:
    """A bound on the object's share of a frame, from how far apart the clicks of one clicked frame and the next lie.

    Two independent places drawn evenly from a disc of radius r lie r apart in the root mean square, so that pi times
    the mean squared distance is the disc's area. People click well inside, and the largest frame exceeds the mean:
    CLICK_FACTOR makes a bound of it. With fewer than FEWEST_PAIRS pairs there is nothing to measure and FALLBACK is
    assumed.

    Movement makes distances larger than the object's size suggests. Clicks that are followed to the next frame lie
    closer to the one there, but those on frames that move most, or on which the object is largest, are lost on the
    way. So the truth is taken to be between the two.
    """
    squares = squared_steps(points)
    if len(squares) < FEWEST_PAIRS:
        origin = f"assumed to be {FALLBACK:.1%} of a frame: too few points to estimate it; give --max-fraction"
        return AreaBound(FALLBACK, origin, trusted=False)
    square, followed = float(squares.mean()), followed_steps(sequence, points)
    if len(followed) >= FEWEST_PAIRS:
        square = math.sqrt(square * min(square, float(followed.mean())))
    height, width = sequence.size
    share = min(max(CLICK_FACTOR * np.pi * square / (height * width), SMALLEST), LARGEST)
    return AreaBound(share, f"estimated as {share:.1%} of a frame from how far apart the points lie", trusted=False)


def check_bound(bound: AreaBound, superpixels: SuperpixelMap, points: PointSet, share: float = 1.0) -> AreaBound:
    """Raise InputError if the clicked superpixels alone already fill the bound.

    share: how much of the frame is cut into superpixels.
    """
    covered = share * share_of_points(superpixels, points)
    if bound.fraction <= covered:
        raise InputError(
            f"the object may cover {bound.fraction:.4g} of a frame, but the superpixels under the points already cover "
            f"{covered:.4g}; give a larger --max-fraction or raise superpixels.count"
        )
    return bound


def raise_bound(bound: AreaBound, superpixels: SuperpixelMap, points: PointSet, share: float = 1.0) -> AreaBound:
    """An estimated bound, at least twice what the clicked superpixels cover and a few superpixels large.

    share: how much of the frame is cut into superpixels.
    """
    least = max(2 * share_of_points(superpixels, points), SMALLEST_SUPERPIXELS / superpixels.counts.max())
    least = share * min(least, LARGEST_RAISED)
    if bound.fraction >= least:
        return bound
    raised = f"{bound.origin}; raised to {least:.1%}, the least that superpixels allow"
    return replace(bound, fraction=least, origin=raised)
