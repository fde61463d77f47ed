"""Everything a person can do to a project, each as a value that can be stored and replayed."""

from dataclasses import dataclass, fields
from typing import Annotated, Any, Literal, get_args, get_origin, get_type_hints

from fewpoint.core.packing import Packable
from fewpoint.core.run_lengths import Stretches
from fewpoint.errors import InputError

# Read by pydantic for actions sent over the network: an unknown field is refused, not ignored.
STRICT = {"extra": "forbid"}

Places = Annotated[tuple[tuple[int, int, int], ...], Packable(3)]


@dataclass(frozen=True)
class AddPoint:
    """A click, or a background click; a click on a frame marked absent removes that mark."""

    __pydantic_config__ = STRICT
    object: str
    frame: int
    y: int
    x: int
    positive: bool = True
    kind: Literal["add_point"] = "add_point"


@dataclass(frozen=True)
class AddPoints:
    """Several clicks as one change, each as frame, y and x."""

    __pydantic_config__ = STRICT
    object: str
    places: Places
    positive: bool = True
    kind: Literal["add_points"] = "add_points"


@dataclass(frozen=True)
class MovePoint:
    """By its id; without `frame` it stays on its frame."""

    __pydantic_config__ = STRICT
    point: int
    y: int
    x: int
    frame: int | None = None
    kind: Literal["move_point"] = "move_point"


@dataclass(frozen=True)
class RemovePoint:
    __pydantic_config__ = STRICT
    point: int
    kind: Literal["remove_point"] = "remove_point"


@dataclass(frozen=True)
class MarkAbsent:
    """The object is absent from this frame, and those up to `last`; its points and drawn masks there are removed."""

    __pydantic_config__ = STRICT
    object: str
    frame: int
    absent: bool = True
    last: int | None = None
    kind: Literal["mark_absent"] = "mark_absent"


@dataclass(frozen=True)
class SetBox:
    """The box around the object on a frame, replacing an earlier one; bottom and right exclusive. The largest box
    limits the object's size.
    """

    __pydantic_config__ = STRICT
    object: str
    frame: int
    top: int
    left: int
    bottom: int
    right: int
    kind: Literal["set_box"] = "set_box"


@dataclass(frozen=True)
class ClearBox:
    """The box of a frame, or of all."""

    __pydantic_config__ = STRICT
    object: str
    frame: int | None = None
    kind: Literal["clear_box"] = "clear_box"


@dataclass(frozen=True)
class SetSize:
    """How many times larger the masks should be than found, 0.05 to 20, on one frame or on all; null or 1 removes
    it.
    """

    __pydantic_config__ = STRICT
    object: str
    size: float | None
    frame: int | None = None
    kind: Literal["set_size"] = "set_size"


@dataclass(frozen=True)
class SetFraction:
    """Largest share of a frame of all objects without a box; null: estimated."""

    __pydantic_config__ = STRICT
    fraction: float | None
    kind: Literal["set_fraction"] = "set_fraction"


@dataclass(frozen=True)
class AddObject:
    """Colour as `#rrggbb`, or left out."""

    __pydantic_config__ = STRICT
    name: str
    colour: str | None = None
    kind: Literal["add_object"] = "add_object"


@dataclass(frozen=True)
class RenameObject:
    __pydantic_config__ = STRICT
    object: str
    name: str
    kind: Literal["rename_object"] = "rename_object"


@dataclass(frozen=True)
class RecolourObject:
    __pydantic_config__ = STRICT
    object: str
    colour: str
    kind: Literal["recolour_object"] = "recolour_object"


@dataclass(frozen=True)
class LockObject:
    """It cannot be annotated or painted over."""

    __pydantic_config__ = STRICT
    object: str
    locked: bool
    kind: Literal["lock_object"] = "lock_object"


@dataclass(frozen=True)
class RemoveObject:
    __pydantic_config__ = STRICT
    object: str
    kind: Literal["remove_object"] = "remove_object"


@dataclass(frozen=True)
class SetSettings:
    __pydantic_config__ = STRICT
    preset: str
    seed: int = 0
    kind: Literal["set_settings"] = "set_settings"


@dataclass(frozen=True)
class Brush:
    """The drawn mask of a frame, kept exactly by runs and exports. Its pixels are removed from other objects' drawn
    masks; clicks that contradict it are ignored.
    """

    __pydantic_config__ = STRICT
    object: str
    frame: int
    runs: Stretches
    kind: Literal["brush"] = "brush"


@dataclass(frozen=True)
class BrushFrames:
    """Several drawn masks as one change: pairs of a frame and its runs."""

    __pydantic_config__ = STRICT
    object: str
    frames: tuple[tuple[int, Stretches], ...]
    kind: Literal["brush_frames"] = "brush_frames"


@dataclass(frozen=True)
class ClearBrush:
    __pydantic_config__ = STRICT
    object: str
    frame: int
    kind: Literal["clear_brush"] = "clear_brush"


@dataclass(frozen=True)
class Undo:
    __pydantic_config__ = STRICT
    kind: Literal["undo"] = "undo"


@dataclass(frozen=True)
class Redo:
    __pydantic_config__ = STRICT
    kind: Literal["redo"] = "redo"


Action = (
    AddPoint
    | AddPoints
    | MovePoint
    | RemovePoint
    | MarkAbsent
    | SetBox
    | ClearBox
    | SetSize
    | SetFraction
    | AddObject
    | RenameObject
    | RecolourObject
    | LockObject
    | RemoveObject
    | SetSettings
    | Brush
    | BrushFrames
    | ClearBrush
    | Undo
    | Redo
)
KINDS: dict[str, type] = {get_args(get_type_hints(each)["kind"])[0]: each for each in get_args(Action)}


def to_table(action: Action) -> dict[str, Any]:
    """The action as plain values for JSON.

    >>> to_table(RemovePoint(7))
    {'point': 7, 'kind': 'remove_point'}
    """
    return {field.name: getattr(action, field.name) for field in fields(action)}


def from_table(table: Any) -> Action:
    """The action that to_table turned into plain values, with the type of every field checked."""
    kind = table.get("kind") if isinstance(table, dict) else None
    if not isinstance(kind, str) or kind not in KINDS:
        raise InputError(f"an action must be one of {', '.join(KINDS)}, got {str(kind)[:40]}")
    hints = get_type_hints(KINDS[kind])
    values = dict(table)
    if KINDS[kind] is Brush:
        values["runs"] = _read_stretches(values.get("runs"))
    if KINDS[kind] is AddPoints:
        values["places"] = _read_places(values.get("places"))
    if KINDS[kind] is BrushFrames:
        values["frames"] = _read_drawn(values.get("frames"))
    wrong = [name for name, value in values.items() if name not in hints or not _fits(value, hints[name])]
    if wrong:
        raise InputError(f"{kind} cannot have {wrong[0]} {str(values[wrong[0]])[:40]}; see docs/reference/http.md")
    try:
        return KINDS[kind](**values)
    except TypeError:
        raise InputError(
            f"{kind} needs {', '.join(name for name in hints if name != 'kind')}; some of them are missing"
        ) from None


def _fits(value: Any, hint: Any) -> bool:
    """Whether a value read from JSON is of a field's type; the kind and the runs are checked elsewhere."""
    if get_origin(hint) in (Literal, tuple):
        return True
    allowed = get_args(hint) or (hint,)
    if isinstance(value, bool):
        return bool in allowed
    return isinstance(value, allowed) or (isinstance(value, int) and float in allowed)


def _read_places(places: Any) -> Places:
    try:
        found = tuple((frame, y, x) for frame, y, x in places)
    except (TypeError, ValueError):
        raise InputError("the places of points must be triples of frame, y and x") from None
    if not all(type(number) is int for place in found for number in place):
        raise InputError("the places of points must be whole numbers")
    return found


def _read_drawn(frames: Any) -> tuple[tuple[int, Stretches], ...]:
    try:
        drawn = tuple((frame, _read_stretches(runs)) for frame, runs in frames)
    except (TypeError, ValueError):
        raise InputError("the frames of a brushed mask must be pairs of a number and runs") from None
    if not all(type(frame) is int for frame, _ in drawn):
        raise InputError("the number of a frame must be a whole number")
    return drawn


def _read_stretches(runs: Any) -> Stretches:
    try:
        stretches = tuple((start, length) for start, length in runs)
    except (TypeError, ValueError):
        raise InputError("the runs of a brushed mask must be pairs of start and length") from None
    if not all(type(number) is int for pair in stretches for number in pair):
        raise InputError("the runs of a brushed mask must be whole numbers")
    return stretches
