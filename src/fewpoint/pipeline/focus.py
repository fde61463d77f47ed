"""The focus of a run, a box that it works in: round the points, as far as the bound lets the object reach.

A small object in a large frame is then seen at a higher resolution, in less time, and superpixels are finer.
"""

import math
from dataclasses import dataclass, replace

import numpy as np

from fewpoint.core import (
    AreaBound,
    EpochFinished,
    EpochPredicted,
    EpochRecord,
    ImageSequence,
    Listener,
    ObjectResult,
    PointSet,
    PriorEstimate,
    PriorHistory,
    ProbabilityMaps,
    SuperpixelMap,
    SuperpixelsReady,
    Words,
)
from fewpoint.core.paging import make_frames, walk
from fewpoint.core.progress import Event
from fewpoint.io.formats import Outputs
from fewpoint.pipeline.task import Task

LARGEST_BOUND = 0.95


@dataclass(frozen=True)
class Focus:
    """A box in frames of a full size (height, width): rows top … bottom and columns left … right, ends exclusive."""

    full: tuple[int, int]
    top: int
    bottom: int
    left: int
    right: int

    @classmethod
    def find(cls, points: PointSet, full: tuple[int, int], bound: AreaBound, radii: float) -> "Focus":
        """The box round all points, widened by some radii of a disc of the bound's area; 0 radii mean whole frames.

        >>> Focus.find(PointSet.from_rows([(0, 50, 50)]), (100, 100), AreaBound(0.0314159), 2.0)
        Focus(full=(100, 100), top=30, bottom=71, left=30, right=71)
        """
        height, width = full
        if radii == 0:
            return cls(full, 0, height, 0, width)
        margin = math.floor(radii * math.sqrt(bound.fraction * height * width / math.pi) + 0.5)
        (top, left), (bottom, right) = points.coordinates[:, 1:].min(axis=0), points.coordinates[:, 1:].max(axis=0)
        return cls(
            full,
            max(0, int(top) - margin),
            min(height, int(bottom) + margin + 1),
            max(0, int(left) - margin),
            min(width, int(right) + margin + 1),
        )

    @classmethod
    def round_all(cls, foci: "list[Focus]") -> "Focus":
        """The box round several boxes in the same frames."""
        return cls(
            foci[0].full,
            min(focus.top for focus in foci),
            max(focus.bottom for focus in foci),
            min(focus.left for focus in foci),
            max(focus.right for focus in foci),
        )

    @property
    def longer_side(self) -> int:
        return max(self.bottom - self.top, self.right - self.left)

    @property
    def box(self) -> tuple[int, int, int, int]:
        return self.top, self.bottom, self.left, self.right

    def reach(self, points: PointSet, other: "Focus") -> "Focus":
        """The same box if all points lie in it, else the smallest that holds it and the other box."""
        places = points.coordinates[:, 1:]
        if ((places >= (self.top, self.left)) & (places < (self.bottom, self.right))).all():
            return self
        ends = max(self.bottom, other.bottom), max(self.right, other.right)
        return Focus(self.full, min(self.top, other.top), ends[0], min(self.left, other.left), ends[1])

    def hold(self, words: tuple[Words, ...]) -> "Focus":
        """The smallest box that holds this one and all outlined masks."""
        masks = [each.mask(frame, self.full) for each in words for frame, runs in each.outlined.items() if runs]
        if not masks:
            return self
        drawn = np.logical_or.reduce(masks)
        rows, columns = (np.flatnonzero(drawn.any(axis)) for axis in (1, 0))
        return Focus(
            self.full,
            min(self.top, int(rows[0])),
            max(self.bottom, int(rows[-1]) + 1),
            min(self.left, int(columns[0])),
            max(self.right, int(columns[-1]) + 1),
        )

    @property
    def whole(self) -> bool:
        return (self.top, self.left) == (0, 0) and (self.bottom, self.right) == self.full

    @property
    def share(self) -> float:
        """Of the frame's area."""
        return (self.bottom - self.top) * (self.right - self.left) / (self.full[0] * self.full[1])

    def narrow(self, task: Task) -> Task:
        """The same task inside the box, with no outputs; its bound is still that of whole frames."""
        if self.whole:
            return task
        sequence = self.crop(task.sequence)
        rows, columns = (self.top, self.bottom), (self.left, self.right)
        words = tuple((name, each.crop(rows, columns, self.full)) for name, each in task.words)
        points, previous = self.narrow_points(task.points), task.previous
        if previous is not None:
            told = {name: getattr(previous, name) for name in ("points", "started")}
            previous = replace(
                previous, **{name: self.narrow_points(own) for name, own in told.items() if own is not None}
            )
        inside = replace(task, sequence=sequence, points=points, words=words, previous=previous)
        return replace(inside, outputs=Outputs(formats=()))

    def crop(self, sequence: ImageSequence) -> ImageSequence:
        """The sequence inside the box."""
        return sequence if self.whole else sequence.crop((self.top, self.bottom), (self.left, self.right))

    def drop_outside(self, points: PointSet) -> PointSet:
        """The points of one object without those outside the box; all of them if none lies in it."""
        places = points.coordinates[:, 1:]
        inside = np.all((places >= (self.top, self.left)) & (places < (self.bottom, self.right)), axis=1)
        if inside.all() or not inside.any():
            return points
        names = tuple(name for name, kept in zip(points.objects, inside.tolist(), strict=False) if kept)
        return replace(points, coordinates=points.coordinates[inside], objects=names)

    def narrow_points(self, points: PointSet) -> PointSet:
        """The points in the box's own rows and columns, without the negatives outside it: no mask reaches there."""
        corner = [0, self.top, self.left]
        end = [np.inf, self.bottom, self.right]
        inside = np.all((points.negatives >= corner) & (points.negatives < end), axis=1)
        names = points.negative_objects
        return replace(
            points,
            coordinates=points.coordinates - corner,
            negatives=points.negatives[inside] - corner,
            negative_objects=tuple(name for name, kept in zip(names, inside.tolist(), strict=False) if kept),
        )

    def narrow_bound(self, bound: AreaBound) -> AreaBound:
        """The bound as a share of the box."""
        if self.whole:
            return bound
        return replace(bound, fraction=min(bound.fraction / self.share, LARGEST_BOUND))

    def widen(self, result: ObjectResult, bound: AreaBound) -> ObjectResult:
        """What was found inside the box as a result for whole frames, empty outside, with their bound."""
        if self.whole:
            return result
        return replace(
            result,
            masks=self.paste(result.masks),
            probabilities=ProbabilityMaps(self.paste(result.probabilities.values)),
            priors=self._widen_priors(result.priors),
            history=self._widen_history(result.history),
            bound=bound,
        )

    def tell(self, listener: Listener) -> Listener:
        """A listener for events inside the box, which passes them on as events of whole frames."""
        if self.whole:
            return listener

        def tell(event: Event) -> None:
            match event:
                case SuperpixelsReady(superpixels):
                    event = replace(event, superpixels=self.widen_superpixels(superpixels))
                case EpochPredicted(probabilities=probabilities, priors=priors):
                    padded = np.pad(probabilities, ((0, 0), (0, 1)))
                    event = replace(event, probabilities=padded, priors=priors * self.share)
                case EpochFinished(record):
                    event = replace(event, record=self._widen_record(record))
            listener(event)

        return tell

    def widen_superpixels(self, superpixels: SuperpixelMap) -> SuperpixelMap:
        """The superpixels of whole frames: all that lies outside the box is one more region, the frame's last."""
        return SuperpixelMap(self.paste(superpixels.labels, superpixels.counts))

    def paste(self, values: np.ndarray, outside: np.ndarray | None = None) -> np.ndarray:
        """(T, *full) with the values in the box; outside: (T,) what the rest of each frame holds, 0 if None."""
        whole = make_frames((len(values), *self.full), values.dtype)
        for number, (place, inside) in enumerate(zip(walk(whole), walk(values), strict=True)):
            if outside is not None:
                place[:] = outside[number]
            place[self.top : self.bottom, self.left : self.right] = inside
        return whole

    def paste_frame(self, values: np.ndarray) -> np.ndarray:
        """(*full) of a frame with the values in the box, 0 outside."""
        if self.whole:
            return values
        whole = np.zeros(self.full, values.dtype)
        whole[self.top : self.bottom, self.left : self.right] = values
        return whole

    def move(self, values: np.ndarray, box: tuple[int, int, int, int]) -> np.ndarray:
        """(T, rows, columns) of this box with the values of another, see box, that lies in it; 0 elsewhere."""
        top, bottom, left, right = box
        return np.pad(values, ((0, 0), (top - self.top, self.bottom - bottom), (left - self.left, self.right - right)))

    def _widen_priors(self, priors: PriorEstimate) -> PriorEstimate:
        return PriorEstimate(priors.mean * self.share, priors.deviation * self.share, priors.observed * self.share)

    def _widen_history(self, history: PriorHistory) -> PriorHistory:
        return replace(
            history,
            records=tuple(self._widen_record(record) for record in history.records),
            priors=history.priors * np.float32(self.share),
            observed=history.observed * np.float32(self.share),
            positive_share=history.positive_share * np.float32(self.share),
        )

    def _widen_record(self, record: EpochRecord) -> EpochRecord:
        return replace(
            record,
            mean_prior=record.mean_prior * self.share,
            largest_positive_share=record.largest_positive_share * self.share,
        )
