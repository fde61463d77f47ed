"""Where the voxels of a volume lie in the patient, and how it is cut into frames."""

from dataclasses import dataclass, replace
from functools import cached_property
from itertools import permutations

import numpy as np

from fewpoint.errors import InputError

PLANES = ("sagittal", "coronal", "axial")  # planes across the patient's x (right), y (anterior), z (superior)
SIDES = (("R", "L"), ("A", "P"), ("S", "I"))  # where the patient's x, y and z go to, and where they come from
AXIS_CHOICES = ("auto", "0", "1", "2", *PLANES)
CLEARLY_COARSER = 1.01
LEAST_DETERMINANT = 1e-6


@dataclass(frozen=True, eq=False)
class Geometry:
    """Where a stored (I, J, K) array lies in the patient, in RAS millimetres, and the axes that became frames.

    shape: voxels along the stored axes i, j, k. spacing_mm: distance between neighbouring voxels along them.
    direction: (3, 3) float64, column n is the unit vector along stored axis n: right, anterior, superior.
    origin_mm: centre of voxel (0, 0, 0).
    axes: the stored axes that became frame, y and x. No axis is ever flipped.
    over_time: frames follow each other in time, so the spacing between them means nothing.

    >>> Geometry.from_affine(np.diag([2.0, 2.0, 5.0, 1.0]), (64, 48, 9)).spacing_mm
    (2.0, 2.0, 5.0)
    """

    shape: tuple[int, int, int]
    spacing_mm: tuple[float, float, float]
    direction: np.ndarray
    origin_mm: tuple[float, float, float]
    axes: tuple[int, int, int] = (2, 1, 0)
    over_time: bool = False

    def __post_init__(self) -> None:
        if len(self.shape) != 3 or min(self.shape) < 1:
            raise InputError(f"a volume must have three sides of at least one voxel, got shape {self.shape}")
        if sorted(self.axes) != [0, 1, 2]:
            raise InputError(f"axes must name each of 0, 1 and 2 once, got {self.axes}")
        numbers = np.array([*self.spacing_mm, *np.ravel(self.direction), *self.origin_mm], np.float64)
        if numbers.shape != (15,) or not np.isfinite(numbers).all() or min(self.spacing_mm) <= 0:
            raise InputError("spacing must be above 0, and spacing, direction and origin finite; correct the header")
        if abs(np.linalg.det(self.direction)) < LEAST_DETERMINANT:
            raise InputError("the three axes of a volume must point in three directions; correct the header")

    @classmethod
    def from_affine(cls, affine: np.ndarray, shape: tuple[int, int, int]) -> "Geometry":
        """From a (4, 4) affine that takes voxel indices i, j, k to RAS millimetres."""
        affine = np.asarray(affine, np.float64)
        spacing = np.linalg.norm(affine[:3, :3], axis=0)
        if not (np.isfinite(affine).all() and spacing.all()):
            raise InputError("the affine must be finite with no column of zeros; correct the header")
        i, j, k = map(int, shape)
        return cls(
            (i, j, k),
            tuple(spacing.tolist()),
            affine[:3, :3] / spacing,
            tuple(affine[:3, 3].tolist()),
        )

    @cached_property
    def affine(self) -> np.ndarray:
        """(4, 4) float64 from voxel indices i, j, k to RAS millimetres."""
        affine = np.eye(4)
        affine[:3, :3] = self.direction * self.spacing_mm
        affine[:3, 3] = self.origin_mm
        return affine

    @property
    def frames_shape(self) -> tuple[int, int, int]:
        """Frames, height and width."""
        frames, height, width = (self.shape[axis] for axis in self.axes)
        return frames, height, width

    @property
    def voxel_ml(self) -> float:
        """Volume of a voxel in millilitres."""
        return float(abs(np.linalg.det(self.affine[:3, :3]))) / 1000

    @property
    def pixel_mm2(self) -> float:
        """Area of a pixel of a frame in square millimetres."""
        down, across = (self.affine[:3, axis] for axis in self.axes[1:])
        return float(np.linalg.norm(np.cross(down, across)))

    @property
    def pixel_spacing_mm(self) -> tuple[float, float]:
        """Distance between neighbouring pixels of a frame along y and along x."""
        return self.spacing_mm[self.axes[1]], self.spacing_mm[self.axes[2]]

    @property
    def directions(self) -> tuple[str, str, str]:
        """The side of the patient that frames, rows and columns go to: R or L, A or P, S or I, each pair once.

        >>> Geometry.from_affine(np.diag([-1.0, 1.0, 5.0, 1.0]), (8, 8, 8)).directions
        ('S', 'A', 'L')
        """
        stored = {}
        for world, axis in enumerate(self._axes_across):
            stored[axis] = SIDES[world][0] if self.direction[world, axis] > 0 else SIDES[world][1]
        frames, rows, columns = (stored[axis] for axis in self.axes)
        return frames, rows, columns

    def cut(self, choice: str) -> "Geometry":
        """The same volume cut into frames along an axis, one of AXIS_CHOICES.

        auto takes the axis with the widest spacing, the last if none is clearly wider. Rows of a frame follow the
        later of the other two stored axes, columns the earlier.

        >>> Geometry.from_affine(np.diag([1.0, 4.0, 1.0, 1.0]), (8, 8, 8)).cut("auto").axes
        (1, 2, 0)
        """
        if choice not in AXIS_CHOICES:
            raise InputError(f"the axis must be one of {', '.join(AXIS_CHOICES)}, got {choice}")
        if choice == "auto":
            axis = self._coarsest_axis()
        else:
            axis = self._axis_across(choice) if choice in PLANES else int(choice)
        rows, columns = sorted({0, 1, 2} - {axis}, reverse=True)
        return replace(self, axes=(axis, rows, columns))

    def crop(self, rows: tuple[int, int], columns: tuple[int, int]) -> "Geometry":
        """Every frame cropped to these rows and columns, ends exclusive.

        >>> whole = Geometry.from_affine(np.diag([2.0, 1.0, 5.0, 1.0]), (64, 48, 9))
        >>> part = whole.crop((4, 10), (5, 20))
        >>> part.shape, part.origin_mm
        ((15, 6, 9), (10.0, 4.0, 0.0))
        """
        first, shape = np.zeros(3), list(self.shape)
        for axis, (start, end) in zip(self.axes[1:], (rows, columns), strict=True):
            first[axis], shape[axis] = start, end - start
        origin = self.affine[:3, :3] @ first + self.origin_mm
        return replace(self, shape=tuple(shape), origin_mm=tuple(origin.tolist()))

    def to_frames(self, stored: np.ndarray) -> np.ndarray:
        """A view of a stored (I, J, K, …) array as (T, H, W, …)."""
        return stored.transpose(*self.axes, *range(3, stored.ndim))

    def to_stored(self, frames: np.ndarray) -> np.ndarray:
        """A view of (T, H, W, …) frames in the stored order (I, J, K, …)."""
        return frames.transpose(*np.argsort(self.axes).tolist(), *range(3, frames.ndim))

    def to_voxels(self, positions_mm: np.ndarray) -> np.ndarray:
        """(P, 3) float64 voxel coordinates i, j, k of (P, 3) positions in RAS millimetres."""
        return np.linalg.solve(self.affine[:3, :3], (positions_mm - np.array(self.origin_mm)).T).T

    def _coarsest_axis(self) -> int:
        widest = int(np.argmax(self.spacing_mm))
        others = [spacing for axis, spacing in enumerate(self.spacing_mm) if axis != widest]
        return widest if self.spacing_mm[widest] > CLEARLY_COARSER * max(others) else 2

    def _axis_across(self, plane: str) -> int:
        """The stored axis closest to the normal of a plane."""
        return self._axes_across[PLANES.index(plane)]

    @cached_property
    def _axes_across(self) -> tuple[int, ...]:
        """The stored axes closest to the patient's x, y and z, each taken once."""
        closeness = np.abs(self.direction)
        return max(permutations(range(3)), key=lambda order: sum(closeness[world, order[world]] for world in range(3)))
