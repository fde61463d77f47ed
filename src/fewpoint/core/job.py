"""What one run is asked to do, in plain values that can be sent as JSON; every entry point builds it.

A job may be incomplete: a missing preset, seed or bound comes from the project that it names, if any, and is the
default otherwise.
"""

import difflib
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, field, fields, replace
from typing import Any, Self

from fewpoint.core.bound import AreaBound
from fewpoint.core.given import need
from fewpoint.core.points import PointSet
from fewpoint.core.saying import EVERY as EVERY
from fewpoint.core.saying import SaidWords
from fewpoint.core.source import Reading
from fewpoint.core.words import Box, Words
from fewpoint.errors import InputError

FORMAT = "fewpoint job"
VERSION = 1
DEVICES = ("auto", "cpu", "cuda", "mps")
AUTO, FILM = "auto", "mp4"

Value = str | bool | int | float
Changes = tuple[tuple[str, Value], ...]  # settings to change, in order: ("training.batch", 4), …
Triple = tuple[int, int, int]
BoxOnFrame = tuple[int, int, int, int, int]
PointFiles = tuple[tuple[str, str], ...]  # the name of an object, "" for none, and a points file


@dataclass(frozen=True)
class GivenBound:
    """How large an object may be, as a person says it: a share of a frame, or a box (frame, y0, x0, y1, x1)."""

    fraction: float | None = None
    box: BoxOnFrame | None = None

    def __post_init__(self) -> None:
        if (self.fraction is None) == (self.box is None):
            raise InputError("a size limit must be a fraction or a box, one of the two")
        if self.fraction is not None:
            AreaBound(self.fraction)

    def measure(self, n_frames: int, size: tuple[int, int]) -> AreaBound:
        """The bound on a sequence of n_frames frames of a size (height, width).

        >>> GivenBound(box=(0, 0, 0, 5, 10)).measure(3, (10, 20)).fraction
        0.25
        """
        if self.box is None:
            return AreaBound(float(self.fraction or 0))
        frame, y0, x0, y1, x1 = self.box
        if not 0 <= frame < n_frames:
            raise InputError(
                f"the box is on frame {frame}, but the sequence has frames 0 to {n_frames - 1}; frames count from zero"
            )
        return AreaBound.from_box((y0, x0, y1, x1), size)


Bounds = tuple[tuple[str, GivenBound], ...]


@dataclass(frozen=True)
class OutlineFile:
    """A file of drawn masks: of one frame or, if frame is None, of every frame on which it shows anything."""

    path: str
    frame: int | None = None


@dataclass(frozen=True)
class GivenWords:
    """What a person adds to the words about an object, as options or in a row; it wins over what was said before.

    size: 1 takes back an earlier one, None leaves it. sizes: those of single frames.
    """

    outlined: tuple[OutlineFile, ...] = ()
    boxes: tuple[Box, ...] = ()
    size: float | None = None
    sizes: tuple[tuple[int, float], ...] = ()

    def __post_init__(self) -> None:
        Words(boxes=self.boxes, size=1.0 if self.size is None else self.size, sizes=dict(self.sizes))

    def with_paths(self, find: Callable[[str], str]) -> "GivenWords":
        """The same with each file where `find` says that it is."""
        return replace(self, outlined=tuple(replace(file, path=find(file.path)) for file in self.outlined))

    def as_table(self) -> dict[str, Any]:
        """Plain values for JSON."""
        return {
            "outlined": [asdict(file) for file in self.outlined],
            "boxes": [list(asdict(box).values()) for box in self.boxes],
            "size": self.size,
            "sizes": _as_lists(self.sizes),
        }


AddedWords = tuple[tuple[str, GivenWords], ...]


@dataclass(frozen=True)
class PlainPoints:
    """The points of a PointSet as plain rows, so that a job can be sent without a points file."""

    rows: tuple[Triple, ...]
    absent: tuple[int, ...] = ()
    objects: tuple[str, ...] = ()
    negatives: tuple[Triple, ...] = ()
    negative_objects: tuple[str, ...] = ()
    absent_of: tuple[tuple[int, str], ...] = ()

    @classmethod
    def of(cls, points: PointSet) -> "PlainPoints":
        return cls(
            _as_triples(points.coordinates.tolist()),
            points.absent,
            points.objects,
            _as_triples(points.negatives.tolist()),
            points.negative_objects,
            points.absent_of,
        )

    def as_table(self) -> dict[str, Any]:
        """Plain values for JSON."""
        return _as_lists(asdict(self))

    @classmethod
    def from_table(cls, table: Any) -> "PlainPoints":
        """The points that as_table turned into plain values, checked."""
        points = cls(**{"rows": (), **_read_fields("points", table, POINT_READERS)})
        points.to_points()
        return points

    def to_points(self) -> PointSet:
        """The same points, checked."""
        return PointSet.from_rows(
            list(self.rows), self.absent, self.objects, self.negatives, self.negative_objects, self.absent_of
        )


@dataclass(frozen=True)
class OutputChoice:
    """What a result is written as.

    formats: names of mask formats, or "auto" for the input's own. probabilities: written too, on the same grid; if
    there are several objects, one numbered file per object.
    film: a video of every frame with the outline of its mask. report: the page about a run.
    """

    formats: tuple[str, ...] = (AUTO,)
    probabilities: bool = False
    film: bool = False
    report: bool = True

    @classmethod
    def of(cls, names: Sequence[str], *, probabilities: bool = False) -> Self:
        """From the names a user gives, which may include the film; probabilities alone use the input's own format."""
        formats = tuple(dict.fromkeys(str(name) for name in names if name != FILM))
        if not formats and (probabilities or FILM not in names):
            formats = (AUTO,)
        return cls(formats, probabilities, FILM in names)


TEXT, TEXT_OR_NONE = ((str,), "text"), ((str, type(None)), "text or None")
PAIRS = ((tuple,), "a tuple of pairs")
# What the fields of a job must be, for callers whose types nobody checks.
KINDS: dict[str, tuple[tuple[type, ...], str]] = {
    "input": TEXT,
    "points": ((str, tuple, PlainPoints), "text, pairs of a name and a file, or PlainPoints"),
    "reading": ((Reading,), "a Reading"),
    "bounds": PAIRS,
    "method": TEXT_OR_NONE,
    "preset": TEXT_OR_NONE,
    "changes": PAIRS,
    "seed": ((int, type(None)), "a whole number or None"),
    "device": TEXT,
    "outputs": ((OutputChoice,), "an OutputChoice"),
    "refine": TEXT_OR_NONE,
    "warm_start": TEXT_OR_NONE,
    "name": TEXT,
    "words": ((tuple, type(None)), "a tuple of pairs or None"),
    "added_words": PAIRS,
    "witness": TEXT_OR_NONE,
}


@dataclass(frozen=True)
class Job:
    """One run: what is segmented, from which points, how, and what is written.

    input: path of the frames or of a project; "" if the frames are in memory. points: path of a points file or project,
    several points files, each with the name of its object or none, the points themselves, or "" for those that come
    with the input.
    bounds: by object, EVERY for all that have none themselves; estimated if there are none.
    words: what has been said besides, by object, EVERY for the only one, or sizes of all that have none; None for what
    the project or the run to be refined was told. added_words: what is said on top of it.
    method: None for fewpoint's own. preset: of fewpoint's own method. changes: to the settings of either.
    refine: folder of the finished run that this one refines. warm_start: a run or model.npz whose networks it
    starts from. name: of the run, for people. witness: an installed pretrained model that has a say in the masks.
    """

    input: str = ""
    points: str | PointFiles | PlainPoints = ""
    reading: Reading = Reading()
    bounds: Bounds = ()
    method: str | None = None
    preset: str | None = None
    changes: Changes = ()
    seed: int | None = None
    device: str = "auto"
    outputs: OutputChoice = field(default_factory=OutputChoice)
    refine: str | None = None
    warm_start: str | None = None
    name: str = ""
    words: SaidWords | None = None
    added_words: AddedWords = ()
    witness: str | None = None

    def __post_init__(self) -> None:
        for name, (kinds, words) in KINDS.items():
            need(getattr(self, name), kinds, f"a job's {name}", words)
        if self.seed is not None and self.seed < 0:
            raise InputError(f"a job's seed must be 0 or above, got {self.seed}")
        if self.device not in DEVICES:
            raise InputError(f"a job's device must be one of {', '.join(DEVICES)}, got {self.device[:40]}")
        for field_name in ("bounds", "words", "added_words"):
            names = [name for name, _ in getattr(self, field_name) or ()]
            if len(set(names)) < len(names):
                raise InputError(f"a job's {field_name} must name each object once")
        self._check_combinations()

    def _check_combinations(self) -> None:
        if self.method is not None and self.preset is not None:
            raise InputError("a job can have a method or a preset, not both; presets are for fewpoint's own method")
        if self.method is not None and (self.refine or self.warm_start):
            raise InputError("a job with a method other than fewpoint's own must have neither refine nor warm_start")
        if self.refine and self.warm_start:
            raise InputError("a job that refines a run starts from its networks: leave out warm_start")

    @property
    def outlines(self) -> tuple[OutlineFile, ...]:
        """Every file of drawn masks."""
        return tuple(file for _, given in self.added_words for file in given.outlined)

    @property
    def point_files(self) -> PointFiles:
        """The points files that it names, each with the name of its object, "" for none."""
        named = ((EVERY, self.points),) if isinstance(self.points, str) and self.points else self.points
        return named if isinstance(named, tuple) else ()

    @property
    def files(self) -> tuple[str, ...]:
        """Every file that is read."""
        points = (path for _, path in self.point_files)
        drawn = (file.path for file in self.outlines)
        return tuple(filter(None, (self.input, *points, *self.reading.added, *drawn, self.refine, self.warm_start)))

    def with_paths(self, find: Callable[[str], str]) -> "Job":
        """The same with each file where `find` says that it is."""
        return replace(
            self,
            input=find(self.input),
            points=_move_points(self.points, find),
            reading=replace(self.reading, added=tuple(map(find, self.reading.added))),
            added_words=tuple((name, given.with_paths(find)) for name, given in self.added_words),
            refine=None if self.refine is None else find(self.refine),
            warm_start=None if self.warm_start is None else find(self.warm_start),
        )

    def as_table(self) -> dict[str, Any]:
        """Plain values for JSON, for from_table to read."""
        table = {entry.name: getattr(self, entry.name) for entry in fields(self)}
        points = self.points.as_table() if isinstance(self.points, PlainPoints) else _as_lists(self.points)
        bounds = {
            name: {"box": list(bound.box)} if bound.box else {"fraction": bound.fraction} for name, bound in self.bounds
        }
        return {
            "format": FORMAT,
            "version": VERSION,
            **table,
            "points": points,
            "reading": _as_lists(asdict(self.reading)),
            "bounds": bounds,
            "changes": [list(change) for change in self.changes],
            "outputs": _as_lists(asdict(self.outputs)),
            "words": None if self.words is None else {name: words.as_table() for name, words in self.words},
            "added_words": {name: given.as_table() for name, given in self.added_words},
        }

    @classmethod
    def from_table(cls, table: Any) -> "Job":
        """The job that as_table turned into plain values; missing fields get their defaults."""
        if not isinstance(table, dict) or table.get("format") != FORMAT:
            raise InputError(f'a job must be a JSON object with "format": "{FORMAT}"')
        if table.get("version") != VERSION:
            given = _show(table.get("version"))
            raise InputError(f"a job's version must be {VERSION}, got {given}; update fewpoint, or write it again")
        values = {name: value for name, value in table.items() if name not in ("format", "version")}
        return cls(**_read_fields("", values, READERS))


Reader = Callable[[str, Any], Any]


def _read_fields(where: str, table: Any, readers: dict[str, Reader]) -> dict[str, Any]:
    """Values by name, each read by its reader; where: the field that holds them, "" for the job itself."""
    if not isinstance(table, dict):
        raise _fault(where, "an object of fields", table)
    for name in table:
        if name not in readers:
            nearest = difflib.get_close_matches(str(name), readers, n=1, cutoff=0.0)[0]
            raise InputError(
                f"a job has no field {_join(where, str(name)[:40])}; did you mean {_join(where, nearest)}?"
            )
    return {name: readers[name](_join(where, name), value) for name, value in table.items()}


def _read_text(where: str, value: Any) -> str:
    if not isinstance(value, str):
        raise _fault(where, "text", value)
    return value


def _read_whole(where: str, value: Any) -> int:
    if type(value) is not int:
        raise _fault(where, "a whole number", value)
    return value


def _read_number(where: str, value: Any) -> float:
    if type(value) not in (int, float):
        raise _fault(where, "a number", value)
    return float(value)


def _read_flag(where: str, value: Any) -> bool:
    if not isinstance(value, bool):
        raise _fault(where, "true or false", value)
    return value


def _optional(read: Reader) -> Reader:
    return lambda where, value: None if value is None else read(where, value)


def _several(read: Reader) -> Reader:
    """A list of values of one kind."""

    def read_all(where: str, value: Any) -> tuple:
        if not isinstance(value, list | tuple):
            raise _fault(where, "a list", value)
        return tuple(read(where, each) for each in value)

    return read_all


def _together(*kinds: Reader) -> Reader:
    """A list with one value of each kind."""

    def read_each(where: str, value: Any) -> tuple:
        if not isinstance(value, list | tuple) or len(value) != len(kinds):
            raise _fault(where, f"a list of {len(kinds)} values", value)
        return tuple(read(where, each) for read, each in zip(kinds, value, strict=True))

    return read_each


def _read_value(where: str, value: Any) -> Value:
    if not isinstance(value, str | bool | int | float):
        raise _fault(where, "text, a number, true or false", value)
    return value


def _read_points(where: str, value: Any) -> str | PointFiles | PlainPoints:
    if isinstance(value, list | tuple):
        return _several(_together(_read_text, _read_text))(where, value)
    return value if isinstance(value, str) else PlainPoints.from_table(value)


def _move_points(points: str | PointFiles | PlainPoints, find: Callable[[str], str]) -> str | PointFiles | PlainPoints:
    """The same with each file where `find` says that it is."""
    if isinstance(points, tuple):
        return tuple((name, find(path)) for name, path in points)
    return find(points) if isinstance(points, str) else points


def _by_name(what: str, read: Reader) -> Reader:
    """Values of one kind by the name of an object."""

    def read_all(where: str, value: Any) -> tuple:
        if not isinstance(value, dict):
            raise _fault(where, f"an object of {what} by name", value)
        return tuple((name, read(_join(where, name), each)) for name, each in value.items())

    return read_all


def _check(where: str, make: Callable[..., Any], *values: Any, **named: Any) -> Any:
    """What `make` makes of values; what it refuses is told with the field."""
    try:
        return make(*values, **named)
    except InputError as error:
        raise InputError(f"a job's {where}: {error}") from error


def _read_bound(where: str, value: Any) -> GivenBound:
    return _check(where, GivenBound, **_read_fields(where, value, BOUND_READERS))


def _read_words(where: str, value: Any) -> Words:
    return _check(where, Words.from_table, value)


def _read_given(where: str, value: Any) -> GivenWords:
    return _check(where, GivenWords, **_read_fields(where, value, GIVEN_READERS))


def _read_outline(where: str, value: Any) -> OutlineFile:
    return OutlineFile(**{"path": "", **_read_fields(where, value, OUTLINE_READERS)})


def _read_box(where: str, value: Any) -> Box:
    return Box(*_together(*[_read_whole] * 5)(where, value))


_TRIPLES = _several(_together(_read_whole, _read_whole, _read_whole))
POINT_READERS: dict[str, Reader] = {
    "rows": _TRIPLES,
    "absent": _several(_read_whole),
    "objects": _several(_read_text),
    "negatives": _TRIPLES,
    "negative_objects": _several(_read_text),
    "absent_of": _several(_together(_read_whole, _read_text)),
}
BOUND_READERS: dict[str, Reader] = {
    "fraction": _optional(_read_number),
    "box": _optional(_together(*[_read_whole] * 5)),
}
OUTLINE_READERS: dict[str, Reader] = {"path": _read_text, "frame": _optional(_read_whole)}
GIVEN_READERS: dict[str, Reader] = {
    "outlined": _several(_read_outline),
    "boxes": _several(_read_box),
    "size": _optional(_read_number),
    "sizes": _several(_together(_read_whole, _read_number)),
}
READING_READERS: dict[str, Reader] = {
    "axis": _read_text,
    "channels": _several(_read_whole),
    "added": _several(_read_text),
    "window": _optional(_together(_read_number, _read_number)),
}
OUTPUT_READERS: dict[str, Reader] = {
    "formats": _several(_read_text),
    "probabilities": _read_flag,
    "film": _read_flag,
    "report": _read_flag,
}
READERS: dict[str, Reader] = {
    "input": _read_text,
    "points": _read_points,
    "reading": lambda where, value: Reading(**_read_fields(where, value, READING_READERS)),
    "bounds": _by_name("bounds", _read_bound),
    "method": _optional(_read_text),
    "preset": _optional(_read_text),
    "changes": _several(_together(_read_text, _read_value)),
    "seed": _optional(_read_whole),
    "device": _read_text,
    "outputs": lambda where, value: OutputChoice(**_read_fields(where, value, OUTPUT_READERS)),
    "refine": _optional(_read_text),
    "warm_start": _optional(_read_text),
    "name": _read_text,
    "words": _optional(_by_name("words", _read_words)),
    "added_words": _by_name("words", _read_given),
    "witness": _optional(_read_text),
}


def _as_triples(rows: list[list[int]]) -> tuple[Triple, ...]:
    return tuple((frame, y, x) for frame, y, x in rows)


def _as_lists(value: Any) -> Any:
    """The same with lists instead of tuples, as JSON reads them."""
    if isinstance(value, dict):
        return {name: _as_lists(each) for name, each in value.items()}
    return [_as_lists(each) for each in value] if isinstance(value, list | tuple) else value


def _join(where: str, name: str) -> str:
    return f"{where}.{name}" if where else name


def _show(value: Any) -> str:
    return "nothing" if value is None else repr(value)[:40]


def _fault(where: str, words: str, value: Any) -> InputError:
    return InputError(f"a job's {where} must be {words}, got {_show(value)}")
