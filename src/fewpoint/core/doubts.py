"""Clicks that cannot lie on an object, and those that hardly do, told before anything is learnt."""

import numpy as np

from fewpoint.core.points import PointSet
from fewpoint.core.sequence import ImageSequence
from fewpoint.errors import InputError

REACH = 2  # pixels to each side of a click that are looked at
FLAT = 0.02  # of a frame's range of values: what noise and compression leave of a plain background
MANY, FEW = 0.5, 0.25


def refuse_blank_frames(sequence: ImageSequence, points: PointSet) -> None:
    """InputError for a click on a frame whose pixels are all the same, or where there is no value."""
    _refuse_missing(sequence, points)
    for index in np.unique(points.frames).tolist():
        frame = sequence.frames[index]
        if frame.min() == frame.max():
            raise InputError(
                f"frame {index} ({sequence.names[index]}) has a point, but all its pixels are {frame.min():g}; "
                "check that the frames were read as they should be, or remove the point"
            )


def _refuse_missing(sequence: ImageSequence, points: PointSet) -> None:
    """InputError for a click where there is no value: that is background."""
    missing = sequence.missing
    for frame, y, x in points.coordinates.tolist():
        if missing is not None and missing[frame, y, x]:
            raise InputError(
                f"a point must lie where the frames have a value, frame {frame}, y {y}, x {x} is NaN or infinite, "
                "which is taken as background; move it onto the object"
            )


def doubt_clicks(sequence: ImageSequence, points: PointSet) -> tuple[str, ...]:
    """A sentence if most clicks lie on flat background, which names x and y if those may have been swapped.

    Background looks like the edge of its frame.

    >>> frames = np.zeros((1, 30, 30), np.uint8)
    >>> frames[0, 5:15, 15:25] = np.arange(10, 110).reshape(10, 10)
    >>> doubt_clicks(ImageSequence.from_array(frames), PointSet.from_rows([(0, 20, 10)]))[0][:54]
    'x and y may be swapped: 1 of 1 points lie on flat back'
    >>> doubt_clicks(ImageSequence.from_array(frames), PointSet.from_rows([(0, 10, 20)]))
    ()
    """
    rows = points.coordinates
    flat = sum(_is_background(sequence, row) for row in rows.tolist())
    if flat < MANY * len(rows):
        return ()
    told = f"{flat} of {len(rows)} points lie on flat background"
    swapped = rows[:, [0, 2, 1]]
    if (swapped < [len(sequence), *sequence.size]).all():
        others = sum(_is_background(sequence, row) for row in swapped.tolist())
        if others <= FEW * len(rows):
            return (f"x and y may be swapped: {told}, with both exchanged {others} would; columns are frame, y, x",)
    return (f"{told}: check that they are on the object, in pixels of this input",)


def _is_background(sequence: ImageSequence, row: list[int]) -> bool:
    index, y, x = row
    frame = sequence.frames[index]
    edge = np.concatenate([frame[0], frame[-1], frame[:, 0], frame[:, -1]])
    near = frame[max(0, y - REACH) : y + REACH + 1, max(0, x - REACH) : x + REACH + 1].reshape(-1, frame.shape[-1])
    slack = FLAT * (frame.max() - frame.min()).astype(np.float64)
    plain = np.median(edge, axis=0)
    return bool((np.abs(near - plain) <= slack).all())
