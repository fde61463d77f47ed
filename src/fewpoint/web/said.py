"""What was said between two states of a project: about which objects, and on which frames."""

from typing import Any

from fewpoint.core.project import NamedObject, Project


def find_spoken_of(now: Project, then: Project | None) -> frozenset[int]:
    """The numbers of the clicked objects about which something was said since; then: None for nothing at all."""
    before = {} if then is None else {each.id: _said_of(each) for each in then.objects}
    return frozenset(each.id for each in now.clicked if before.get(each.id) != _said_of(each))


def find_spoken_frames(now: Project, then: Project) -> frozenset[int]:
    """The frames on which something was said since about any object that is still there."""
    before = {each.id: _said_by_frame(each) for each in then.objects}
    frames: set[int] = set()
    for each in now.objects:
        old, new = before.get(each.id, {}), _said_by_frame(each)
        frames |= {frame for frame in old.keys() | new.keys() if old.get(frame) != new.get(frame)}
    return frozenset(frames)


def find_last_place(now: Project, then: Project) -> int:
    """The frame of a click that is new since, else of the first click; 0 without any."""
    clicked = sorted({click.frame for each in now.clicked for click in each.points})
    spoken = find_spoken_frames(now, then)
    return next(iter([frame for frame in clicked if frame in spoken] or clicked), 0)


def is_news(now: Project, then: Project) -> bool:
    """Whether anything was said since that a run would learn from."""
    return bool(find_spoken_of(now, then)) or now.fraction != then.fraction


def count_shown_frames(project: Project) -> int:
    """How many frames somebody has shown an object on, by a click or a whole mask."""
    return len({frame for each in project.clicked for frame in (*_clicked_frames(each), *each.brushed)})


def _clicked_frames(target: NamedObject) -> list[int]:
    return [click.frame for click in target.positives]


def _said_of(target: NamedObject) -> tuple[Any, ...]:
    """All that was said about an object, whatever it is called and in whichever order it was said."""
    clicks = frozenset((click.frame, click.y, click.x, click.positive) for click in target.points)
    return clicks, frozenset(target.absent), target.boxes, target.brushed, target.size, target.sizes


def _said_by_frame(target: NamedObject) -> dict[int, Any]:
    """What was said about single frames."""
    found: dict[int, list[Any]] = {}
    for click in sorted(target.points, key=lambda click: (click.frame, click.y, click.x)):
        found.setdefault(click.frame, []).append((click.y, click.x, click.positive))
    for frame in target.absent:
        found.setdefault(frame, []).append("absent")
    for box in target.boxes:
        found.setdefault(box.frame, []).append(box)
    for frame, value in (*target.brushed.items(), *target.sizes.items()):
        found.setdefault(frame, []).append(value)
    return found
