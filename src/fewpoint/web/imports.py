"""Points and masks from files, into an open project."""

from pathlib import Path

from fewpoint.core.actions import Action, AddObject, AddPoints, BrushFrames, MarkAbsent
from fewpoint.core.job import OutlineFile
from fewpoint.core.run_lengths import encode_mask
from fewpoint.errors import InputError
from fewpoint.io.outlines import read_outlines
from fewpoint.io.points import find_points, read_points
from fewpoint.io.rtstruct import is_rtstruct, read_rtstruct
from fewpoint.web.sessions import Session

POINT_SUFFIXES = (".csv", ".json", ".fcsv")


def find_own_points(session: Session) -> Path | None:
    """The points that lie with the images, as in the paper's dataset."""
    return find_points(session.source.path)


def plan_import(session: Session, path: Path, name: str) -> list[Action]:
    """The actions that take over what a file holds: points by its name's ending, else masks.

    name: of the object that it is about, unless the points name theirs.
    """
    target = session.project.find(name)
    if path.name.lower().endswith(POINT_SUFFIXES):
        return _plan_points(session, path, target.name)
    if is_rtstruct(path):
        return _plan_structures(session, path)
    drawn = read_outlines([(target.name, OutlineFile(str(path)))], (target.name,), session.sequence)[target.name]
    return [BrushFrames(target.name, tuple(sorted(drawn.items())))]


def _plan_structures(session: Session, path: Path) -> list[Action]:
    """Each outlined structure as an object of its name."""
    known = {each.name for each in session.project.objects}
    plan: list[Action] = []
    for name, frames in read_rtstruct(path, session.sequence).items():
        if name not in known:
            plan.append(AddObject(name))
        plan.append(BrushFrames(name, tuple((frame, encode_mask(mask)) for frame, mask in sorted(frames.items()))))
    return plan


def _plan_points(session: Session, path: Path, name: str) -> list[Action]:
    points = read_points(path, session.sequence)
    names = points.object_names if points.objects else ("",)
    known = {each.name for each in session.project.objects}
    plan: list[Action] = []
    for each in names:
        own = points.of_object(each) if each else points
        called = each or name
        if called not in known:
            plan.append(AddObject(called))
        for places, positive in ((own.coordinates, True), (own.negatives, False)):
            rows = tuple((int(frame), int(y), int(x)) for frame, y, x in places.tolist())
            if rows:
                plan.append(AddPoints(called, rows, positive))
        plan += [MarkAbsent(called, frame) for frame in own.absent]
    if not plan:
        raise InputError(f"{path.name} holds no point; give another file")
    return plan
