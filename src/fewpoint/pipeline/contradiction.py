"""How deep words lie on the wrong side of the masks that a person saw when they said them; free of torch."""

import math
from collections import Counter
from dataclasses import dataclass

import numpy as np

from fewpoint.pipeline.previous import Cut
from fewpoint.pipeline.task import Task
from fewpoint.superpixels.sizing import find_excess, sum_up_depths

Place = tuple[int, int, int]  # frame, y and x
SMALLEST_RADIUS = 2.0  # of an object, in pixels
MOST_WORDS = 30  # of a kind that are measured: of more, every second, third and so on


@dataclass(frozen=True)
class Contradiction:
    """What the latest words say about the size of an object.

    missed, leaked: how deep clicks lay outside of its masks, and negatives inside, see sum_up_depths; None if nothing
    was said. new: of how many of the two kinds there are words since the run before.
    """

    missed: float | None = None
    leaked: float | None = None
    new: int = 0

    @property
    def excess(self) -> float | None:
        """The logarithm of how many times too large masks are; None if words of one kind do not say.

        A word that stands against an earlier one of the other kind counts half, so that two count as much whether they
        were learnt together or one after the other.
        """
        if self.missed is None or self.leaked is None or not self.new:
            return None
        return self.new / 2 * find_excess(self.missed, self.leaked)


def find_contradiction(task: Task, cut: Cut) -> Contradiction:
    """Of the masks of the run before, in a task on one object. cut: of that run, which knows what was said earlier."""
    new, masks = _find_new(task), _recall_masks(task)
    if new is None or masks is None:
        return Contradiction(cut.missed, cut.leaked)
    areas = masks.sum(axis=(1, 2))
    radius = max(math.sqrt(areas.sum() / max(1, np.count_nonzero(areas)) / math.pi), SMALLEST_RADIUS)
    missed, leaked = (
        sum_up_depths(np.array([_measure_depth(masks[place[0]] == side, place) for place in places]) / radius)
        if places
        else None
        for places, side in zip(new, (False, True), strict=True)
    )
    return Contradiction(
        cut.missed if missed is None else missed,
        cut.leaked if leaked is None else leaked,
        sum(depth is not None for depth in (missed, leaked)),
    )


def _find_new(task: Task) -> tuple[list[Place], list[Place]] | None:
    """Clicks and negatives since the run before; None if it is not known what that was told."""
    if task.previous is None or task.previous.points is None:
        return None
    known = task.previous.points
    old = {*_as_places(known.coordinates), *_as_places(known.negatives)}
    clicks, negatives = (
        [place for place in _as_places(rows) if place not in old]
        for rows in (task.points.coordinates, task.points.negatives)
    )
    return clicks[:: _stride(clicks)], negatives[:: _stride(negatives)]


def _stride(places: list[Place]) -> int:
    return max(1, math.ceil(len(places) / MOST_WORDS))


def _recall_masks(task: Task) -> np.ndarray | None:
    """(T, H, W) bool masks of the object in the run before; None if they are not known.

    Several objects may have learnt together: this one is the one that most of its own earlier clicks lie on.
    """
    previous = task.previous
    labels = None if previous is None else previous.groups[0].labels
    if previous is None or previous.points is None or labels is None or labels.shape != task.sequence.shape[:3]:
        return None
    own = set(_as_places(task.points.coordinates)) & set(_as_places(previous.points.coordinates))
    numbers = Counter(int(labels[place]) for place in own if labels[place])
    return labels == numbers.most_common(1)[0][0] if numbers else None


def _measure_depth(region: np.ndarray, place: Place) -> float:
    """Pixels from a place to the nearest outside of an (H, W) bool region, which ends where the frame does."""
    _, y, x = place
    rows, columns = np.nonzero(~region)
    border = min(y, x, region.shape[0] - 1 - y, region.shape[1] - 1 - x) + 1.0
    return min(border, math.sqrt(((rows - y) ** 2 + (columns - x) ** 2).min())) if len(rows) else border


def _as_places(rows: np.ndarray) -> list[Place]:
    return [(frame, y, x) for frame, y, x in rows.tolist()]
