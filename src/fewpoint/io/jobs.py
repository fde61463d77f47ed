"""Jobs from files: what a project says of a run, settings in TOML, and jobs as JSON."""

import math
import tomllib
from dataclasses import replace
from pathlib import Path
from typing import Any

from fewpoint.core.job import EVERY, Bounds, BoxOnFrame, Changes, GivenBound, Job, PlainPoints, PointFiles, Value
from fewpoint.core.project import Project
from fewpoint.core.saying import SaidWords
from fewpoint.core.words import Box
from fewpoint.errors import InputError, SettingsError
from fewpoint.io.atomic import read_json, write_json
from fewpoint.io.decoding import naming
from fewpoint.io.pacs.addresses import is_remote
from fewpoint.io.points import find_points
from fewpoint.io.projects import ProjectFile, is_project, read_project


def settle_job(job: Job) -> Job:
    """The job with all that it leaves unsaid: what its project says, or else the defaults.

    A project is named as input, as points, or as both; its points come along, so that the project itself is not read
    again. What the job says itself wins.
    """
    file = _find_project(job)
    if file is not None:
        with naming(f"points file {file.path}"):
            job = honour_project(job, file.project, str(file.input))
    elif not job.points:
        job = replace(job, points=_find_points(job))
    return replace(job, seed=job.seed or 0)


def honour_project(job: Job, project: Project, frames: str) -> Job:
    """The job with the project's frames, points, words, bounds, preset and seed, unless it has its own.

    A run that is refined has settings already, which the project's preset does not change.
    """
    keeps_settings = job.preset is not None or job.method is not None or job.refine is not None
    return replace(
        job,
        input=frames if not job.input or is_project(Path(job.input)) else job.input,
        points=job.points if _is_other(job.points) else PlainPoints.of(project.to_points()),
        bounds=join_bounds(job.bounds, bounds_of(project)),
        words=tuple(sorted({**dict(words_of(project)), **dict(job.words or ())}.items(), key=lambda each: each[0])),
        preset=job.preset if keeps_settings else project.preset,
        seed=project.seed if job.seed is None else job.seed,
    )


def bounds_of(project: Project) -> Bounds:
    """The largest box of each clicked object and the share given for the others; that of a single one holds for all."""
    clicked = project.clicked or project.objects[:1]
    largest = {each.name: each.largest_box for each in clicked}
    boxes = {name: GivenBound(box=_as_row(box)) for name, box in largest.items() if box is not None}
    if len(clicked) == 1 and boxes:
        return ((EVERY, boxes[clicked[0].name]),)
    share = () if project.fraction is None else ((EVERY, GivenBound(project.fraction)),)
    return (*share, *sorted(boxes.items()))


def words_of(project: Project) -> SaidWords:
    """What was said of clicked objects besides clicks; of a single one under no name, whatever other points call it."""
    said = project.to_words()
    return tuple((EVERY, words) for _, words in said) if len(project.clicked) == 1 else said


def join_bounds(own: Bounds, others: Bounds) -> Bounds:
    """Bounds that are given, then others for the objects that have none; one that is given for all leaves no others."""
    names = {name for name, _ in own}
    kept = () if EVERY in names else tuple(each for each in others if each[0] not in names)
    return tuple(sorted((*own, *kept), key=lambda each: each[0]))


def read_changes(path: Path) -> Changes:
    """Settings to change from a TOML file with one table per section."""
    try:
        tables = tomllib.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError) as error:
        raise SettingsError(f"the settings file {path} must be readable TOML: {error}") from error
    for section, table in tables.items():
        if not isinstance(table, dict):
            raise SettingsError(f"{path}: {section} must stand in a table such as [training]")
    return tuple(
        (f"{section}.{name}", _plain_value(f"{section}.{name}", value))
        for section, table in tables.items()
        for name, value in table.items()
    )


def parse_changes(assignments: list[str]) -> Changes:
    """Settings to change from text.

    >>> parse_changes(["training.batch = 4"])
    (('training.batch', '4'),)
    """
    changes = []
    for assignment in assignments:
        key, equals, value = assignment.partition("=")
        if not equals:
            raise SettingsError(f"a setting must be given as section.key=value, got {assignment}")
        changes.append((key.strip(), value.strip()))
    return tuple(changes)


def write_job(job: Job, path: Path) -> None:
    write_json(path, job.as_table())


def load_job(path: Path) -> Job:
    """Read a job from JSON; its relative paths start from the folder of the file."""
    with naming(str(path)):
        job = Job.from_table(read_json(path))

    def find(text: str) -> str:
        return text if not text or is_remote(text) else str(path.absolute().parent / Path(text).expanduser())

    return job.with_paths(find)


def _find_project(job: Job) -> ProjectFile | None:
    """The project that a job names; that of its points, if input and points name two."""
    named = [path for path in (job.points, job.input) if isinstance(path, str) and is_project(Path(path))]
    return read_project(named[0]) if named else None


def _is_other(points: str | PointFiles | PlainPoints) -> bool:
    """Whether a job's points are not those of its project."""
    return bool(points) and not (isinstance(points, str) and is_project(Path(points)))


def _find_points(job: Job) -> str:
    """The points that come with the input; none are needed if frames are outlined."""
    found = find_points(job.input)
    if found is None and _has_outlines(job):
        return ""
    if found is None:
        raise InputError(
            f"points on the object are needed and {job.input or 'the job'} comes with none; give --points FILE or "
            "--outlined, or in a batch fill in the column points"
        )
    return str(found)


def _has_outlines(job: Job) -> bool:
    """Whether a job says where its objects are without a point."""
    return bool(job.outlines) or any(each.outlined for _, each in job.words or ())


def _as_row(box: Box) -> BoxOnFrame:
    return box.frame, box.top, box.left, box.bottom, box.right


def _plain_value(key: str, value: Any) -> Value:
    """A value of TOML as JSON can hold it; infinity as text."""
    if isinstance(value, float) and not math.isfinite(value):
        return str(value)
    if not isinstance(value, str | bool | int | float):
        kind = {dict: "a table", list: "a list"}.get(type(value)) or value
        raise SettingsError(f"{key[:80]} must be text, a number, true or false, got {kind}")
    return value
