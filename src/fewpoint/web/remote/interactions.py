"""What a client marks, as actions of a project. Places are frame, y and x."""

from itertools import product

import numpy as np

from fewpoint.core import Box
from fewpoint.core.actions import Action, AddPoints, BrushFrames, ClearBrush, RemovePoint, SetBox
from fewpoint.core.project import NamedObject, Project
from fewpoint.core.run_lengths import decode_mask, encode_mask
from fewpoint.core.saying import find_innermost, lies_in
from fewpoint.errors import InputError
from fewpoint.web.remote.grid import Sides

Place = tuple[int, int, int]
MOST_OF_LINE, MOST_OF_REGION = 60, 25  # clicks that a scribble or a region becomes
LEAST_APART = 4  # voxels between the clicks of a scribble
MOST_OUTLINES = 9  # frames of a given mask that count as outlined
MARGIN = 2  # voxels beyond a box at which the object is no longer


def plan_clicks(project: Project, target: NamedObject, places: list[Place], positive: bool) -> list[Action]:
    """Clicks that take back what they contradict: an outline of their frame, and older clicks at their places."""
    planned: list[Action] = []
    for frame in sorted({place[0] for place in places} & target.brushed.keys()):
        mask = decode_mask(target.brushed[frame], project.size)
        if any(bool(mask[y, x]) != positive for at, y, x in places if at == frame):
            planned.append(ClearBrush(target.name, frame))
    here = set(places)
    planned += [
        RemovePoint(click.id)
        for click in target.points
        if click.positive != positive and (click.frame, click.y, click.x) in here
    ]
    return [*planned, AddPoints(target.name, tuple(places), positive)]


def plan_box(project: Project, target: NamedObject, sides: Sides, positive: bool) -> list[Action]:
    """A flat box round the object, or, if not positive, one without it."""
    if not any(high - low == 1 for low, high in sides):
        raise InputError("a box must be drawn on one slice, this one goes through several in all three planes")
    if not positive:
        places = [(frame, y, x) for frame, y, x in product(*(_spread(low, high) for low, high in sides))]
        return plan_clicks(project, target, places, False)
    frame, y, x = ((low + high) // 2 for low, high in sides)
    return _enclose(project, target, sides, (frame, y, x))


def plan_scribble(
    project: Project, target: NamedObject, drawn: tuple[np.ndarray, Sides], positive: bool
) -> list[Action]:
    """Clicks along the middle of a line."""
    return plan_clicks(project, target, thin_out(find_middle(*drawn), MOST_OF_LINE, LEAST_APART), positive)


def plan_lasso(project: Project, target: NamedObject, drawn: tuple[np.ndarray, Sides], positive: bool) -> list[Action]:
    """A region roughly of the object: a box round it and a click deep inside; if not positive, clicks all over it."""
    mask, sides = drawn
    if not positive:
        return plan_clicks(project, target, thin_out(_places(mask, sides), MOST_OF_REGION, 1), False)
    flat = _find_flat(mask.shape)
    planned: list[Action] = []
    for index in range(mask.shape[flat]):
        plane = mask.take(index, axis=flat)
        if plane.any():
            inner = list(find_innermost(plane))
            inner.insert(flat, index)
            frame, y, x = (low + inside for (low, _), inside in zip(sides, inner, strict=True))
            planned += _enclose(project, target, _tighten(plane, flat, index, sides), (frame, y, x))
    return planned


def plan_mask(target: NamedObject, frames: np.ndarray) -> list[Action]:
    """A given mask (T, H, W): some of the frames that it is on count as outlined."""
    shown = np.flatnonzero(frames.any(axis=(1, 2)))
    chosen = shown[np.unique(np.linspace(0, len(shown) - 1, MOST_OUTLINES).round().astype(int))].tolist()
    return [BrushFrames(target.name, tuple((frame, encode_mask(frames[frame])) for frame in chosen))]


def find_middle(mask: np.ndarray, sides: Sides) -> list[Place]:
    """The voxels in the middle of a thick line."""
    from skimage.morphology import skeletonize

    flat = _find_flat(mask.shape)
    thin = np.zeros_like(mask)
    for index in np.flatnonzero(mask.any(axis=tuple({0, 1, 2} - {flat}))).tolist():
        place = tuple(index if axis == flat else slice(None) for axis in range(3))
        thin[place] = skeletonize(mask[place])
    return _places(thin if thin.any() else mask, sides)


def thin_out(places: list[Place], most: int, apart: int) -> list[Place]:
    """Some of the places, no two nearer than so many voxels along every axis, and at most so many.

    >>> thin_out([(0, 0, x) for x in range(10)], 3, 1)
    [(0, 0, 0), (0, 0, 4), (0, 0, 8)]
    """
    while True:
        kept = np.zeros((0, 3), int)
        for place in places:
            if len(kept) > most:
                break
            if not len(kept) or np.abs(kept - place).max(axis=1).min() >= apart:
                kept = np.vstack([kept, place])
        if len(kept) <= most:
            return [(frame, y, x) for frame, y, x in kept.tolist()]
        apart *= 2


def _enclose(project: Project, target: NamedObject, sides: Sides, inner: Place) -> list[Action]:
    """What a flat box says: the object is at its inner place, unless it was clicked on in the box, and not beyond it.

    On a frame that is a box as a project has them; in another plane clicks beyond its sides say so.
    """
    (frame, after), (top, bottom), (left, right) = sides
    if after - frame > 1:
        beyond = _find_beyond(project.shape, sides, inner)
        clicks = plan_clicks(project, target, [inner], True)
        return [*clicks, *(plan_clicks(project, target, beyond, False) if beyond else [])]
    box = Box(frame, top, left, bottom, right)
    shown = [click for click in target.positives if click.frame == frame and lies_in(box, click.y, click.x)]
    clicks = [] if shown else plan_clicks(project, target, [inner], True)
    if (bottom - top, right - left) == project.size:  # a box round everything says nothing
        return clicks
    return [SetBox(target.name, frame, top, left, bottom, right), *clicks]


def _find_beyond(shape: tuple[int, int, int], sides: Sides, inner: Place) -> list[Place]:
    """Places in the plane of a flat box a little beyond each of its sides, inside the image."""
    found = []
    for axis, (low, high) in enumerate(sides):
        for value in (low - MARGIN, high - 1 + MARGIN) if high - low > 1 else ():
            if 0 <= value < shape[axis]:
                place = [*inner[:axis], value, *inner[axis + 1 :]]
                found.append((place[0], place[1], place[2]))
    return found


def _find_flat(shape: tuple[int, ...]) -> int:
    """The axis along which a drawing is one voxel thick, else that of frames."""
    return next((axis for axis in range(3) if shape[axis] == 1), 0)


def _tighten(plane: np.ndarray, flat: int, index: int, sides: Sides) -> Sides:
    """The sides of what is marked on one plane of a part of the image."""
    found = []
    for axis in (0, 1):
        marked = np.flatnonzero(plane.any(axis=1 - axis))
        found.append((int(marked[0]), int(marked[-1]) + 1))
    found.insert(flat, (index, index + 1))
    return tuple((start + low, start + high) for (start, _), (low, high) in zip(sides, found, strict=True))


def _places(mask: np.ndarray, sides: Sides) -> list[Place]:
    starts = [low for low, _ in sides]
    return [(frame, y, x) for frame, y, x in (np.argwhere(mask) + starts).tolist()]


def _spread(low: int, high: int) -> list[int]:
    """Up to five numbers evenly over a side."""
    return np.unique(np.linspace(low, high - 1, min(5, high - low)).round().astype(int)).tolist()
