"""A person's work on one sequence: objects, clicks, boxes, brushed frames, sizes, settings."""

import re
from dataclasses import dataclass, field, replace
from functools import singledispatch

from fewpoint.core import actions
from fewpoint.core.bound import AreaBound
from fewpoint.core.points import PointSet
from fewpoint.core.run_lengths import Stretches, check_stretches, decode_mask, encode_mask
from fewpoint.core.saying import SaidWords, find_innermost, lies_in
from fewpoint.core.words import Box, Words
from fewpoint.errors import InputError

# Okabe and Ito's colours, which colour-blind readers can tell apart.
PALETTE = ("#e69f00", "#56b4e9", "#009e73", "#f0e442", "#0072b2", "#d55e00", "#cc79a7")
FIRST_OBJECT = "object"
LONGEST_NAME = 80
MOST_OBJECTS = 100
MOST_POINTS_AT_ONCE = 1_000_000
LARGEST_SEED = 2**31 - 1
_PLACES = "_places"  # see _take_places
PRESET_NAMES = ("auto", "accurate", "fast", "paper")


@dataclass(frozen=True)
class Click:
    """One click; its number stays the same when it is moved."""

    id: int
    frame: int
    y: int
    x: int
    positive: bool = True


@dataclass(frozen=True)
class NamedObject:
    """An object that a person marks.

    id: stays the same when it is renamed. absent: frames marked as not showing it.
    boxes: at most one per frame, in their order. brushed: frames whose mask was drawn or accepted, as run lengths.
    size, sizes: how many times larger its masks should be than what is found, on all frames and on single ones.
    locked: nothing more is said of it, and what was drawn of it is not painted over.
    """

    id: int
    name: str
    colour: str
    points: tuple[Click, ...] = ()
    absent: tuple[int, ...] = ()
    boxes: tuple[Box, ...] = ()
    brushed: dict[int, Stretches] = field(default_factory=dict)
    size: float = 1.0
    sizes: dict[int, float] = field(default_factory=dict)
    locked: bool = False

    @property
    def positives(self) -> tuple[Click, ...]:
        return tuple(click for click in self.points if click.positive)

    @property
    def negatives(self) -> tuple[Click, ...]:
        return tuple(click for click in self.points if not click.positive)

    @property
    def largest_box(self) -> Box | None:
        return max(self.boxes, key=lambda box: (box.bottom - box.top) * (box.right - box.left), default=None)


@dataclass(frozen=True)
class Project:
    """What a person has said so far; every change makes a new one.

    shape: frames, height, width of the sequence. fraction: bound of the objects that have no box.
    """

    shape: tuple[int, int, int]
    objects: tuple[NamedObject, ...] = (NamedObject(0, FIRST_OBJECT, PALETTE[0]),)
    fraction: float | None = None
    preset: str = "auto"
    seed: int = 0

    @property
    def size(self) -> tuple[int, int]:
        return self.shape[1:]

    @property
    def clicked(self) -> tuple[NamedObject, ...]:
        """The objects that have a point or an outline, which are those that can be segmented."""
        return tuple(each for each in self.objects if self._heed_outlines(each).positives or any(each.brushed.values()))

    def find(self, name: str) -> NamedObject:
        for each in self.objects:
            if each.name == name:
                return each
        raise InputError(f"there is no object {name[:LONGEST_NAME]}; add it first")

    def bound_of(self, name: str) -> AreaBound | None:
        """The object's largest box, or else the share given for all, or else None, to be estimated."""
        box = self.find(name).largest_box
        if box is not None:
            return box.bound(self.size)
        return None if self.fraction is None else AreaBound(self.fraction)

    def words_of(self, name: str) -> Words:
        """What was said of an object besides clicks; a box that a click lies outside of says nothing."""
        target = self.find(name)
        clicks = self._heed_outlines(target).positives
        boxes = [
            box
            for box in target.boxes
            if all(lies_in(box, click.y, click.x) for click in clicks if click.frame == box.frame)
        ]
        return Words(dict(sorted(target.brushed.items())), tuple(boxes), target.size, dict(target.sizes))

    def to_words(self) -> SaidWords:
        """The words about each object that can be segmented and of which anything was said, sorted by name."""
        named = ((name, self.words_of(name)) for name in sorted(each.name for each in self.clicked))
        return tuple((name, words) for name, words in named if not words.empty)

    def to_points(self) -> PointSet:
        """The clicks on and next to all objects, and the frames on which one of them or all are absent.

        Clicks that an outlined frame contradicts do not count; an object that has none is clicked in the middle of its
        outlines.
        """
        clicked = [self._heed_outlines(each) for each in self.clicked]
        if not clicked:
            raise InputError("no object has a point yet; click on one at least once")
        rows = {each.name: _rows(each.positives) or self._find_inner(each) for each in clicked}
        others = {each.name: _rows(each.negatives) for each in clicked}
        absent = set.intersection(*(set(each.absent) for each in clicked))
        absent_of = [(frame, each.name) for each in clicked for frame in each.absent if frame not in absent]
        return PointSet.from_rows(
            [row for own in rows.values() for row in own],
            sorted(absent),
            [name for name, own in rows.items() for _ in own],
            [row for own in others.values() for row in own],
            [name for name, own in others.items() for _ in own],
            absent_of,
        )

    def _heed_outlines(self, target: NamedObject) -> NamedObject:
        """The object with the clicks that outlined frames do not contradict, and absent where its outline is empty."""
        kept = tuple(click for click in target.points if not self._is_contradicted(click, target))
        empty = {frame for frame, runs in target.brushed.items() if not runs}
        return replace(target, points=kept, absent=tuple(sorted({*target.absent, *empty})))

    def _find_inner(self, target: NamedObject) -> list[tuple[int, int, int]]:
        """The innermost pixel of each outline."""
        drawn = {frame: runs for frame, runs in sorted(target.brushed.items()) if runs}
        return [(frame, *find_innermost(decode_mask(runs, self.size))) for frame, runs in drawn.items()]

    def _is_contradicted(self, click: Click, target: NamedObject) -> bool:
        """Whether an outline of the click's frame, its object's own or another's, says otherwise."""
        place = click.y * self.size[1] + click.x
        inside = {each.id for each in self.objects if _covers(each.brushed.get(click.frame, ()), place)}
        outlined = click.frame in target.brushed
        if click.positive:
            return (outlined and target.id not in inside) or bool(inside - {target.id})
        return target.id in inside

    def replaced(self, changed: NamedObject, name: str | None = None) -> "Project":
        """The project with one object changed; name: what it was called before."""
        name = name or changed.name
        return replace(self, objects=tuple(changed if each.name == name else each for each in self.objects))

    def check_place(self, frame: int, y: int = 0, x: int = 0) -> None:
        """Raise InputError for a place outside the sequence."""
        frames, height, width = self.shape
        if not 0 <= frame < frames:
            raise InputError(f"frames go from 0 to {frames - 1}, got {frame}")
        if not (0 <= y < height and 0 <= x < width):
            raise InputError(f"y {y}, x {x} lies outside the {height} x {width} frame (height x width)")


def apply_action(action: object, project: Project, number: int) -> Project:
    """The project after an action; number: the action's place in the whole log, which becomes the id of a new point.

    >>> project = apply_action(actions.AddPoint("object", 0, 2, 3), Project((4, 10, 10)), 1)
    >>> project.objects[0].points
    (Click(id=1, frame=0, y=2, x=3, positive=True),)
    """
    for name in _find_changed(action, project):
        if project.find(name).locked:
            raise InputError(f"{name} is locked; unlock it first")
    return _apply(action, project, number)


def _find_changed(action: object, project: Project) -> tuple[str, ...]:
    """The objects about which an action says something."""
    if isinstance(action, actions.LockObject | actions.RecolourObject | actions.RenameObject):
        return ()
    if isinstance(action, actions.MovePoint | actions.RemovePoint):
        return (_find_point(project, action.point)[0].name,)
    name = getattr(action, "object", None)
    return (name,) if isinstance(name, str) else ()


@singledispatch
def _apply(action: object, project: Project, number: int) -> Project:
    raise InputError(f"{type(action).__name__} does not change a project by itself")


@_apply.register
def _add_point(action: actions.AddPoint, project: Project, number: int) -> Project:
    project.check_place(action.frame, action.y, action.x)
    target = project.find(action.object)
    places = _take_places(target)
    if (action.frame, action.y, action.x) in places:
        raise _refuse_second(target, action.frame, action.y, action.x)
    click = Click(number, action.frame, action.y, action.x, action.positive)
    # A click on the object takes back the mark that it is absent from that frame.
    absent = tuple(frame for frame in target.absent if not (action.positive and frame == action.frame))
    clicked = replace(target, points=(*target.points, click), absent=absent)
    places.add((action.frame, action.y, action.x))
    vars(clicked)[_PLACES] = places
    return project.replaced(clicked)


@_apply.register
def _add_points(action: actions.AddPoints, project: Project, number: int) -> Project:
    if not action.places:
        raise InputError("at least one point must be given, got none")
    target = project.find(action.object)
    taken = {(click.frame, click.y, click.x) for click in target.points}
    new = [place for place in dict.fromkeys(action.places) if place not in taken]
    for place in new:
        project.check_place(*place)
    first = number * MOST_POINTS_AT_ONCE  # so that their numbers meet those of no other click
    clicks = tuple(Click(first + index, *place, action.positive) for index, place in enumerate(new))
    shown = {place[0] for place in new if action.positive}
    absent = tuple(frame for frame in target.absent if frame not in shown)
    return project.replaced(replace(target, points=(*target.points, *clicks), absent=absent))


@_apply.register
def _move_point(action: actions.MovePoint, project: Project, number: int) -> Project:
    target, click = _find_point(project, action.point)
    frame = click.frame if action.frame is None else action.frame
    project.check_place(frame, action.y, action.x)
    if (frame, action.y, action.x) in {(each.frame, each.y, each.x) for each in target.points if each is not click}:
        raise _refuse_second(target, frame, action.y, action.x)
    moved = replace(click, frame=frame, y=action.y, x=action.x)
    return project.replaced(replace(target, points=tuple(moved if each is click else each for each in target.points)))


@_apply.register
def _remove_point(action: actions.RemovePoint, project: Project, number: int) -> Project:
    target, click = _find_point(project, action.point)
    return project.replaced(replace(target, points=tuple(each for each in target.points if each is not click)))


@_apply.register
def _mark_absent(action: actions.MarkAbsent, project: Project, number: int) -> Project:
    last = action.frame if action.last is None else action.last
    project.check_place(action.frame)
    project.check_place(last)
    frames = set(range(min(action.frame, last), max(action.frame, last) + 1))
    target = project.find(action.object)
    absent = set(target.absent) - frames
    if not action.absent:
        return project.replaced(replace(target, absent=tuple(sorted(absent))))
    # What was clicked and drawn there before no longer holds; an undo brings it back.
    points = tuple(each for each in target.points if not (each.positive and each.frame in frames))
    brushed = {frame: runs for frame, runs in target.brushed.items() if frame not in frames or not runs}
    marked = tuple(sorted(absent | frames))
    return project.replaced(replace(target, points=points, absent=marked, brushed=brushed))


@_apply.register
def _set_box(action: actions.SetBox, project: Project, number: int) -> Project:
    project.check_place(action.frame)
    box = Box(action.frame, action.top, action.left, action.bottom, action.right)
    box.bound(project.size)
    target = project.find(action.object)
    others = (each for each in target.boxes if each.frame != action.frame)
    boxes = tuple(sorted((*others, box), key=lambda each: each.frame))
    return project.replaced(replace(target, boxes=boxes))


@_apply.register
def _clear_box(action: actions.ClearBox, project: Project, number: int) -> Project:
    target = project.find(action.object)
    kept = tuple(box for box in target.boxes if action.frame not in (None, box.frame))
    return project.replaced(replace(target, boxes=kept))


@_apply.register
def _set_size(action: actions.SetSize, project: Project, number: int) -> Project:
    target, size = project.find(action.object), 1.0 if action.size is None else float(action.size)
    Words(size=size)
    if action.frame is None:
        return project.replaced(replace(target, size=size))
    project.check_place(action.frame)
    others = {frame: factor for frame, factor in target.sizes.items() if frame != action.frame}
    sizes = others if size == 1.0 else {**others, action.frame: size}
    return project.replaced(replace(target, sizes=dict(sorted(sizes.items()))))


@_apply.register
def _set_fraction(action: actions.SetFraction, project: Project, number: int) -> Project:
    if action.fraction is not None:
        AreaBound(action.fraction)
    return replace(project, fraction=action.fraction)


@_apply.register
def _add_object(action: actions.AddObject, project: Project, number: int) -> Project:
    if len(project.objects) >= MOST_OBJECTS:
        raise InputError(f"a project can hold {MOST_OBJECTS} objects; remove one first")
    colour = action.colour or next_colour(project)
    added = NamedObject(number, _check_name(action.name, project), _check_colour(colour))
    return replace(project, objects=(*project.objects, added))


@_apply.register
def _rename_object(action: actions.RenameObject, project: Project, number: int) -> Project:
    target = project.find(action.object)
    name = target.name if action.name == target.name else _check_name(action.name, project)
    return project.replaced(replace(target, name=name), target.name)


@_apply.register
def _recolour_object(action: actions.RecolourObject, project: Project, number: int) -> Project:
    return project.replaced(replace(project.find(action.object), colour=_check_colour(action.colour)))


@_apply.register
def _remove_object(action: actions.RemoveObject, project: Project, number: int) -> Project:
    target = project.find(action.object)
    if len(project.objects) == 1:
        raise InputError("a project needs one object at least; rename this one instead")
    return replace(project, objects=tuple(each for each in project.objects if each is not target))


@_apply.register
def _set_settings(action: actions.SetSettings, project: Project, number: int) -> Project:
    if action.preset not in PRESET_NAMES:
        raise InputError(f"the preset must be one of {', '.join(PRESET_NAMES)}, got {action.preset[:40]}")
    if not 0 <= action.seed <= LARGEST_SEED:
        raise InputError(f"the seed must lie between 0 and {LARGEST_SEED}, got {action.seed}")
    return replace(project, preset=action.preset, seed=action.seed)


@_apply.register
def _brush(action: actions.Brush, project: Project, number: int) -> Project:
    project.check_place(action.frame)
    check_stretches(action.runs, project.size)
    for other in project.objects:
        if other.name != action.object and other.locked:
            action = replace(action, runs=_spare(other, action, project.size))
    for other in project.objects:
        if other.name != action.object and not other.locked:
            project = project.replaced(_give_way(other, action, project.size))
    target = project.find(action.object)
    # A mask that shows the object takes back the mark that it is absent from that frame.
    absent = tuple(frame for frame in target.absent if not (action.runs and frame == action.frame))
    return project.replaced(replace(target, brushed={**target.brushed, action.frame: action.runs}, absent=absent))


@_apply.register
def _brush_frames(action: actions.BrushFrames, project: Project, number: int) -> Project:
    if not action.frames:
        raise InputError("a manual change must have at least one frame, got none")
    for frame, runs in action.frames:
        project = _brush(actions.Brush(action.object, frame, runs), project, number)
    return project


def _give_way(other: NamedObject, action: actions.Brush, size: tuple[int, int]) -> NamedObject:
    """Another object without the pixels that are drawn as this one: of two outlines the newer one counts."""
    runs = other.brushed.get(action.frame, ())
    if not runs or not action.runs:
        return other
    left = decode_mask(runs, size) & ~decode_mask(action.runs, size)
    return replace(other, brushed={**other.brushed, action.frame: encode_mask(left)})


def _spare(locked: NamedObject, action: actions.Brush, size: tuple[int, int]) -> Stretches:
    """What is drawn without the pixels of a locked object."""
    runs = locked.brushed.get(action.frame, ())
    return encode_mask(decode_mask(action.runs, size) & ~decode_mask(runs, size)) if runs else action.runs


@_apply.register
def _lock_object(action: actions.LockObject, project: Project, number: int) -> Project:
    return project.replaced(replace(project.find(action.object), locked=action.locked))


@_apply.register
def _clear_brush(action: actions.ClearBrush, project: Project, number: int) -> Project:
    target = project.find(action.object)
    kept = {frame: runs for frame, runs in target.brushed.items() if frame != action.frame}
    return project.replaced(replace(target, brushed=kept))


def next_colour(project: Project) -> str:
    """The first of the palette that no object has, or else the next in turn."""
    taken = {each.colour for each in project.objects}
    return next((colour for colour in PALETTE if colour not in taken), PALETTE[len(project.objects) % len(PALETTE)])


def _rows(clicks: tuple[Click, ...]) -> list[tuple[int, int, int]]:
    return [(click.frame, click.y, click.x) for click in clicks]


def _covers(runs: Stretches, place: int) -> bool:
    """Whether one of the runs of a mask holds a pixel, counted row by row."""
    return any(start <= place < start + length for start, length in runs)


def _find_point(project: Project, number: int) -> tuple[NamedObject, Click]:
    for target in project.objects:
        for click in target.points:
            if click.id == number:
                return target, click
    raise InputError(f"there is no point {number}; somebody may have removed it")


def _take_places(target: NamedObject) -> set[tuple[int, int, int]]:
    """The places of an object's clicks, as a set of the caller's own to go on with.

    It travels from one state of the object to the next: to gather it anew for each of n clicks would take n**2 steps.
    """
    return vars(target).pop(_PLACES, None) or {(click.frame, click.y, click.x) for click in target.points}


def _refuse_second(target: NamedObject, frame: int, y: int, x: int) -> InputError:
    return InputError(f"{target.name} has a point at frame {frame}, y {y}, x {x} already; remove that one first")


def _check_name(name: str, project: Project) -> str:
    if not (name.strip() and name == name.strip() and len(name) <= LONGEST_NAME and name.isprintable()):
        raise InputError(
            f"an object's name must be 1 to {LONGEST_NAME} printable characters without spaces at its ends"
        )
    if any(each.name == name for each in project.objects):
        raise InputError(f"there is an object {name} already; choose another name")
    return name


def _check_colour(colour: str) -> str:
    if not re.fullmatch("#[0-9a-f]{6}", colour.lower()):
        raise InputError(f"a colour must be given as #rrggbb, got {colour[:20]}")
    return colour.lower()
