"""Where the voxels of a volume lie, and the frames that a server makes of them.

Slicer counts voxels as i, j, k and has them in arrays (K, J, I). The server cuts a volume into frames along the axis of
the widest spacing, or the last one. The axis for frames is stored last in what is sent, so that both agree on frames,
rows and columns.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

CLEARLY_COARSER = 1.01
TO_LPS = np.array([-1.0, -1.0, 1.0])
TYPES = {
    "int8": "int8",
    "uint8": "uint8",
    "int16": "int16",
    "uint16": "uint16",
    "int32": "int32",
    "uint32": "uint32",
    "float32": "float",
    "float64": "double",
}


class PlaceError(Exception):
    """A point is not where it can be used."""


@dataclass(frozen=True)
class Point:
    """A control point. ras: right, anterior, superior in millimetres, in the volume's own coordinates."""

    label: str
    ras: tuple[float, float, float]


@dataclass(frozen=True, eq=False)
class Grid:
    """shape: voxels along i, j, k. ijk_to_ras: (4, 4). order: the axes as they are sent, that of frames last."""

    shape: tuple[int, int, int]
    ijk_to_ras: np.ndarray
    order: tuple[int, int, int]

    @classmethod
    def of(cls, shape: Sequence[int], ijk_to_ras: np.ndarray) -> Grid:
        """The grid with the axis of frames that the server would choose.

        >>> Grid.of((8, 8, 8), np.diag([1.0, 4.0, 1.0, 1.0])).order
        (0, 2, 1)
        """
        matrix = np.asarray(ijk_to_ras, np.float64)
        i, j, k = map(int, shape)
        if matrix.shape != (4, 4) or not np.isfinite(matrix).all() or abs(np.linalg.det(matrix)) < 1e-12:
            raise PlaceError("the volume must have a spacing above 0 and three directions; see the module Volumes")
        spacing = np.linalg.norm(matrix[:3, :3], axis=0)
        widest = int(np.argmax(spacing))
        clearly = spacing[widest] > CLEARLY_COARSER * max(np.delete(spacing, widest))
        frames = widest if clearly else 2
        first, second = sorted({0, 1, 2} - {frames})
        return cls((i, j, k), matrix, (first, second, frames))

    @property
    def frames_shape(self) -> tuple[int, int, int]:
        """Frames, rows and columns."""
        columns, rows, frames = (self.shape[axis] for axis in self.order)
        return frames, rows, columns

    @property
    def spacing_mm(self) -> tuple[float, float, float]:
        """Between frames, rows and columns."""
        columns, rows, frames = (float(np.linalg.norm(self.ijk_to_ras[:3, axis])) for axis in self.order)
        return frames, rows, columns

    def to_frames(self, array: np.ndarray) -> np.ndarray:
        """A view of Slicer's (K, J, I, …) as frames (T, H, W, …)."""
        return array.transpose(*self._array_axes, *range(3, array.ndim))

    def to_array(self, frames: np.ndarray) -> np.ndarray:
        """A view of frames (T, H, W) as Slicer's (K, J, I)."""
        return frames.transpose(*np.argsort(self._array_axes).tolist())

    def find_pixels(self, points: Sequence[Point]) -> list[tuple[int, int, int]]:
        """Frame, row and column of the voxel nearest to each point."""
        return [self._find_pixel(point) for point in points]

    @property
    def _array_axes(self) -> tuple[int, int, int]:
        columns, rows, frames = (2 - axis for axis in self.order)
        return frames, rows, columns

    def _find_pixel(self, point: Point) -> tuple[int, int, int]:
        place = np.linalg.solve(self.ijk_to_ras, [*point.ras, 1.0])[:3]
        if not np.isfinite(place).all():
            raise PlaceError(f"the point {point.label} must have a place; remove it and place it again")
        voxel = [math.floor(number + 0.5) for number in place.tolist()]
        if not all(0 <= index < length for index, length in zip(voxel, self.shape)):
            raise PlaceError(
                f"the point {point.label} lies outside the volume: on voxel {voxel} of {list(self.shape)}; "
                "move or remove it, or choose the volume that it was placed on"
            )
        column, row, frame = (voxel[axis] for axis in self.order)
        return frame, row, column


def encode_nrrd(array: np.ndarray, grid: Grid) -> tuple[bytes, memoryview]:
    """The header and the voxels of an NRRD file of Slicer's (K, J, I) or (K, J, I, C), as the grid sends it."""
    frames = grid.to_frames(array)
    if frames.dtype.name not in TYPES:
        frames = frames.astype(np.uint8 if frames.dtype == bool else np.float64)
    values = np.ascontiguousarray(frames, frames.dtype.newbyteorder("<"))
    has_channels = values.ndim == 4
    directions = [TO_LPS * grid.ijk_to_ras[:3, axis] for axis in grid.order]
    header = [
        "NRRD0004",
        f"type: {TYPES[frames.dtype.name]}",
        f"dimension: {values.ndim}",
        "space: left-posterior-superior",
        f"sizes: {' '.join(map(str, reversed(values.shape)))}",
        f"space directions: {'none ' if has_channels else ''}{' '.join(map(_write, directions))}",
        f"kinds: {'vector ' if has_channels else ''}domain domain domain",
        "endian: little",
        "encoding: raw",
        f"space origin: {_write(TO_LPS * grid.ijk_to_ras[:3, 3])}",
    ]
    return "\n".join([*header, "", ""]).encode(), values.reshape(-1).view(np.uint8).data


def _write(vector: np.ndarray) -> str:
    return "(" + ",".join(repr(number) for number in vector.tolist()) + ")"
