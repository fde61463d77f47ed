"""Masks that obey what a person has said plainly."""

from dataclasses import replace

import numpy as np

from fewpoint.core.paging import gather_frames, walk
from fewpoint.core.points import PointSet
from fewpoint.core.probabilities import ProbabilityMaps
from fewpoint.core.result import ObjectResult
from fewpoint.core.words import Words


def obey(masks: np.ndarray, points: PointSet, words: Words, others: tuple[Words, ...] = ()) -> np.ndarray:
    """Masks (T, H, W) of one object: outlined frames as drawn, nothing outside a box or on an absent frame.

    points, words: those of the object. others: words of the other objects, whose outlines it does not enter.
    Returns the same array if it obeys already, else another.

    >>> obey(np.ones((2, 1, 3), bool), PointSet.from_rows([(0, 0, 1)], absent=[1]), Words()).astype(int).tolist()
    [[[1, 1, 1]], [[0, 0, 0]]]
    """
    boxed = {box.frame for box in words.boxes}
    taken = {frame for each in others for frame in each.outlined}
    wanted = {
        frame: mask
        for frame in {*words.outlined, *boxed, *points.absent, *taken}
        if not np.array_equal(mask := obey_on_frame(masks[frame], frame, points, words, others), masks[frame])
    }
    if not wanted:
        return masks
    frames = (wanted.get(frame, mask) for frame, mask in enumerate(walk(masks)))
    return gather_frames(frames, masks.shape, bool)


def leave_out_missing(found: ObjectResult, missing: np.ndarray | None) -> ObjectResult:
    """What was found of an object, with nothing where the frames have no value. missing: see ImageSequence."""
    if missing is None:
        return found
    masks = (mask & ~none for mask, none in zip(walk(found.masks), walk(missing), strict=True))
    values = found.probabilities.values
    maps = (np.where(none, 0, frame) for frame, none in zip(walk(values), walk(missing), strict=True))
    return replace(
        found,
        masks=gather_frames(masks, missing.shape, bool),
        probabilities=ProbabilityMaps(gather_frames(maps, missing.shape, values.dtype)),
    )


def obey_on_frame(
    mask: np.ndarray, frame: int, points: PointSet, words: Words, others: tuple[Words, ...]
) -> np.ndarray:
    """The mask of a frame as the words about it want it; an outline says all of it."""
    size = (mask.shape[0], mask.shape[1])
    if frame in words.outlined:
        return words.mask(frame, size)
    if frame in points.absent:
        return np.zeros(size, bool)
    corrected = np.array(mask, bool)
    for each in others:
        if frame in each.outlined:
            corrected &= ~each.mask(frame, size)
    box = words.box_on(frame)
    if box is None:
        return corrected
    inside = np.zeros(size, bool)
    inside[box.top : box.bottom, box.left : box.right] = True
    return corrected & inside
