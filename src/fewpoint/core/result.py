"""The result of a run: for each of its objects one mask per frame, with what the masks are based on."""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path

import numpy as np

from fewpoint.core.bound import AreaBound
from fewpoint.core.given import need, need_path
from fewpoint.core.history import PriorEstimate, PriorHistory
from fewpoint.core.labels import LabelMap, ObjectLabel
from fewpoint.core.paging import gather_frames, walk
from fewpoint.core.probabilities import ProbabilityMaps
from fewpoint.core.sequence import ImageSequence
from fewpoint.core.source import Source
from fewpoint.errors import InputError

UNNAMED = ObjectLabel("object")  # the only object of a run whose points name none


@dataclass(frozen=True, eq=False)
class ObjectResult:
    """What was found of one object.

    masks: (T, H, W) bool, at the input's size.
    """

    masks: np.ndarray
    probabilities: ProbabilityMaps
    priors: PriorEstimate
    history: PriorHistory
    bound: AreaBound
    label: ObjectLabel = UNNAMED

    def __repr__(self) -> str:
        frames, height, width = self.masks.shape
        shown = int((self.areas > 0).sum())
        return f"<ObjectResult: {self.name} on {shown} of {frames} frames of {height} x {width}>"

    def __post_init__(self) -> None:
        need(self.masks, np.ndarray, "masks", "a bool array (T, H, W)")
        if self.masks.dtype != bool or self.masks.shape != self.probabilities.values.shape:
            raise InputError(
                f"masks must be bool with the probabilities' shape {self.probabilities.values.shape}, "
                f"got {self.masks.dtype} {self.masks.shape}"
            )
        if len(self.masks) != len(self.priors.mean):
            raise InputError("masks and priors must have one entry per frame")

    @property
    def name(self) -> str:
        return self.label.name

    @cached_property
    def areas(self) -> np.ndarray:
        """(T,) int64 pixels of each mask."""
        return np.array([np.count_nonzero(mask) for mask in walk(self.masks)], np.int64)

    @property
    def shares(self) -> np.ndarray:
        """(T,) float64 share of each frame that is masked."""
        return self.areas / self.masks[0].size


@dataclass(frozen=True, eq=False)
class Result:
    """Masks of one object or several on every frame of a sequence; no two objects share a pixel.

    objects: at least one, in the order of their numbers in a label map.
    names: one name per frame, the input's.
    source: the file the frames were read from, in whose format and geometry the masks are saved; None if there is none.
    notes: what a user should know about how objects share the frames, one sentence each.
    sequence: the frames themselves, for pictures of the result; None if they are not at hand.

    A notebook shows it as a picture. The properties masks, probabilities, priors, history, bound, areas and shares are
    those of the only object.
    """

    objects: tuple[ObjectResult, ...]
    names: tuple[str, ...]
    source: Source | None = None
    notes: tuple[str, ...] = ()
    sequence: ImageSequence | None = None

    def __repr__(self) -> str:
        frames, height, width = self.objects[0].masks.shape
        shown = (f"{each.name} on {int((each.areas > 0).sum())}" for each in self.objects)
        return f"<Result: {', '.join(shown)} of {frames} frames of {height} x {width}>"

    def _repr_png_(self) -> bytes:
        """A few frames with the outline of each object, for notebooks."""
        from fewpoint.report.glance import draw_glance, encode_png  # points up, as save does

        return encode_png(draw_glance(self))

    def _repr_html_(self) -> str:
        """The same with what was found in words."""
        from fewpoint.report.glance import render_glance

        return render_glance(self)

    def __post_init__(self) -> None:
        if not self.objects:
            raise InputError("a result needs at least one object, got none")
        if {each.masks.shape for each in self.objects} != {(len(self.names), *self.objects[0].masks.shape[1:])}:
            raise InputError("the masks of all objects must have one shape, and one name per frame")
        several = len(self.objects) > 1
        if several and any((np.sum(masks, axis=0, dtype=np.uint8) > 1).any() for masks in self._walk_masks()):
            raise InputError("masks of several objects must not overlap; give each pixel to one of them")

    @classmethod
    def single(
        cls,
        masks: np.ndarray,
        probabilities: ProbabilityMaps,
        priors: PriorEstimate,
        history: PriorHistory,
        bound: AreaBound,
        names: tuple[str, ...],
        source: Source | None = None,
    ) -> "Result":
        """The result for a single object without a name."""
        return cls((ObjectResult(masks, probabilities, priors, history, bound),), names, source)

    def __getitem__(self, name: str) -> "Result":
        """The result for the object with that name alone."""
        for each in self.objects:
            if each.name == name:
                return replace(self, objects=(each,), notes=())
        raise InputError(f"there is no object {name}; there are {', '.join(each.name for each in self.objects)}")

    def split(self) -> tuple["Result", ...]:
        """One result per object, in order."""
        return tuple(replace(self, objects=(each,), notes=()) for each in self.objects)

    @property
    def only(self) -> ObjectResult:
        """The only object; InputError if there are several."""
        first, *others = self.objects
        if others:
            names = ", ".join(each.name for each in self.objects)
            raise InputError(f"the result has several objects: {names}; choose one with result[NAME]")
        return first

    @property
    def masks(self) -> np.ndarray:
        """(T, H, W) bool masks of the only object."""
        return self.only.masks

    @property
    def probabilities(self) -> ProbabilityMaps:
        """How sure the only object is at each pixel."""
        return self.only.probabilities

    @property
    def priors(self) -> PriorEstimate:
        """Share of each frame that the only object is expected to cover."""
        return self.only.priors

    @property
    def history(self) -> PriorHistory:
        """The course of training; empty for a result that was read from a folder."""
        return self.only.history

    @property
    def bound(self) -> AreaBound:
        """The largest share of a frame that the only object was taken to cover."""
        return self.only.bound

    @property
    def areas(self) -> np.ndarray:
        """(T,) int64 pixels of each mask of the only object."""
        return self.only.areas

    @property
    def shares(self) -> np.ndarray:
        """(T,) float64 share of each frame that is in the mask of the only object."""
        return self.only.shares

    @property
    def labels(self) -> LabelMap:
        """The masks of all objects as one label map."""
        shape = self.objects[0].masks.shape
        if len(self.objects) == 1:
            values = self.masks.view(np.uint8)
        else:
            values = gather_frames(map(_number, self._walk_masks()), shape, np.uint8)
        return LabelMap(values, tuple(each.label for each in self.objects), self.names, self.source)

    def save(self, folder: str | Path) -> Path:
        """Write masks, probabilities, priors and history to a new or empty folder, and return it."""
        from fewpoint.io.runs import save_result  # the one import that points up: users look for this method

        return save_result(self, need_path(folder, "folder"))

    def _walk_masks(self) -> Iterator[tuple[np.ndarray, ...]]:
        """The masks of all objects, frame after frame."""
        return zip(*(walk(each.masks) for each in self.objects), strict=True)


def _number(masks: tuple[np.ndarray, ...]) -> np.ndarray:
    """(H, W) uint8 number of the mask, from 1, that holds each pixel."""
    labels = np.zeros(masks[0].shape, np.uint8)
    for number, mask in enumerate(masks, start=1):
        labels[mask] = number
    return labels
