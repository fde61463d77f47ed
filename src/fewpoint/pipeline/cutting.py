"""Masks cut pixel by pixel from what is settled about superpixels; a single frame does not wait for all others."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from fewpoint.core import ProbabilityMaps, SuperpixelMap, Words
from fewpoint.core.labels import share_pixels
from fewpoint.core.paging import make_frames, walk
from fewpoint.core.threads import work_ahead
from fewpoint.pipeline.cleaning import CleanedFrames, clean_labels, drop_untied
from fewpoint.pipeline.task import Task
from fewpoint.superpixels.pixels import find_moves, move_pixels
from fewpoint.superpixels.regions import (
    paint_frame,
    paint_frames,
    region_means,
    regions_at_negatives,
    regions_at_points,
)


@dataclass(frozen=True, eq=False)
class Awaited:
    """Frames that are made when they are asked for: one of them, or all, one after another; both are alike."""

    on_frame: Callable[[int], np.ndarray]
    all: Callable[[], Iterator[np.ndarray]]

    @classmethod
    def of(cls, frames: np.ndarray) -> "Awaited":
        """Those that are there already."""
        return cls(frames.__getitem__, lambda: walk(frames))

    def then(self, work: Callable[[int, np.ndarray], np.ndarray]) -> "Awaited":
        """What is made of each frame and its number.

        >>> doubled = Awaited.of(np.array([[1], [2]])).then(lambda frame, values: 2 * values)
        >>> doubled.on_frame(1).tolist(), [each.tolist() for each in doubled.all()]
        ([4], [[2], [4]])
        """
        return Awaited(
            lambda frame: work(frame, self.on_frame(frame)),
            lambda: (work(frame, values) for frame, values in enumerate(self.all())),
        )


@dataclass(frozen=True, eq=False)
class Evidence:
    """How likely superpixels and their pixels are an object, before its size and words are heeded.

    means: (total,) of superpixels. pixels: (T, H, W); None if all pixels of a superpixel are as likely as it is.
    """

    superpixels: SuperpixelMap
    means: np.ndarray
    pixels: np.ndarray | None = None

    @classmethod
    def of_maps(cls, superpixels: SuperpixelMap, maps: ProbabilityMaps) -> "Evidence":
        return cls(superpixels, region_means(superpixels, maps.values), maps.values)

    def on_frame(self, frame: int) -> np.ndarray:
        """(H, W) of pixels."""
        return paint_frame(self.superpixels, self.means, frame) if self.pixels is None else self.pixels[frame]

    def walk(self) -> Iterator[np.ndarray]:
        """The same of each frame."""
        return paint_frames(self.superpixels, self.means) if self.pixels is None else walk(self.pixels)


@dataclass(frozen=True, eq=False)
class SettledObject:
    """An object whose superpixels are settled, and what it claims of each frame.

    evidence: what was known before. regions: (total,) probabilities since. blur: see DiffusionSettings.
    """

    task: Task
    evidence: Evidence
    regions: np.ndarray
    blur: float

    @cached_property
    def _moves(self) -> np.ndarray:
        return find_moves(self.evidence.means, self.regions)

    @cached_property
    def _fixed(self) -> np.ndarray:
        return fix_regions(self.task, self.evidence.superpixels)

    def walk_chances(self) -> Iterator[np.ndarray]:
        """(H, W) float32 probabilities of the pixels of each frame."""
        moves = paint_frames(self.evidence.superpixels, self._moves)
        return work_ahead(lambda own, move: move_pixels(own, move, self.blur), self.evidence.walk(), moves)

    def claim_on(self, frame: int) -> np.ndarray:
        """What it claims of a frame, see claim_frame."""
        return self._claim(frame, self.evidence.on_frame(frame))

    def _claim(self, frame: int, own: np.ndarray) -> np.ndarray:
        superpixels = self.evidence.superpixels
        chances = move_pixels(own, paint_frame(superpixels, self._moves, frame), self.blur)
        return self.claim(frame, chances.astype(np.float16))  # as precise as they are kept

    def claim(self, frame: int, chances: np.ndarray) -> np.ndarray:
        """The same, given the (H, W) float16 probabilities of its pixels."""
        likely = np.where(chances < 0.5, -np.inf, chances).astype(np.float32)
        return claim_frame(self.task, frame, likely, paint_frame(self.evidence.superpixels, self._fixed, frame))

    def walk_claims(self) -> Iterator[np.ndarray]:
        """What it claims of each frame."""
        return work_ahead(self._claim, range(len(self.evidence.superpixels.labels)), self.evidence.walk())


def fix_regions(task: Task, superpixels: SuperpixelMap) -> np.ndarray:
    """(total,) float32 of an object's superpixels: inf under a click, -inf under a negative, NaN elsewhere."""
    fixed = np.full(superpixels.total, np.nan, np.float32)
    fixed[regions_at_negatives(superpixels, task.points)] = -np.inf
    fixed[regions_at_points(superpixels, task.points)] = np.inf
    return fixed


def claim_frame(task: Task, frame: int, likely: np.ndarray, fixed: np.ndarray) -> np.ndarray:
    """(H, W) float32 of a frame, larger where the object is likelier: -inf outside its mask, inf where it surely is.

    likely: the same before single words are obeyed to the letter. fixed: (H, W), see fix_regions.
    """
    # Without pruning, a path may cross a frame of zeros to reach the object behind it.
    absent = frame in task.points.absent
    held = np.full_like(likely, -np.inf) if absent else np.where(np.isnan(fixed), likely, fixed)
    _, rows, columns = task.points.negatives[task.points.negatives[:, 0] == frame].T
    held[rows, columns] = -np.inf
    return _obey(held, frame, task.own_words)


def _obey(claims: np.ndarray, frame: int, words: Words) -> np.ndarray:
    """Claims (H, W) of a frame, infinite where it is outlined, and minus infinity outside its outline or its box."""
    size = (claims.shape[0], claims.shape[1])
    if frame in words.outlined:
        return np.where(words.mask(frame, size), np.float32(np.inf), np.float32(-np.inf))
    box = words.box_on(frame)
    if box is None:
        return claims
    obeyed = np.full_like(claims, -np.inf)
    inside = np.s_[box.top : box.bottom, box.left : box.right]
    obeyed[inside] = claims[inside]
    return obeyed


def cut_labels(objects: tuple[SettledObject, ...]) -> Awaited:
    """(H, W) uint8 labels of each frame, 0 or the number of one of the objects from 1, clean and without strays."""
    shape = objects[0].evidence.superpixels.labels.shape
    said = tuple((each.task.points, each.task.own_words) for each in objects)

    def cut_all() -> Iterator[np.ndarray]:
        labels = make_frames(shape, np.uint8)
        for place, claims in zip(
            walk(labels), zip(*(each.walk_claims() for each in objects), strict=True), strict=True
        ):
            place[:], _ = share_pixels(claims)
        for number, (points, words) in enumerate(said, start=1):
            clean_labels(labels, number, points, words)
            drop_untied(labels, number, points, words)
        return walk(labels)

    def cut_raw(frame: int) -> np.ndarray:
        return share_pixels(tuple(each.claim_on(frame) for each in objects))[0]

    return Awaited(CleanedFrames(cut_raw, shape[0], said).on_frame, cut_all)
