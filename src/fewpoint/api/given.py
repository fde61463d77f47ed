"""What a caller of the library gives, as the nouns of the package; anything else is an InputError."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from fewpoint.core import AreaBound, Box, ImageSequence, PointSet, Words
from fewpoint.core.given import fault, need
from fewpoint.core.points import Rows
from fewpoint.core.saying import EVERY
from fewpoint.errors import InputError
from fewpoint.io.images import read_sequence
from fewpoint.io.points import find_points, read_points
from fewpoint.io.projects import is_project

Frames = ImageSequence | np.ndarray | str | Path
Points = PointSet | Rows | Mapping[str, Rows] | str | Path
Bound = AreaBound | Box | float
GivenWords = Words | Mapping[str, Words]


def as_sequence(frames: Frames) -> ImageSequence:
    """Frames from a file or folder, an array (T, H, W) or (T, H, W, C), or as they are."""
    if isinstance(frames, ImageSequence):
        return frames
    if isinstance(frames, str | Path):
        if is_project(Path(frames)):
            raise InputError(f"{frames} is a project; run it with run_job(Job(input=…), out), or give its frames")
        return read_sequence(frames)
    if isinstance(frames, np.ndarray) or hasattr(frames, "__array__"):
        return ImageSequence.from_array(frames)
    raise fault(frames, "frames", "an array (T, H, W) or (T, H, W, C), a path or an ImageSequence")


def as_points(points: Points | None, frames: Frames, sequence: ImageSequence) -> PointSet | None:
    """Points from a file, rows, rows by object, or as they are; None for those that come with the frames, if any."""
    if points is None:
        found = find_points(frames) if isinstance(frames, str | Path) else None
        return None if found is None else read_points(found, sequence)
    if isinstance(points, str | Path):
        return read_points(points, sequence)
    if not isinstance(points, PointSet):
        points = _from_rows(points)
    points.check_inside(len(sequence), sequence.size)
    return points


def as_bounds(
    bound: Bound | Mapping[str, Bound] | None, sequence: ImageSequence
) -> tuple[dict[str, AreaBound], dict[str, Box]]:
    """Bounds by object, EVERY for all that have none themselves, and the boxes among them."""
    given = bound if isinstance(bound, Mapping) else {} if bound is None else {EVERY: bound}
    boxes = {need(name, str, "an object", "a name"): each for name, each in given.items() if isinstance(each, Box)}
    return {name: _as_bound(each, sequence) for name, each in given.items()}, boxes


def as_words(words: GivenWords | None) -> dict[str, Words]:
    """Words by object, EVERY for those about the only one."""
    if words is None:
        return {}
    if isinstance(words, Words):
        return {EVERY: words}
    for name, each in need(words, Mapping, "words", "Words, or Words by object").items():
        need(name, str, "an object", "a name")
        need(each, Words, f"the annotations of {name}", "Words")
    return dict(words)


def _from_rows(points: Rows | Mapping[str, Rows]) -> PointSet:
    if not isinstance(points, Mapping):
        return PointSet.from_rows(points)
    rows: list[Any] = []
    names: list[str] = []
    for name, own in points.items():
        if isinstance(own, str) or not hasattr(own, "__len__"):
            raise fault(own, f"the points on {name}", "rows of three numbers: frame, y, x")
        rows += list(own)
        names += [name] * len(own)
    return PointSet.from_rows(rows, objects=names)


def _as_bound(bound: Any, sequence: ImageSequence) -> AreaBound:
    if isinstance(bound, AreaBound):
        return bound
    if isinstance(bound, Box):
        if not 0 <= bound.frame < len(sequence):
            raise InputError(f"the box is on frame {bound.frame}, but the sequence has frames 0 to {len(sequence) - 1}")
        return bound.bound(sequence.size)
    return AreaBound(bound)
