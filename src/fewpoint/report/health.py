"""How far a result can be trusted, judged without the truth: to find the bad ones in a study of hundreds."""

import math
from collections.abc import Iterable
from dataclasses import dataclass, fields
from typing import Any

import numpy as np

from fewpoint.core import PointSet, Result
from fewpoint.report.looking import Looks
from fewpoint.report.uncertainty import count_undecided

SURE = 0.5
SMALL_CHANGE = 4  # pixels by which an outline may be off
MOST_ASKED = 400  # pixels of a frame whose distance to clicks is measured


@dataclass(frozen=True)
class Health:
    """Figures in [0, 1], 1 the best; None if there is nothing to measure.

    score: the mean of those of SCORED that are there; a tenth less if clicks may not lie on the object, see judge.
    distinct: how far looks alone, learnt from other frames, tell the masks from what surrounds them, see look_again.
    near_clicks: mean over the pixels of the masks of exp(-distance to the nearest click), in radii of the object and
    tenths of the sequence.
    decided: A / (A + U), with A the area of all masks and U the pixels that the probabilities leave open.
    sturdy: A / (A + 4 L), L the length of all outlines: how little masks change if outlines are a few pixels off.
    clicks_inside: share of the clicks where probabilities say object; always 1 for methods whose masks are cut from
    probabilities that obey clicks.
    prior_agreement: 1 - mean |mask - prior| / mean max(mask, prior), shares of a frame.
    network_agreement: 1 - mean deviation / mean prior: how far networks, or their estimate, differ.
    below_bound: share of the frames whose mask and prior are smaller than the bound.
    found: share of the frames, those marked absent left out, that have a mask.
    steadiness: mean over pairs of neighbouring masks of the smaller area divided by the larger.
    connected: share of the mask, on clicked frames, that is connected to a click.
    stopped: 1 if the rule that ends the estimation of the priors held, 0 if it did not.
    """

    score: float
    distinct: float
    near_clicks: float
    decided: float
    sturdy: float
    clicks_inside: float
    prior_agreement: float | None
    network_agreement: float | None
    below_bound: float
    found: float
    steadiness: float | None
    connected: float
    stopped: float | None

    @classmethod
    def from_table(cls, table: dict[str, Any] | None) -> "Health | None":
        """What asdict made plain values of; None if there is nothing, or other figures, as of an earlier version."""
        return cls(**table) if table is not None and table.keys() == set(FIGURES) else None


FIGURES = tuple(field.name for field in fields(Health))

# Those that rank results by their real F1 (benchmarks/health.py); the others point to single faults.
SCORED = ("distinct", "near_clicks", "decided", "sturdy", "steadiness")

# What a person reads.
WORDS = {
    "distinct": "masks look unlike their surroundings",
    "near_clicks": "masks lie near clicks",
    "decided": "pixels are decided",
    "sturdy": "masks are large compared with their outlines",
    "clicks_inside": "held-out clicks that the network finds",
    "prior_agreement": "masks and expected areas agree",
    "network_agreement": "networks agree",
    "below_bound": "frames below the size limit",
    "found": "frames with a mask",
    "steadiness": "areas of neighbouring frames agree",
    "connected": "mask connected with the clicks",
    "stopped": "the stopping rule held",
}


def measure_health(result: Result, points: PointSet, looks: Looks) -> Health:
    """All figures of a result for one object and the clicks that it was made from. looks: see look_again."""
    present = np.setdiff1d(np.arange(len(result.masks)), points.absent)
    area = float(result.areas.sum())
    figures = {
        "distinct": looks.distinct,
        "near_clicks": _measure_nearness(result, points),
        "decided": area / max(1.0, area + float(count_undecided(result).sum())),
        "sturdy": area / max(1.0, area + SMALL_CHANGE * float(looks.outline.sum())),
        "clicks_inside": float((result.probabilities.values[tuple(points.coordinates.T)] >= SURE).mean()),
        "prior_agreement": _measure_prior_agreement(result),
        "network_agreement": _measure_network_agreement(result),
        "below_bound": _measure_below_bound(result),
        "found": float((result.areas[present] > 0).mean()),
        "steadiness": measure_steadiness(result.areas, points.absent),
        "connected": 1 - _share_apart(result.masks, points),
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


def find_parts_apart(masks: np.ndarray, points: PointSet) -> dict[int, int]:
    """On each clicked frame that has any, the pixels of the mask that are connected to none of its clicks."""
    from scipy import ndimage

    apart = {}
    for frame in np.unique(points.frames).tolist():
        parts = np.zeros(masks[frame].shape, np.int32)
        ndimage.label(masks[frame], output=parts)
        clicked = parts[tuple(points.coordinates[points.frames == frame, 1:].T)]
        count = int(masks[frame].sum()) - int(np.isin(parts, clicked[clicked > 0]).sum())
        if count:
            apart[frame] = count
    return apart


def _share_apart(masks: np.ndarray, points: PointSet) -> float:
    """1 if no clicked frame has a mask."""
    total = sum(int(masks[frame].sum()) for frame in np.unique(points.frames).tolist())
    return sum(find_parts_apart(masks, points).values()) / total if total else 1.0


def _measure_nearness(result: Result, points: PointSet) -> float:
    """0 without a mask."""
    areas, clicks = result.areas, points.coordinates.astype(np.float64)
    if not areas.any():
        return 0.0
    unit = np.array([max(1.0, 0.1 * len(areas)), *[math.sqrt(areas[areas > 0].mean() / math.pi)] * 2])
    near, weight = 0.0, 0.0
    for frame in np.flatnonzero(areas):
        places = np.argwhere(result.masks[frame])
        places = places[:: -(-len(places) // MOST_ASKED)]
        places = np.column_stack([np.full(len(places), frame), places]) / unit
        nearest = np.full(len(places), np.inf)
        for click in clicks / unit:
            np.minimum(nearest, ((places - click) ** 2).sum(1), out=nearest)
        near += float(areas[frame] * np.exp(-np.sqrt(nearest)).mean())
        weight += float(areas[frame])
    return near / weight


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


def _find_stop(result: Result) -> float | None:
    estimation = [record for record in result.history.records if record.phase.startswith("estimation")]
    has_rule = result.history.selected_epoch > 0  # methods without a stopping rule select no epoch
    return float(any(record.stopped for record in estimation)) if estimation and has_rule else None
