"""Changes of masks that a person asks for by name: filled between frames, without islands, smoother, copied, …"""

from collections.abc import Callable, Iterable
from itertools import pairwise

import numpy as np
from scipy import ndimage

from fewpoint.core.actions import BrushFrames
from fewpoint.core.project import NamedObject
from fewpoint.core.run_lengths import Stretches, decode_mask, encode_mask
from fewpoint.errors import InputError
from fewpoint.web import messages
from fewpoint.web.orders import shown_folder
from fewpoint.web.results import ObjectMasks, find_present_masks
from fewpoint.web.sessions import Session
from fewpoint.web.shown import read_probability

SMOOTHING = 1.5  # pixels: the deviation of the Gaussian that evens out an outline

Drawn = dict[int, np.ndarray]


def edit_masks(session: Session, request: messages.EditRequest) -> BrushFrames:
    """The change that an edit is: whole masks of all frames that differ after it."""
    target = session.project.find(request.object)
    masks = find_present_masks(session, target)
    if request.frame >= masks.shape[0]:
        raise InputError(f"frames go from 0 to {masks.shape[0] - 1}, got {request.frame}")
    drawn = EDITS[request.edit](session, target, masks, request)
    changed = {frame: mask for frame, mask in drawn.items() if not np.array_equal(mask, masks.cut(0, frame))}
    if not changed:
        raise InputError("that changes nothing here")
    return BrushFrames(target.name, tuple((frame, encode_mask(mask)) for frame, mask in sorted(changed.items())))


def _fill(session: Session, target: NamedObject, masks: ObjectMasks, request: messages.EditRequest) -> Drawn:
    return fill_between(target.brushed, masks.shape[1:])


def fill_between(drawn: dict[int, Stretches], size: tuple[int, int]) -> Drawn:
    """Masks of the frames between drawn ones: half-way shapes, by the distance to the outlines on both sides."""
    known = sorted(frame for frame, runs in drawn.items() if runs)
    if len(known) < 2:
        raise InputError("draw the object on two frames at least, then fill between them")
    filled: Drawn = {}
    for first, last in pairwise(known):
        if last - first < 2 or any(frame in drawn for frame in range(first + 1, last)):
            continue
        start, end = (_signed_distance(decode_mask(drawn[frame], size)) for frame in (first, last))
        for frame in range(first + 1, last):
            share = (frame - first) / (last - first)
            filled[frame] = (1 - share) * start + share * end > 0
    return filled


def _signed_distance(mask: np.ndarray) -> np.ndarray:
    """Pixels to the outline, above 0 inside."""
    inside, outside = (np.asarray(ndimage.distance_transform_edt(each)) for each in (mask, ~mask))
    return inside - outside


def _remove_islands(session: Session, target: NamedObject, masks: ObjectMasks, request: messages.EditRequest) -> Drawn:
    if not request.everywhere:
        return {request.frame: keep_largest(masks.cut(0, request.frame))}
    return dict(enumerate(keep_largest(masks.whole())))


def keep_largest(mask: np.ndarray) -> np.ndarray:
    """The largest part of a mask of two or three dimensions that hangs together."""
    parts = np.zeros(mask.shape, np.int32)
    ndimage.label(mask, np.ones((3,) * mask.ndim, bool), output=parts)
    if parts.max() < 2:
        return mask
    return parts == 1 + int(np.argmax(np.bincount(parts.ravel())[1:]))


def _smooth(session: Session, target: NamedObject, masks: ObjectMasks, request: messages.EditRequest) -> Drawn:
    return _on_frames(masks, request, smooth_mask)


def smooth_mask(mask: np.ndarray) -> np.ndarray:
    """A mask with an even outline."""
    return ndimage.gaussian_filter(mask.astype(np.float32), SMOOTHING) >= 0.5


def _copy(session: Session, target: NamedObject, masks: ObjectMasks, request: messages.EditRequest) -> Drawn:
    other = request.frame + (1 if (request.value or 0) > 0 else -1)
    if not 0 <= other < masks.shape[0]:
        raise InputError(f"there is no frame {other} to copy from")
    return {request.frame: masks.cut(0, other)}


def _cut_at(session: Session, target: NamedObject, masks: ObjectMasks, request: messages.EditRequest) -> Drawn:
    """Masks where the probabilities of the run shown are at least a value."""
    shown = session.find_shown()
    if shown is None:
        raise InputError("there are no probabilities yet; run first")
    least = round(255 * (0.5 if request.value is None else request.value))
    folder = shown_folder(session.runs_folder / str(shown.id), target.id)
    cut: Drawn = {}
    for frame in _frames_of(masks, request):
        values = read_probability(folder, 0, frame)
        if values is None:
            raise InputError(f"run {shown.id} has no probabilities of {target.name}; run again")
        cut[frame] = values >= max(1, least)
    return cut


def _paint_ball(session: Session, target: NamedObject, masks: ObjectMasks, request: messages.EditRequest) -> Drawn:
    """A stroke of a ball through the volume: its radius, in pixels of a frame, is as many millimetres everywhere."""
    if not request.places or not request.value:
        raise InputError("a stroke must have places and a radius")
    geometry = session.sequence.geometry
    spacing = (
        np.ones(3) if geometry is None or geometry.over_time else np.array(geometry.spacing_mm)[list(geometry.axes)]
    )
    places = np.array(request.places, np.float64) * spacing
    radius = request.value * spacing[2]
    low = np.maximum(0, np.floor((places.min(axis=0) - radius) / spacing)).astype(int)
    high = np.minimum(masks.shape, np.ceil((places.max(axis=0) + radius) / spacing) + 1).astype(int)
    grid = np.stack(np.meshgrid(*map(np.arange, low, high), indexing="ij"), axis=-1) * spacing
    inside = _near_line(grid, places, radius)
    painted: Drawn = {}
    for frame in range(low[0], high[0]):
        if inside[frame - low[0]].any():
            mask = masks.cut(0, frame).copy()
            part = mask[low[1] : high[1], low[2] : high[2]]
            part[inside[frame - low[0]]] = not request.erase
            painted[frame] = mask
    return painted


def _near_line(grid: np.ndarray, places: np.ndarray, radius: float) -> np.ndarray:
    """Which places of a (…, 3) grid lie within a radius of the line through places."""
    near = np.zeros(grid.shape[:-1], bool)
    for start, end in zip(places, places[1:] if len(places) > 1 else places, strict=False):
        along = end - start
        share = np.clip((grid - start) @ along / max(along @ along, 1e-9), 0, 1)
        near |= np.linalg.norm(grid - start - share[..., np.newaxis] * along, axis=-1) <= radius
    return near


def _on_frames(masks: ObjectMasks, request: messages.EditRequest, change: Callable[[np.ndarray], np.ndarray]) -> Drawn:
    return {frame: change(masks.cut(0, frame)) for frame in _frames_of(masks, request)}


def _frames_of(masks: ObjectMasks, request: messages.EditRequest) -> Iterable[int]:
    return np.flatnonzero(masks.count()).tolist() if request.everywhere else [request.frame]


EDITS: dict[str, Callable[[Session, NamedObject, ObjectMasks, messages.EditRequest], Drawn]] = {
    "fill": _fill,
    "islands": _remove_islands,
    "smooth": _smooth,
    "copy": _copy,
    "threshold": _cut_at,
    "ball": _paint_ball,
}
