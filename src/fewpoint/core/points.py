"""The clicks of a person, on one object or on several."""

from dataclasses import dataclass

import numpy as np

from fewpoint.errors import InputError


@dataclass(frozen=True, eq=False)
class PointSet:
    """Positive points (frame, y, x) in whole pixels, and the frames said to show no object.

    coordinates: (P, 3) int64, zero-based columns frame, y, x, no row twice, sorted.
    absent: sorted frames on which a person said the object is not there; of several objects, that none is.
    objects: name of the object under each point; empty where nobody gave names.
    absent_of: sorted (frame, name) of single objects said not to be there, where there are several.

    >>> PointSet.from_rows([(0, 3, 4)], absent=[1]).frames
    array([0])
    """

    coordinates: np.ndarray
    absent: tuple[int, ...] = ()
    objects: tuple[str, ...] = ()
    absent_of: tuple[tuple[int, str], ...] = ()

    def __post_init__(self) -> None:
        if self.coordinates.ndim != 2 or self.coordinates.shape[1] != 3:
            raise InputError(f"points must be rows of frame, y, x, got shape {self.coordinates.shape}")
        if not np.issubdtype(self.coordinates.dtype, np.integer):
            raise InputError(f"points must be whole pixels, got {self.coordinates.dtype}; round them first")
        if len(self.coordinates) == 0:
            raise InputError("at least one point on the object is needed, got none; click on the object once")
        if self.objects and len(self.objects) != len(self.coordinates):
            raise InputError(f"each point needs one object: {len(self.coordinates)} points, {len(self.objects)} names")
        unknown = sorted({name for _, name in self.absent_of} - set(self.objects))
        if unknown:
            raise InputError(f"object {unknown[0]} is marked absent but has no point; click on it once, or correct it")
        frames = self.coordinates[:, 0].tolist()
        named = set(zip(frames, self.objects, strict=False)) & set(self.absent_of)
        contradicted = sorted(set(self.absent) & set(frames) | {frame for frame, _ in named})
        if contradicted:
            raise InputError(
                f"a frame cannot both hold a point and be marked absent: frame {contradicted[0]}; remove one of the two"
            )

    @classmethod
    def from_rows(
        cls,
        rows: list[tuple[int, int, int]],
        absent: list[int] | tuple[int, ...] = (),
        objects: list[str] | tuple[str, ...] = (),
        absent_of: list[tuple[int, str]] | tuple[tuple[int, str], ...] = (),
    ) -> "PointSet":
        """Sort the rows, and with them the objects, and check that none stands twice.

        Where there is one object only, what is said of it by name is said of the frame.
        """
        order = sorted(range(len(rows)), key=lambda index: rows[index])
        coordinates = np.array([rows[index] for index in order], dtype=np.int64).reshape(-1, 3)
        unique, counts = np.unique(coordinates, axis=0, return_counts=True)
        if len(unique) < len(coordinates):
            frame, y, x = unique[counts > 1][0]
            raise InputError(f"each point must stand once, frame {frame}, y {y}, x {x} is a duplicate; remove it")
        names = tuple(objects[index] for index in order) if objects else ()
        if len(set(names)) == 1:
            absent = [*absent, *(frame for frame, name in absent_of if name == names[0])]
            absent_of = [mark for mark in absent_of if mark[1] != names[0]]
        return cls(coordinates, tuple(sorted(set(absent))), names, tuple(sorted(set(absent_of))))

    @property
    def frames(self) -> np.ndarray:
        """(P,) frame of each point."""
        return self.coordinates[:, 0]

    @property
    def object_names(self) -> tuple[str, ...]:
        """Each object's name once, sorted."""
        return tuple(sorted(set(self.objects)))

    def of_object(self, name: str) -> "PointSet":
        """The points on one object alone, without its name, and the frames on which it is not.

        >>> both = PointSet.from_rows([(0, 3, 4), (1, 5, 6)], [2], ["a", "b"], [(0, "b")])
        >>> both.of_object("b").coordinates.tolist(), both.of_object("b").absent
        ([[1, 5, 6]], (0, 2))
        """
        own = np.array([each == name for each in self.objects], bool)
        absent = {*self.absent, *(frame for frame, absentee in self.absent_of if absentee == name)}
        return PointSet(self.coordinates[own], tuple(sorted(absent)))

    def __len__(self) -> int:
        return len(self.coordinates)

    def check_inside(self, n_frames: int, size: tuple[int, int]) -> None:
        """Raise InputError for the first point or absent mark outside (n_frames, height, width)."""
        for frame in (*self.absent, *(frame for frame, _ in self.absent_of)):
            if not 0 <= frame < n_frames:
                raise InputError(f"frame {frame} is marked absent but the sequence has frames 0 to {n_frames - 1}")
        limits = np.array([n_frames, *size])
        outside = ((self.coordinates < 0) | (self.coordinates >= limits)).any(axis=1)
        if not outside.any():
            return
        frame, y, x = self.coordinates[outside][0]
        if not 0 <= frame < n_frames:
            raise InputError(
                f"point on frame {frame}, but the sequence has frames 0 to {n_frames - 1}; frames count from zero"
            )
        raise InputError(
            f"point y {y}, x {x} on frame {frame} lies outside the {size[0]} x {size[1]} frame (height x width); "
            "columns are frame, y, x in pixels from zero"
        )
