"""What a finished run leaves for another to refine; free of torch."""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from fewpoint.core import AreaBound, PointSet, SuperpixelMap
from fewpoint.core.saying import SaidWords
from fewpoint.pipeline.model import GroupModel, Model

Box = tuple[int, int, int, int]


@dataclass(frozen=True)
class Cut:
    """How the masks of an object were cut from scores, see masks.settle.

    level: what was taken off the scores for its size. corrected: whether words that the networks contradicted changed
    the scores of what is like the places marked. missed, leaked: how deep the latest clicks lay outside of masks, and
    the latest negatives inside, see contradiction.Contradiction.
    """

    level: float = 0.0
    corrected: bool = True
    missed: float | None = None
    leaked: float | None = None


@dataclass(frozen=True, eq=False)
class PreviousGroup:
    """Objects of a finished run that learnt together.

    bounds: of whole frames, one per object. box: top, bottom, left and right of their focus, ends exclusive.
    model: their networks. superpixels, logits: those in the focus, and what each network predicted there,
    (K, T, h, w) float16; None and empty if they are no longer there, and then made from scratch. first: what each
    predicted before any word, empty if the run was no refinement. cuts: of each object; none if that is not known.
    labels: (T, H, W) uint8 of the focus, 0 or the number of an object from 1; None if they are no longer there.
    motion: where places in the focus move, see learning.motion.Motion.found; None if that is not known.
    """

    bounds: tuple[AreaBound, ...]
    box: Box
    model: GroupModel
    superpixels: SuperpixelMap | None = None
    logits: tuple[np.ndarray, ...] = ()
    first: tuple[np.ndarray, ...] = ()
    cuts: tuple[Cut, ...] = ()
    labels: np.ndarray | None = None
    motion: np.ndarray | None = None

    @property
    def objects(self) -> tuple[str, ...]:
        return self.model.objects

    def owner_of(self, place: tuple[int, int, int]) -> str | None:
        """The object in whose mask a frame, y and x lie; None if there is none, or masks are no longer there."""
        (top, bottom, left, right), (frame, y, x) = self.box, place
        if self.labels is None or not (top <= y < bottom and left <= x < right):
            return None
        number = int(self.labels[frame, y - top, x - left])
        return self.objects[number - 1] if number else None

    def choose(self, names: tuple[str, ...]) -> "PreviousGroup":
        """What it knows about some of its objects; a single one may have another name now."""
        rows = [0] if len(names) == len(self.objects) == 1 else [self.objects.index(name) for name in names]
        return replace(
            self,
            bounds=tuple(self.bounds[row] for row in rows),
            model=self.model.choose(names),
            logits=tuple(values[rows] for values in self.logits),
            first=tuple(values[rows] for values in self.first),
            cuts=tuple(self.cuts[row] for row in rows) if self.cuts else (),
            labels=None if self.labels is None else _renumber(self.labels, rows, len(self.objects)),
        )


def _renumber(labels: np.ndarray, rows: list[int], count: int) -> np.ndarray:
    """Labels of some of `count` objects, numbered from 1 in the order of their rows; other objects become 0."""
    if rows == list(range(count)):
        return labels
    numbers = np.zeros(count + 1, np.uint8)
    numbers[[row + 1 for row in rows]] = np.arange(1, len(rows) + 1)
    return numbers[labels]


@dataclass(frozen=True, eq=False)
class PreviousRun:
    """What a run leaves for one that refines it.

    name: of its folder, empty if it had none. sequence: hash of its frames. settings: of its method.
    points, words: what it was told, None and nothing if that is not known; of a part that learnt together, as a task on
    these objects alone has them. started: the points that its networks learnt from scratch from, itself or in the run
    that was refined first; None if that is not known.
    """

    name: str
    sequence: str
    settings: Any
    groups: tuple[PreviousGroup, ...]
    model: Model
    points: PointSet | None = None
    words: SaidWords = ()
    started: PointSet | None = None

    @property
    def objects(self) -> tuple[str, ...]:
        return tuple(name for group in self.groups for name in group.objects)

    def owner_of(self, place: tuple[int, int, int]) -> str | None:
        """The object in whose mask a frame, y and x lie, of the first group that has one; None if none has."""
        owners = (group.owner_of(place) for group in self.groups)
        return next((name for name in owners if name is not None), None)

    def bounds_of(self, names: tuple[str, ...]) -> dict[str, AreaBound]:
        """The bound of each of these objects that it knows; a single one may have another name now."""
        known = names if len(names) == len(self.objects) == 1 else self.objects
        return dict(zip(known, (bound for group in self.groups for bound in group.bounds), strict=True))

    def group_names(self, names: tuple[str, ...]) -> tuple[tuple[str, ...], ...]:
        """The objects it knows among these, grouped as they learnt; a single one may have another name now."""
        if len(names) == len(self.objects) == 1:
            return (names,)
        together = (tuple(name for name in names if name in group.objects) for group in self.groups)
        return tuple(each for each in together if each)

    def of_objects(self, names: tuple[str, ...]) -> "PreviousRun | None":
        """The same, reduced to what it knows about these objects; None if they did not learn together."""
        alone = len(names) == len(self.objects) == 1
        for group in self.groups:
            if alone or set(names) <= set(group.objects):
                return replace(self._tell_of(names), groups=(group.choose(names),))
        return None

    def words_about(self, points: PointSet | None) -> SaidWords:
        """What it was told of the objects that these points are on, besides points; of all if there are none.

        A single one may have another name now.
        """
        names = self.objects if points is None else points.object_names or ("",)
        if len(names) == len(self.objects) == 1:
            return tuple((names[0], words) for _, words in self.words)
        return tuple((name, words) for name, words in self.words if name in names)

    def _tell_of(self, names: tuple[str, ...]) -> "PreviousRun":
        """The same, told of these objects only, as Task.of_objects would."""
        if self.points is None or len(self.points.object_names) < 2 or set(names) == set(self.points.object_names):
            return self
        alone = len(names) == 1

        def choose(points: PointSet) -> PointSet:
            return points.of_object(names[0]) if alone else points.of_objects(names)

        started = self.started
        if started is not None:
            started = choose(started) if set(names) <= set(started.object_names) else None
        words = tuple(("" if alone else name, words) for name, words in self.words if name in names)
        return replace(self, points=choose(self.points), words=words, started=started)
