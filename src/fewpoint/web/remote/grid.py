"""The array that a client sent, and the frames that it became."""

from dataclasses import dataclass

import numpy as np

from fewpoint.core.geometry import Geometry
from fewpoint.errors import InputError

Sides = tuple[tuple[int, int], ...]  # first and after the last along each axis
STORED = (2, 1, 0)  # a client's first axis is mostly that of slices, the last of a file


@dataclass(frozen=True)
class Grid:
    """shape: of the client's array, without channels. order: which of its axes are frame, y and x.

    >>> Grid((5, 64, 48), (0, 1, 2)).find_place([4, 63, 0])
    (4, 63, 0)
    """

    shape: tuple[int, int, int]
    order: tuple[int, int, int]

    @classmethod
    def of(cls, geometry: Geometry) -> "Grid":
        """geometry: of the volume as it was stored, with the client's axes the other way round."""
        a, b, c = (geometry.shape[axis] for axis in STORED)
        frame, y, x = (STORED[axis] for axis in geometry.axes)
        return cls((a, b, c), (frame, y, x))

    def to_frames(self, values: np.ndarray) -> np.ndarray:
        """(T, H, W) of a client's array."""
        return values.transpose(self.order)

    def from_frames(self, frames: np.ndarray) -> np.ndarray:
        """A client's array of (T, H, W)."""
        return frames.transpose(np.argsort(self.order).tolist())

    def find_place(self, coordinates: list[float]) -> tuple[int, int, int]:
        """Frame, y and x of a client's place."""
        if len(coordinates) != 3 or not np.isfinite(coordinates).all():
            raise InputError(f"a point must be three finite numbers, got {str(coordinates)[:60]}")
        place = [int(np.floor(value + 0.5)) for value in coordinates]
        if not all(0 <= value < side for value, side in zip(place, self.shape, strict=True)):
            raise InputError(f"a point must lie inside the image of shape {self.shape}, got {place}")
        frame, y, x = (place[axis] for axis in self.order)
        return frame, y, x

    def find_sides(self, box: list[list[float]]) -> Sides:
        """The sides of a client's box along frame, y and x, cut off where the image ends."""
        if len(box) != 3 or any(len(side) != 2 for side in box) or not np.isfinite(box).all():
            raise InputError(f"a box must be three pairs of finite numbers, got {str(box)[:80]}")
        sides = [
            (max(0, int(np.floor(min(side)))), min(length, int(np.ceil(max(side)))))
            for side, length in zip(box, self.shape, strict=True)
        ]
        if any(low >= high for low, high in sides):
            raise InputError(f"a box must hold a voxel of the image of shape {self.shape}, got {str(box)[:80]}")
        return tuple(sides[axis] for axis in self.order)

    def place_mask(self, mask: np.ndarray, box: list[list[float]] | None) -> tuple[np.ndarray, Sides]:
        """What a client's mask marks along frame, y and x, and where in the image that lies.

        box: the part of the image that the mask is of; None for the whole.
        """
        whole = [[0.0, float(side)] for side in self.shape]
        sides = self.find_sides(whole if box is None else box)
        given = tuple(sides[self.order.index(axis)] for axis in range(3))
        wanted = tuple(high - low for low, high in given)
        if mask.shape != wanted:
            raise InputError(f"a mask must have the shape {wanted} of its part of the image, got {mask.shape}")
        if mask.dtype.kind == "f" and not np.isfinite(mask).all():
            raise InputError("a mask must have finite values, got NaN or infinite ones")
        found = mask > 0
        if not found.any():
            raise InputError("a mask must mark one voxel at least, this one is empty")
        return crop(self.to_frames(found), sides)


def crop(mask: np.ndarray, sides: Sides) -> tuple[np.ndarray, Sides]:
    """The part of a mask that is not empty, and where it lies; sides: where the mask lies.

    >>> crop(np.array([[[0, 1, 1, 0]]], bool), ((5, 6), (0, 1), (10, 14)))[1]
    ((5, 6), (0, 1), (11, 13))
    """
    inner = []
    for axis in range(3):
        marked = np.flatnonzero(mask.any(axis=tuple({0, 1, 2} - {axis})))
        inner.append((int(marked[0]), int(marked[-1]) + 1))
    part = mask[tuple(slice(low, high) for low, high in inner)]
    return part, tuple((start + low, start + high) for (start, _), (low, high) in zip(sides, inner, strict=True))
