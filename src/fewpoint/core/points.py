"""The clicks of a person, on one object or on several."""

from dataclasses import dataclass, field

import numpy as np

from fewpoint.errors import InputError


@dataclass(frozen=True, eq=False)
class PointSet:
    """Positive points (frame, y, x) in whole pixels, places that are not the object, and frames that do not show it.

    coordinates: (P, 3) int64, zero-based columns frame, y, x, no row twice, sorted.
    absent: sorted frames on which a person said the object is not there; of several objects, that none is.
    objects: name of the object under each point; empty if nobody gave names.
    negatives: (Q, 3) int64 like coordinates: where a person said that the object is not. None is ever required.
    negative_objects: name of the object that is not there, for each negative, "" for any of several; empty if nobody
    gave names.
    absent_of: sorted (frame, name) of single objects said not to be there, if there are several.

    >>> PointSet.from_rows([(0, 3, 4)], absent=[1]).frames
    array([0])
    """

    coordinates: np.ndarray
    absent: tuple[int, ...] = ()
    objects: tuple[str, ...] = ()
    negatives: np.ndarray = field(default_factory=lambda: np.empty((0, 3), np.int64))
    negative_objects: tuple[str, ...] = ()
    absent_of: tuple[tuple[int, str], ...] = ()

    def __post_init__(self) -> None:
        for rows, names in ((self.coordinates, self.objects), (self.negatives, self.negative_objects)):
            if rows.ndim != 2 or rows.shape[1] != 3:
                raise InputError(f"points must be rows of frame, y, x, got shape {rows.shape}")
            if not np.issubdtype(rows.dtype, np.integer):
                raise InputError(f"points must be whole pixels, got {rows.dtype}; round them first")
            if names and len(names) != len(rows):
                raise InputError(f"each point needs one object: {len(rows)} points, {len(names)} names")
        if len(self.coordinates) == 0:
            raise InputError("at least one point on the object is needed, got none; click on the object once")
        several = len(self.object_names) > 1
        under = dict(zip(map(tuple, self.coordinates.tolist()), self.objects or [""] * len(self), strict=True))
        both = [
            place
            for place, name in zip(map(tuple, self.negatives.tolist()), self._refused_objects(), strict=True)
            if place in under and not (several and name and name != under[place])
        ]
        if both:
            frame, y, x = min(both)
            raise InputError(
                f"a pixel cannot be both on the object and not: frame {frame}, y {y}, x {x}; remove one of the two"
            )
        unknown = sorted({name for _, name in self.absent_of} - set(self.objects))
        if unknown:
            raise InputError(f"object {unknown[0]} is marked absent but has no point; click on it or fix the name")
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
        negatives: list[tuple[int, int, int]] | tuple[tuple[int, int, int], ...] = (),
        negative_objects: list[str] | tuple[str, ...] = (),
        absent_of: list[tuple[int, str]] | tuple[tuple[int, str], ...] = (),
    ) -> "PointSet":
        """Sort the rows with their objects, and check that none occurs twice.

        If there is only one object, its marks in absent_of become marks in absent.
        """
        coordinates, names = _sort_rows(rows, objects)
        _refuse_twice(coordinates.tolist())
        others, other_names = _sort_rows(negatives, negative_objects)
        _refuse_twice(others.tolist(), other_names)
        if len(set(names)) == 1:
            absent = [*absent, *(frame for frame, name in absent_of if name == names[0])]
            absent_of = [mark for mark in absent_of if mark[1] != names[0]]
        return cls(coordinates, tuple(sorted(set(absent))), names, others, other_names, tuple(sorted(set(absent_of))))

    @property
    def frames(self) -> np.ndarray:
        """(P,) frame of each point."""
        return self.coordinates[:, 0]

    @property
    def object_names(self) -> tuple[str, ...]:
        """Each object's name once, sorted."""
        return tuple(sorted(set(self.objects)))

    def of_object(self, name: str) -> "PointSet":
        """The marks of one object, without its name; points on the others become its negatives.

        >>> both = PointSet.from_rows([(0, 3, 4), (1, 5, 6)], [2], ["a", "b"], absent_of=[(0, "b")])
        >>> alone = both.of_object("b")
        >>> alone.coordinates.tolist(), alone.negatives.tolist(), alone.absent
        ([[1, 5, 6]], [[0, 3, 4]], (0, 2))
        """
        own = np.array([each == name for each in self.objects], bool)
        refused = np.array([each in ("", name) for each in self._refused_objects()], bool)
        negatives = np.unique(np.concatenate([self.negatives[refused], self.coordinates[~own]]), axis=0)
        absent = {*self.absent, *(frame for frame, absentee in self.absent_of if absentee == name)}
        return PointSet(self.coordinates[own], tuple(sorted(absent)), negatives=negatives)

    def split(self) -> "tuple[PointSet, ...]":
        """The marks of each object, without their names, in the order of these."""
        names = self.object_names
        return tuple(map(self.of_object, names)) if len(names) > 1 else (self,)

    def joined(self, other: "PointSet") -> "PointSet":
        """These marks and those of another set that they do not contradict; of one object.

        >>> joined = PointSet.from_rows([(0, 1, 1)], [2]).joined(PointSet.from_rows([(0, 1, 1), (1, 5, 5), (2, 3, 3)]))
        >>> joined.coordinates.tolist()
        [[0, 1, 1], [1, 5, 5]]
        """
        own, refused = ({tuple(row) for row in rows.tolist()} for rows in (self.coordinates, self.negatives))
        rows = own | {tuple(row) for row in other.coordinates.tolist() if row[0] not in self.absent} - refused
        negatives = refused | {tuple(row) for row in other.negatives.tolist()} - rows
        return PointSet.from_rows(sorted(rows), self.absent, negatives=sorted(negatives))

    def marks_of(self, name: str) -> tuple[object, ...]:
        """All that was marked for an object, without what follows from marks of others; equal if they are the same.

        A single object is meant whatever it is called.
        """
        known = (name,) if len(self.object_names) > 1 else (name, *self.object_names)
        named = zip(self.coordinates.tolist(), self.objects or (name,) * len(self), strict=True)
        own = [row for row, each in named if each in known]
        refused = zip(self.negatives.tolist(), self._refused_objects(), strict=True)
        negatives = [row for row, each in refused if each in ("", *known)]
        absent = sorted({*self.absent, *(frame for frame, each in self.absent_of if each == name)})
        return own, negatives, absent

    def of_objects(self, names: tuple[str, ...]) -> "PointSet":
        """The marks of some objects, with their names; points on the others become negatives of all of these.

        >>> every = PointSet.from_rows([(0, 1, 1), (0, 2, 2), (0, 9, 9)], [], ["a", "b", "c"])
        >>> some = every.of_objects(("a", "b"))
        >>> some.object_names, some.negatives.tolist(), some.negative_objects
        (('a', 'b'), [[0, 9, 9]], ('',))
        """
        placed = list(zip(map(tuple, self.coordinates.tolist()), self.objects, strict=True))
        refused = zip(map(tuple, self.negatives.tolist()), self._refused_objects(), strict=True)
        kept = [(row, name) for row, name in placed if name in names]
        negatives = {(row, name) for row, name in refused if name in ("", *names)}
        negatives |= {(row, "") for row, name in placed if name not in names}
        rows, objects = zip(*kept, strict=True)
        others, other_names = zip(*sorted(negatives), strict=True) if negatives else ((), ())
        absent_of = [mark for mark in self.absent_of if mark[1] in names]
        return PointSet.from_rows(list(rows), self.absent, objects, others, other_names, absent_of)

    def _refused_objects(self) -> tuple[str, ...]:
        """The object that each negative says is not there, "" for any."""
        return self.negative_objects or ("",) * len(self.negatives)

    def __len__(self) -> int:
        return len(self.coordinates)

    def check_inside(self, n_frames: int, size: tuple[int, int]) -> None:
        """Raise InputError for the first point or absent mark outside (n_frames, height, width)."""
        for frame in (*self.absent, *(frame for frame, _ in self.absent_of)):
            if not 0 <= frame < n_frames:
                raise InputError(f"frame {frame} is marked absent but the sequence has frames 0 to {n_frames - 1}")
        limits = np.array([n_frames, *size])
        rows = np.concatenate([self.coordinates, self.negatives])
        outside = ((rows < 0) | (rows >= limits)).any(axis=1)
        if not outside.any():
            return
        frame, y, x = rows[outside][0]
        if not 0 <= frame < n_frames:
            raise InputError(
                f"point on frame {frame}, but the sequence has frames 0 to {n_frames - 1}; frames count from zero"
            )
        raise InputError(
            f"point y {y}, x {x} on frame {frame} lies outside the {size[0]} x {size[1]} frame (height x width); "
            "columns are frame, y, x in pixels from zero"
        )


def _sort_rows(
    rows: list[tuple[int, int, int]] | tuple[tuple[int, int, int], ...], objects: list[str] | tuple[str, ...]
) -> tuple[np.ndarray, tuple[str, ...]]:
    """(P, 3) rows in order, and their objects in that order."""
    order = sorted(range(len(rows)), key=lambda index: rows[index])
    coordinates = np.array([rows[index] for index in order], dtype=np.int64).reshape(-1, 3)
    return coordinates, tuple(objects[index] for index in order) if objects else ()


def _refuse_twice(rows: list[list[int]], names: tuple[str, ...] = ()) -> None:
    """Raise InputError if a row occurs twice, with the same name if there are names."""
    seen = set()
    for (frame, y, x), name in zip(rows, names or ("",) * len(rows), strict=True):
        if (frame, y, x, name) in seen:
            raise InputError(f"each point must occur once, frame {frame}, y {y}, x {x} is a duplicate; remove it")
        seen.add((frame, y, x, name))
