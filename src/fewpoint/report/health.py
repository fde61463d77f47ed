"""How far a result can be trusted, judged without the truth: to find the bad ones in a study of hundreds."""

from collections.abc import Iterable
from dataclasses import dataclass, fields

import numpy as np

from fewpoint.core import PointSet, Result
from fewpoint.core.paging import walk
from fewpoint.report.uncertainty import rank_frames

SURE = 0.5


@dataclass(frozen=True)
class Health:
    """Figures in [0, 1], 1 the best; None if there is nothing to measure.

    score: the mean of those of SCORED that are there.
    certainty: 1 - the mean uncertainty of the frames, see rank_frames.
    clicks_inside: share of the clicks where the network itself says object, before clicks are forced into the mask.
    step_agreement: Dice of the masks and of what the network says, 0.5 or above: how much the last step changed.
    prior_agreement: 1 - mean |mask - prior| / mean max(mask, prior), shares of a frame.
    network_agreement: 1 - mean deviation / mean prior: how far networks, or their estimate, differ.
    below_bound: share of the frames whose mask and prior are smaller than the bound.
    found: share of the frames, those marked absent left out, that have a mask.
    steadiness: mean over pairs of neighbouring masks of the smaller area divided by the larger.
    connected: share of the mask, on clicked frames, that is connected to a click.
    stopped: 1 if the rule that ends the estimation of the priors held, 0 if it did not.
    """

    score: float
    certainty: float
    clicks_inside: float
    step_agreement: float
    prior_agreement: float | None
    network_agreement: float | None
    below_bound: float
    found: float
    steadiness: float | None
    connected: float
    stopped: float | None


FIGURES = tuple(field.name for field in fields(Health))

# Those that rank results by their real F1 (benchmarks/README.md); the others point to single faults.
SCORED = ("certainty", "step_agreement", "steadiness")

# What a person reads.
WORDS = {
    "certainty": "certainty of the probabilities",
    "clicks_inside": "clicks that the network finds by itself",
    "step_agreement": "network and last step agree",
    "prior_agreement": "masks and expected areas agree",
    "network_agreement": "networks agree",
    "below_bound": "frames below the bound",
    "found": "frames with a mask",
    "steadiness": "areas of neighbouring frames agree",
    "connected": "mask connected with the clicks",
    "stopped": "the stopping rule held",
}


def measure_health(result: Result, points: PointSet) -> Health:
    """All figures of a result and the clicks that it was made from."""
    present = np.setdiff1d(np.arange(len(result.masks)), points.absent)
    figures = {
        "certainty": _measure_certainty(result, present),
        "clicks_inside": float((result.probabilities.values[tuple(points.coordinates.T)] >= SURE).mean()),
        "step_agreement": _measure_step_agreement(result),
        "prior_agreement": _measure_prior_agreement(result),
        "network_agreement": _measure_network_agreement(result),
        "below_bound": _measure_below_bound(result),
        "found": float((result.areas[present] > 0).mean()),
        "steadiness": measure_steadiness(result.areas, points.absent),
        "connected": _measure_connected(result.masks, points),
        "stopped": _find_stop(result),
    }
    known = [figures[name] for name in SCORED if figures[name] is not None]
    return Health(score=sum(known) / len(known), **figures)


def measure_steadiness(areas: np.ndarray, absent: Iterable[int] = ()) -> float | None:
    """Mean of smaller / larger over neighbouring (T,) areas; None without a pair.

    Pairs without any area are left out, and those with a frame that a person marked absent.

    >>> measure_steadiness(np.array([0, 0, 10, 5])), measure_steadiness(np.array([0, 0, 10, 5]), [1])
    (0.25, 0.5)
    """
    smaller, larger = np.minimum(areas[1:], areas[:-1]), np.maximum(areas[1:], areas[:-1])
    empty = np.isin(np.arange(len(areas)), list(absent))
    seen = (larger > 0) & ~empty[1:] & ~empty[:-1]
    return float((smaller[seen] / larger[seen]).mean()) if seen.any() else None


def _measure_certainty(result: Result, present: np.ndarray) -> float:
    by_frame = {entry.frame: entry.uncertainty for entry in rank_frames(result)}
    return 1 - float(np.mean([by_frame[frame] for frame in present]))


def _measure_step_agreement(result: Result) -> float:
    """0 if both are empty: nothing was found."""
    total, shared = int(result.areas.sum()), 0
    for mask, probability in zip(walk(result.masks), walk(result.probabilities.values), strict=True):
        sure = probability >= SURE
        total += int(sure.sum())
        shared += int((mask & sure).sum())
    return 2 * shared / total if total else 0.0


def _measure_prior_agreement(result: Result) -> float | None:
    shares, priors = result.shares, result.priors.mean
    known = np.isfinite(priors)
    largest = np.maximum(shares[known], priors[known]).sum()
    return float(1 - np.abs(shares[known] - priors[known]).sum() / largest) if largest > 0 else None


def _measure_network_agreement(result: Result) -> float | None:
    mean, deviation = result.priors.mean, result.priors.deviation
    known = np.isfinite(mean) & np.isfinite(deviation)
    total = mean[known].sum()
    return float(max(0.0, 1 - deviation[known].sum() / total)) if total > 0 else None


def _measure_below_bound(result: Result) -> float:
    at_bound = result.shares >= result.bound.fraction
    at_bound |= np.nan_to_num(result.priors.mean) >= result.bound.fraction
    return float(1 - at_bound.mean())


def _measure_connected(masks: np.ndarray, points: PointSet) -> float:
    """0 if no clicked frame has a mask."""
    from scipy import ndimage

    inside, total = 0, 0
    for frame in np.unique(points.frames):
        parts = np.zeros(masks[frame].shape, np.int32)
        ndimage.label(masks[frame], output=parts)
        clicked = parts[tuple(points.coordinates[points.frames == frame, 1:].T)]
        total += int(masks[frame].sum())
        inside += int(np.isin(parts, clicked[clicked > 0]).sum())
    return inside / total if total else 0.0


def _find_stop(result: Result) -> float | None:
    estimation = [record for record in result.history.records if record.phase.startswith("estimation")]
    has_rule = result.history.selected_epoch > 0  # methods without a stopping rule select no epoch
    return float(any(record.stopped for record in estimation)) if estimation and has_rule else None
