"""The clicks of a person, on one object or on several."""

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from fewpoint.core.given import fault, need, need_number, need_whole
from fewpoint.errors import InputError

Rows = Sequence[Sequence[float]] | np.ndarray  # of frame, y, x


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

    def __repr__(self) -> str:
        names = f" on {', '.join(self.object_names)}" if any(self.objects) else ""
        others = {"negatives": len(self.negatives), "absent frames": len(self.absent) + len(self.absent_of)}
        more = "".join(f", {count} {what}" for what, count in others.items() if count)
        return f"<PointSet: {len(self)} points{names} on {len(np.unique(self.frames))} frames{more}>"

    def __post_init__(self) -> None:
        for rows in (self.coordinates, self.negatives):
            need(rows, np.ndarray, "points", "an array; use PointSet.from_rows for lists")
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
        rows: Rows,
        absent: Iterable[int] = (),
        objects: Sequence[str] = (),
        negatives: Rows = (),
        negative_objects: Sequence[str] = (),
        absent_of: Iterable[tuple[int, str]] = (),
    ) -> "PointSet":
        """Points from rows of frame, y and x, sorted with their objects; none may occur twice.

        rows, negatives: sequences of three numbers each, or an (P, 3) array. Fractions of a pixel are rounded to the
        nearest, halves upwards, as those of points files are; a frame must be whole.
        absent, absent_of: frames, and frames with the object that is not on them. If there is only one object, its
        marks in absent_of become marks in absent. objects, negative_objects: a name for each row, or none.

        >>> PointSet.from_rows([(2, 9.5, 3.2), (0, 3, 4)]).coordinates.tolist()
        [[0, 3, 4], [2, 10, 3]]
        """
        rows, negatives = _read_rows(rows, "points"), _read_rows(negatives, "negatives")
        objects, negative_objects = _read_names(objects), _read_names(negative_objects)
        absent = [need_whole(frame, "an absent frame") for frame in _read_all(absent, "absent", "frames")]
        absent_of = [
            (need_whole(frame, "an absent frame"), need(name, str, "an object", "a name"))
            for frame, name in _read_pairs(absent_of)
        ]
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

    def between(self, first: int, end: int) -> "PointSet | None":
        """The marks on frames first to end, exclusive, counted from the first of them; None without a point there.

        >>> part = PointSet.from_rows([(0, 1, 1), (4, 5, 5)], absent=[3, 9]).between(3, 6)
        >>> part and (part.coordinates.tolist(), part.absent)
        ([[1, 5, 5]], (0,))
        """
        own, refused = (
            [index for index, frame in enumerate(rows[:, 0].tolist()) if first <= frame < end]
            for rows in (self.coordinates, self.negatives)
        )
        if not own:
            return None
        names = tuple(self.objects[index] for index in own) if self.objects else ()
        known = [index for index in refused if self._refused_objects()[index] in ("", *names)]
        return PointSet(
            self.coordinates[own] - (first, 0, 0),
            tuple(frame - first for frame in self.absent if first <= frame < end),
            names,
            self.negatives[known] - (first, 0, 0),
            tuple(self.negative_objects[index] for index in known) if self.negative_objects else (),
            tuple((frame - first, name) for frame, name in self.absent_of if first <= frame < end and name in names),
        )

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
        coordinates, others = (np.array(sorted(each), np.int64).reshape(-1, 3) for each in (rows, negatives))
        return PointSet(coordinates, self.absent, negatives=others)

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
        swapped = rows[:, [0, 2, 1]]
        hint = "; all would lie inside with x and y exchanged" if (swapped < limits).all() else ""
        raise InputError(
            f"point y {y}, x {x} on frame {frame} lies outside the {size[0]} x {size[1]} frame (height x width); "
            f"columns are frame, y, x in pixels from zero{hint}"
        )


def look_like_shares(places: list[float]) -> bool:
    """Whether coordinates all lie in the first pixel and are no whole numbers, as shares of a frame do.

    >>> look_like_shares([0.4, 0.5, 1.0]), look_like_shares([0, 1]), look_like_shares([0.5, 3.0])
    (True, False, False)
    """
    return all(0 <= place <= 1 for place in places) and any(place != int(place) for place in places)


def round_half_up(number: float) -> int:
    """Round to the nearest whole number, halves upwards; exact, unlike floor(number + 0.5).

    >>> [round_half_up(number) for number in (0.5, 1.5, 2.49, -0.5)]
    [1, 2, 2, 0]
    """
    whole = math.floor(number)
    return whole + (number - whole >= 0.5)


def _read_rows(rows: Any, what: str) -> list[tuple[int, int, int]]:
    """Rows as whole pixels; InputError for anything but three numbers each."""
    words = "rows of three numbers: frame, y, x"
    read, places = [], []
    for row in _read_all(rows, what, words):
        values = list(_read_all(row, what, words))
        if len(values) != 3:
            raise InputError(f"{what} must be {words}, got a row of {len(values)}")
        frame, *place = values
        y, x = (need_number(value, axis) for value, axis in zip(place, "yx", strict=True))
        read.append((need_whole(frame, "frame"), round_half_up(y), round_half_up(x)))
        places += [y, x]
    if look_like_shares(places):
        raise InputError(f"{what} must be in pixels, but all lie between 0 and 1 as shares of a frame do; scale them")
    return read


def _read_names(names: Any) -> tuple[str, ...]:
    return tuple(need(name, str, "an object", "a name") for name in _read_all(names, "objects", "a list of names"))


def _read_pairs(marks: Any) -> list[tuple[Any, Any]]:
    words = "pairs of a frame and a name"
    pairs = [tuple(_read_all(mark, "absent_of", words)) for mark in _read_all(marks, "absent_of", words)]
    if any(len(pair) != 2 for pair in pairs):
        raise InputError(f"absent_of must be {words}, got others")
    return [(pair[0], pair[1]) for pair in pairs]


def _read_all(values: Any, what: str, words: str) -> Iterable[Any]:
    """The values one after another; InputError for text and for what cannot be gone through."""
    if isinstance(values, str | bytes) or not hasattr(values, "__iter__"):
        raise fault(values, what, words)
    return values


def _sort_rows(rows: list[tuple[int, int, int]], objects: Sequence[str]) -> tuple[np.ndarray, tuple[str, ...]]:
    """(P, 3) rows in order, and their objects in that order."""
    if objects and len(objects) != len(rows):
        raise InputError(f"each point needs one object: {len(rows)} points, {len(objects)} names")
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
