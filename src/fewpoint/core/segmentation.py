"""The result: one mask a frame, or one an object and frame, with what it rests on."""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import numpy as np

from fewpoint.core.bound import AreaBound
from fewpoint.core.history import PriorEstimate, PriorHistory
from fewpoint.core.labels import LabelMap, ObjectLabel
from fewpoint.core.paging import gather_frames, walk
from fewpoint.core.probabilities import ProbabilityMaps
from fewpoint.core.source import Source
from fewpoint.errors import InputError


@dataclass(frozen=True, eq=False)
class Segmentation:
    """Masks of one object on every frame of a sequence.

    masks: (T, H, W) bool, at the input's size.
    names: one name a frame, the input's.
    source: the file the frames were read from, in whose format and place the masks are saved; None without one.
    """

    masks: np.ndarray
    probabilities: ProbabilityMaps
    priors: PriorEstimate
    history: PriorHistory
    bound: AreaBound
    names: tuple[str, ...]
    source: Source | None = None

    def __post_init__(self) -> None:
        if self.masks.dtype != bool or self.masks.shape != self.probabilities.values.shape:
            raise InputError(
                f"masks must be bool with the probabilities' shape {self.probabilities.values.shape}, "
                f"got {self.masks.dtype} {self.masks.shape}"
            )
        if not len(self.masks) == len(self.priors.mean) == len(self.names):
            raise InputError("masks, priors and names must have one entry a frame")

    @cached_property
    def areas(self) -> np.ndarray:
        """(T,) int64 pixels of each mask."""
        return np.array([np.count_nonzero(mask) for mask in walk(self.masks)], np.int64)

    @property
    def shares(self) -> np.ndarray:
        """(T,) float64 share of each frame that is masked."""
        return self.areas / self.masks[0].size

    @property
    def labels(self) -> LabelMap:
        """The masks as a label map of one object without a name of its own."""
        return LabelMap(self.masks.view(np.uint8), (ObjectLabel("object"),), self.names, self.source)

    def save(self, folder: str | Path) -> Path:
        """Write masks, probabilities, priors and history to a new or empty folder, and return it."""
        from fewpoint.io.runs import save_segmentation  # the one import that points up: a method users look for

        return save_segmentation(self, Path(folder))


@dataclass(frozen=True, eq=False)
class LabelledSegmentation:
    """Masks of several objects, of which no two share a pixel.

    objects: what they are called and drawn in. parts: the result for each of them, in the same order.
    notes: what a user should know of how they share the frames, a sentence each.
    """

    objects: tuple[ObjectLabel, ...]
    parts: tuple[Segmentation, ...]
    notes: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        if not self.parts or len(self.objects) != len(self.parts):
            raise InputError(f"each object needs one result: {len(self.objects)} objects, {len(self.parts)} results")
        if len({part.masks.shape for part in self.parts}) > 1:
            raise InputError("the masks of all objects must have one shape")
        if any((np.sum(masks, axis=0, dtype=np.uint8) > 1).any() for masks in self._walk_masks()):
            raise InputError("masks of several objects must not overlap; give each pixel to one of them")

    def __getitem__(self, name: str) -> Segmentation:
        """The result for the object of that name."""
        for label, part in zip(self.objects, self.parts, strict=True):
            if label.name == name:
                return part
        raise InputError(f"there is no object {name}; there are {', '.join(label.name for label in self.objects)}")

    @property
    def labels(self) -> LabelMap:
        values = gather_frames(map(_number, self._walk_masks()), self.parts[0].masks.shape, np.uint8)
        return LabelMap(values, self.objects, self.parts[0].names, self.parts[0].source)

    def _walk_masks(self) -> Iterator[tuple[np.ndarray, ...]]:
        """The masks of all objects, frame after frame."""
        return zip(*(walk(part.masks) for part in self.parts), strict=True)

    @property
    def source(self) -> Source | None:
        return self.parts[0].source

    def save(self, folder: str | Path) -> Path:
        """Write the label map and each object's probabilities, priors and history to a new or empty folder."""
        from fewpoint.io.runs import save_segmentation  # see Segmentation.save

        return save_segmentation(self, Path(folder))


def _number(masks: tuple[np.ndarray, ...]) -> np.ndarray:
    """(H, W) uint8 number of the mask, from 1, that holds each pixel."""
    labels = np.zeros(masks[0].shape, np.uint8)
    for number, mask in enumerate(masks, start=1):
        labels[mask] = number
    return labels


AnySegmentation = Segmentation | LabelledSegmentation
