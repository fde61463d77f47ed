"""The bound on the object's share of a frame: checked if given, estimated if not."""

import math
from dataclasses import replace

import numpy as np

from fewpoint.core import AreaBound, ImageSequence, PointSet, SuperpixelMap
from fewpoint.core.bound import ESTIMATED
from fewpoint.errors import InputError
from fewpoint.learning.clicks import squared_steps
from fewpoint.learning.motion import followed_steps
from fewpoint.superpixels.regions import share_of_points

LARGEST = 0.5
LARGEST_RAISED = 0.95
SMALLEST = 0.002
SMALLEST_SUPERPIXELS = 4.0
CLICK_FACTOR = 3.0
FEWEST_PAIRS = 3
SAME_PLACE = 1.0  # squared pixels: clicks that lie no farther apart than a hand trembles
USUAL = 0.1
USUAL_PAIRS = 4
ASSUMED = 1.0  # how far, as a logarithm, USUAL is off
DENSE, SPARSE = 0.58, 0.8  # doubts of estimates from ten pairs, and from three, below which no person is doubted
LEAST_GIVEN, MOST_GIVEN = 0.3, 1.75  # times an estimate from ten pairs, which is itself generous


def estimate_bound(sequence: ImageSequence, points: PointSet) -> AreaBound:
    """A bound on the object's share of a frame, from how far apart the clicks of one clicked frame and the next lie.

    Two independent places drawn evenly from a disc of radius r lie r apart in the root mean square, so that pi times
    the mean squared distance is the disc's area. People click well inside, and the largest frame exceeds the mean:
    CLICK_FACTOR makes a bound of it. Before the first click an object is taken to have the bound USUAL, and that counts
    as much as USUAL_PAIRS pairs of clicks. With fewer than FEWEST_PAIRS, or if all lie at one place, it is all we have.

    Movement makes distances larger than the object's size suggests. Clicks that are followed to the next frame lie
    closer to the one there, but those on frames that move most, or on which the object is largest, are lost on the
    way. So the truth is taken to be between the two.
    """
    squares = squared_steps(points)
    if len(squares) < FEWEST_PAIRS:
        return _assume("too few points to estimate it")
    if squares.mean() < SAME_PLACE:
        return _assume("all points lie at one place, so the size cannot be estimated")
    square, followed = float(squares.mean()), followed_steps(sequence, points)
    if len(followed) >= FEWEST_PAIRS:
        square = math.sqrt(square * min(square, float(followed.mean())))
    height, width = sequence.size
    measured = min(max(CLICK_FACTOR * np.pi * square / (height * width), SMALLEST), LARGEST)
    share = math.exp(np.average(np.log([measured, USUAL]), weights=[len(squares), USUAL_PAIRS]))
    origin = f"estimated as {share:.1%} of a frame from how far apart the points lie"
    return AreaBound(share, origin, _doubt(len(squares)))


def _doubt(pairs: int) -> float:
    """How far a bound estimated from so many pairs of clicks may be off, see AreaBound."""
    return math.hypot(ESTIMATED, ASSUMED * USUAL_PAIRS / (pairs + USUAL_PAIRS))


def _assume(reason: str) -> AreaBound:
    return AreaBound(USUAL, f"assumed to be {USUAL:.1%} of a frame: {reason}; give --max-fraction", _doubt(0))


def check_bound(bound: AreaBound, superpixels: SuperpixelMap, points: PointSet, share: float = 1.0) -> AreaBound:
    """Raise InputError if the clicked superpixels alone already fill the bound.

    share: how much of the frame is cut into superpixels.
    """
    covered = share * share_of_points(superpixels, points)
    if bound.fraction <= covered:
        raise InputError(
            f"the object may cover {bound.fraction:.2%} of a frame, but the superpixels under the points already cover "
            f"{covered:.2%}; give a larger --max-fraction or raise superpixels.count"
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


def doubt_bound(bound: AreaBound, sequence: ImageSequence, points: PointSet) -> str | None:
    """A sentence if a bound that a person gave is far from what clicks suggest, the farther the fewer they are."""
    if bound.doubt:
        return None
    suggested = estimate_bound(sequence, points)
    ratio = bound.fraction / suggested.fraction
    slack = math.exp(max(0.0, suggested.doubt - DENSE))
    if suggested.doubt > SPARSE or LEAST_GIVEN / slack <= ratio <= MOST_GIVEN * slack:
        return None
    much = f"{ratio:.1f} times" if ratio > 1 else f"1/{1 / ratio:.0f} of"
    size = "large" if ratio > 1 else "small"
    return (
        f"the size limit of {bound.fraction:.1%} of a frame is {much} the {suggested.fraction:.1%} that the points "
        f"suggest: if the masks are too {size}, run again without --max-fraction, or with another"
    )
