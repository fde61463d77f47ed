"""What a person says about an object besides where it is: outlined frames, boxes, and how large it should be."""

import hashlib
import json
import math
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from fewpoint.core.bound import AreaBound
from fewpoint.core.given import need, need_real, need_whole
from fewpoint.core.run_lengths import Stretches, check_stretches, decode_mask, encode_mask
from fewpoint.errors import InputError

SMALLEST_SIZE, LARGEST_SIZE = 0.05, 20.0


@dataclass(frozen=True)
class Box:
    """A box on a frame, in whole pixels, bottom and right exclusive; fractions are refused."""

    frame: int
    top: int
    left: int
    bottom: int
    right: int

    def __post_init__(self) -> None:
        for name in ("frame", "top", "left", "bottom", "right"):
            object.__setattr__(self, name, need_whole(getattr(self, name), f"{name} of a box"))

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

    def __repr__(self) -> str:
        said = {
            "outlined": sorted(self.outlined),
            "boxes": list(self.boxes),
            "size": None if self.size == 1 else self.size,
            "sizes": dict(self.sizes),
        }
        return f"<Words: {', '.join(f'{name} {value}' for name, value in said.items() if value) or 'nothing said'}>"

    def __post_init__(self) -> None:
        for runs in need(self.outlined, Mapping, "outlined", "masks by frame; use Words.of for arrays").values():
            need(runs, tuple, "a drawn mask", "stretches of pixels; use Words.of for arrays")
        need(self.sizes, Mapping, "sizes", "factors by frame")
        for box in need(self.boxes, tuple, "boxes", "a tuple of Box"):
            need(box, Box, "a box", "a Box")
        for size in (self.size, *self.sizes.values()):
            need_real(size, "a size")
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
        """What is said, from arrays.

        outlined: the whole mask (H, W) of a frame, bool, by frame. boxes: round the object, at most one per frame.
        size: how many times larger masks should be than what is found; sizes: the same of single frames.
        """
        drawn = need({} if outlined is None else outlined, Mapping, "outlined", "masks (H, W) by frame")
        masks = {
            need_whole(frame, "the frame of a drawn mask"): encode_mask(_as_mask(mask)) for frame, mask in drawn.items()
        }
        masks = dict(sorted(masks.items()))
        return cls(masks, tuple(sorted(boxes, key=lambda box: box.frame)), size, dict(sorted((sizes or {}).items())))

    @property
    def empty(self) -> bool:
        """Whether nothing was said."""
        return self == NOTHING_SAID

    @property
    def without_sizes(self) -> "Words":
        """The same without what was said of sizes."""
        return replace(self, size=1.0, sizes={})

    def mask(self, frame: int, size: tuple[int, int]) -> np.ndarray:
        """(H, W) bool mask of an outlined frame."""
        return decode_mask(self.outlined[frame], size)

    def size_of(self, frame: int) -> float:
        """How many times larger the mask of a frame should be."""
        return self.size * self.sizes.get(frame, 1.0)

    def box_on(self, frame: int) -> Box | None:
        """The box on a frame, None if there is none."""
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

    def between(self, first: int, end: int) -> "Words":
        """What was said of frames first to end, exclusive, counted from the first of them.

        >>> Words(boxes=(Box(4, 0, 0, 2, 2),), sizes={9: 2.0}).between(3, 6)
        <Words: boxes [Box(frame=1, top=0, left=0, bottom=2, right=2)]>
        """
        return Words(
            {frame - first: runs for frame, runs in self.outlined.items() if first <= frame < end},
            tuple(replace(box, frame=box.frame - first) for box in self.boxes if first <= box.frame < end),
            self.size,
            {frame - first: size for frame, size in self.sizes.items() if first <= frame < end},
        )

    def check_inside(self, n_frames: int, size: tuple[int, int]) -> None:
        """Raise InputError for the first word about something outside (n_frames, height, width)."""
        named = {"a drawn mask": self.outlined, "a size": self.sizes, "a box": [box.frame for box in self.boxes]}
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
                "annotations must be drawn masks as runs by frame, boxes of frame, top, left, bottom, right, and sizes"
            ) from error

    def digest(self) -> str:
        """SHA-256 (hex) of all that was said."""
        return hashlib.sha256(json.dumps(self.as_table(), sort_keys=True).encode()).hexdigest()


NOTHING_SAID = Words()


def _as_mask(mask: Any) -> np.ndarray:
    if not isinstance(mask, np.ndarray) or mask.ndim != 2 or mask.dtype != bool:
        got = f"{mask.dtype} {mask.shape}" if isinstance(mask, np.ndarray) else type(mask).__name__
        raise InputError(f"a drawn mask must be a bool array (H, W), got {got}")
    return mask


def _read_runs(runs: Any) -> Stretches:
    return tuple((_whole(start), _whole(length)) for start, length in runs)


def _whole(value: Any) -> int:
    if type(value) is not int:
        raise ValueError(f"{value} is not a whole number")
    return value


def _finite(value: Any) -> float:
    if type(value) not in (int, float) or not math.isfinite(value):
        raise ValueError(f"{value} is not a finite number")
    return float(value)
