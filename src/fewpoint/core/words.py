"""What a person says about an object besides where it is: outlined frames, boxes, and how large it should be."""

import hashlib
import json
import math
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from fewpoint.core.bound import AreaBound
from fewpoint.core.run_lengths import Stretches, check_stretches, decode_mask, encode_mask
from fewpoint.errors import InputError

SMALLEST_SIZE, LARGEST_SIZE = 0.05, 20.0


@dataclass(frozen=True)
class Box:
    """A box on a frame, bottom and right exclusive."""

    frame: int
    top: int
    left: int
    bottom: int
    right: int

    def bound(self, size: tuple[int, int]) -> AreaBound:
        """The share of a frame of this size inside the box."""
        return AreaBound.from_box((self.top, self.left, self.bottom, self.right), size)


@dataclass(frozen=True)
class Words:
    """What a person has said about one object besides clicks.

    outlined: by frame, its whole mask as run lengths: every pixel of that frame is known. boxes: at most one per frame;
    nothing of the object lies outside on that frame. size: how many times larger the masks should be than what is found
    without this word. sizes: the same of single frames, on top of size.

    >>> words = Words.of({3: np.eye(2, dtype=bool)}, size=1.5)
    >>> words.mask(3, (2, 2)).astype(int).tolist(), words.size_of(3), Words().empty
    ([[1, 0], [0, 1]], 1.5, True)
    """

    outlined: Mapping[int, Stretches] = field(default_factory=dict)
    boxes: tuple[Box, ...] = ()
    size: float = 1.0
    sizes: Mapping[int, float] = field(default_factory=dict)

    def __post_init__(self) -> None:
        for size in (self.size, *self.sizes.values()):
            if not SMALLEST_SIZE <= size <= LARGEST_SIZE:
                raise InputError(
                    f"a size must be a factor between {SMALLEST_SIZE:g} and {LARGEST_SIZE:g}, got {size:g}; "
                    "1 leaves masks as large as they are"
                )
        frames = [box.frame for box in self.boxes]
        twice = [frame for frame in frames if frames.count(frame) > 1]
        if twice:
            raise InputError(f"a frame can have one box per object, frame {twice[0]} has several; keep one of them")

    @classmethod
    def of(
        cls,
        outlined: Mapping[int, np.ndarray] | None = None,
        boxes: tuple[Box, ...] = (),
        size: float = 1.0,
        sizes: Mapping[int, float] | None = None,
    ) -> "Words":
        """From masks (H, W) by frame."""
        masks = {frame: encode_mask(mask) for frame, mask in sorted((outlined or {}).items())}
        return cls(masks, tuple(sorted(boxes, key=lambda box: box.frame)), size, dict(sorted((sizes or {}).items())))

    @property
    def empty(self) -> bool:
        return self == NOTHING_SAID

    @property
    def without_sizes(self) -> "Words":
        return replace(self, size=1.0, sizes={})

    def mask(self, frame: int, size: tuple[int, int]) -> np.ndarray:
        """(H, W) bool mask of an outlined frame."""
        return decode_mask(self.outlined[frame], size)

    def size_of(self, frame: int) -> float:
        return self.size * self.sizes.get(frame, 1.0)

    def box_on(self, frame: int) -> Box | None:
        return next((box for box in self.boxes if box.frame == frame), None)

    def crop(self, rows: tuple[int, int], columns: tuple[int, int], size: tuple[int, int]) -> "Words":
        """The same inside some rows and columns, ends exclusive, of frames of a size (height, width)."""
        (top, bottom), (left, right) = rows, columns
        outlined = {
            frame: encode_mask(decode_mask(runs, size)[top:bottom, left:right]) for frame, runs in self.outlined.items()
        }
        boxes = (
            Box(
                box.frame,
                *(max(0, start - corner) for start, corner in ((box.top, top), (box.left, left))),
                *(
                    min(end, last) - corner
                    for end, last, corner in ((box.bottom, bottom, top), (box.right, right, left))
                ),
            )
            for box in self.boxes
        )
        kept = tuple(box for box in boxes if box.top < box.bottom and box.left < box.right)
        return replace(self, outlined=outlined, boxes=kept)

    def check_inside(self, n_frames: int, size: tuple[int, int]) -> None:
        """Raise InputError for the first word about something outside (n_frames, height, width)."""
        named = {"an outlined mask": self.outlined, "a size": self.sizes, "a box": [box.frame for box in self.boxes]}
        for what, frames in named.items():
            outside = [frame for frame in frames if not 0 <= frame < n_frames]
            if outside:
                raise InputError(
                    f"{what} is on frame {outside[0]}, but the sequence has frames 0 to {n_frames - 1}; "
                    "frames count from zero"
                )
        for runs in self.outlined.values():
            check_stretches(runs, size)
        for box in self.boxes:
            box.bound(size)

    def as_table(self) -> dict[str, Any]:
        """Plain values for JSON, for from_table to read."""
        return {
            "outlined": {str(frame): [list(run) for run in runs] for frame, runs in sorted(self.outlined.items())},
            "boxes": [[box.frame, box.top, box.left, box.bottom, box.right] for box in self.boxes],
            "size": self.size,
            "sizes": {str(frame): size for frame, size in sorted(self.sizes.items())},
        }

    @classmethod
    def from_table(cls, table: Any) -> "Words":
        """The words that as_table turned into plain values; whatever is missing was not said."""
        try:
            return cls(
                {int(frame): _read_runs(runs) for frame, runs in table.get("outlined", {}).items()},
                tuple(Box(*map(_whole, box)) for box in table.get("boxes", [])),
                _finite(table.get("size", 1.0)),
                {int(frame): _finite(size) for frame, size in table.get("sizes", {}).items()},
            )
        except (AttributeError, TypeError, ValueError) as error:
            raise InputError(
                "words must be outlined masks as runs by frame, boxes of frame, top, left, bottom, right, and sizes"
            ) from error

    def digest(self) -> str:
        """SHA-256 (hex) of all that was said."""
        return hashlib.sha256(json.dumps(self.as_table(), sort_keys=True).encode()).hexdigest()


NOTHING_SAID = Words()


def _read_runs(runs: Any) -> Stretches:
    return tuple((_whole(start), _whole(length)) for start, length in runs)


def _whole(value: Any) -> int:
    if type(value) is not int:
        raise ValueError(f"{value} is no whole number")
    return value


def _finite(value: Any) -> float:
    if type(value) not in (int, float) or not math.isfinite(value):
        raise ValueError(f"{value} is no finite number")
    return float(value)
