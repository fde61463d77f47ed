"""Points of a layer to actions of a project."""

from collections.abc import Iterable, Sequence

import numpy as np

from fewpoint.core.actions import Action, AddPoints, RemovePoint
from fewpoint.core.points import round_half_up
from fewpoint.core.project import NamedObject

Place = tuple[int, int, int]
Clicks = dict[Place, bool]  # by frame, y, x: whether it lies on the object


def gather_clicks(rows: np.ndarray, positive: Sequence[bool], shape: tuple[int, int, int]) -> tuple[Clicks, int]:
    """Clicks in whole pixels of (P, 3) points in data coordinates, and how many were left out as outside the image.

    positive: for each point, whether it lies on the object. Of two in one pixel the later one counts.

    >>> gather_clicks(np.array([[0, 1.4, 2.5], [9, 0, 0]]), [True, True], (4, 8, 8))
    ({(0, 1, 3): True}, 1)
    """
    clicks: Clicks = {}
    outside = 0
    for row, is_positive in zip(rows.tolist(), positive, strict=True):
        frame, y, x = map(round_half_up, row)
        if all(0 <= index < length for index, length in zip((frame, y, x), shape, strict=True)):
            clicks[frame, y, x] = bool(is_positive)
        else:
            outside += 1
    return clicks, outside


def find_changes(target: NamedObject, wanted: Clicks) -> list[Action]:
    """The actions after which an object has these clicks and no others.

    >>> find_changes(NamedObject(0, "liver", "#e69f00"), {(0, 1, 3): True})
    [AddPoints(object='liver', places=((0, 1, 3),), positive=True, kind='add_points')]
    """
    there = {(click.frame, click.y, click.x): click for click in target.points}
    kept = {place for place, click in there.items() if wanted.get(place) == click.positive}
    changes: list[Action] = [RemovePoint(click.id) for place, click in there.items() if place not in kept]
    for positive in (True, False):
        new = tuple(place for place, sign in wanted.items() if sign is positive and place not in kept)
        if new:
            changes.append(AddPoints(target.name, new, positive))
    return changes


def list_clicks(target: NamedObject) -> Iterable[tuple[Place, bool]]:
    """The clicks of an object, each with whether it lies on it."""
    return [((click.frame, click.y, click.x), click.positive) for click in target.points]
