"""Reading and writing .fewpoint files, for napari, and a made-up sequence to try things on."""

import json
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np

from fewpoint.core.actions import Action, AddObject, Brush, RenameObject
from fewpoint.core.project import NamedObject, Project
from fewpoint.core.run_lengths import encode_mask
from fewpoint.core.sequence import ImageSequence
from fewpoint.errors import InputError
from fewpoint.io.atomic import save_array, write_atomically
from fewpoint.io.images import read_sequence
from fewpoint.io.projects import SUFFIX, ProjectFile, ProjectLog, is_project, read_project, runs_folder
from fewpoint.napari.clicks import find_changes, gather_clicks
from fewpoint.napari.desk import find_open
from fewpoint.napari.layers import KEY, give_colours, give_frames, give_points, is_positive, take_frames
from fewpoint.napari.study import find_painted
from fewpoint.web.orders import shown_folder
from fewpoint.web.results import ObjectMasks
from fewpoint.web.sessions import choose_shown
from fewpoint.web.shown import MASKS

LayerData = tuple[Any, dict[str, Any], str]
Do = Callable[[Action], None]


def get_reader(path: str | list[str]) -> Callable[[str | list[str]], list[LayerData]] | None:
    """What reads a path; None if it is no project."""
    first = path if isinstance(path, str) else path[0]
    return read_layers if is_project(Path(first)) else None


def read_layers(path: str | list[str]) -> list[LayerData]:
    """The image of a project, a points layer for each of its objects, and the masks that it last had."""
    from napari.utils.colormaps import DirectLabelColormap

    if not isinstance(path, str):
        return [layer for each in path for layer in read_layers(each)]
    file = read_project(Path(path).resolve())
    sequence = read_sequence(file.input)
    if sequence.shape[:3] != file.header.shape:
        raise InputError(
            f"{file.input.name} must be what {file.path.name} was begun with, frames of {file.header.shape}, it now "
            f"has {sequence.shape[:3]}; put it back"
        )
    name, mark = file.path.name.removesuffix(SUFFIX), {"project": str(file.path)}
    frames, options = give_frames(sequence)
    place = {"scale": options["scale"]} if "scale" in options else {}
    layers: list[LayerData] = [(frames, {"name": name, "metadata": {KEY: mark}, **options}, "image")]
    colours = DirectLabelColormap(color_dict=give_colours(file.project))
    about = {"name": f"{name} masks", "metadata": {KEY: mark}, "colormap": colours, **place}
    layers.append((read_labels(file), about, "labels"))
    for target in file.project.objects:
        rows, given = give_points(target, file.header.shape)
        layers.append((rows, {**given, "metadata": {KEY: {**mark, "object": target.id}}, **place}, "points"))
    return layers


def read_labels(file: ProjectFile) -> np.ndarray:
    """(T, H, W) uint8, the number of the object at each pixel: as drawn, else as the run shown has it."""
    shown = choose_shown(file.runs, file.choice)
    labels = np.zeros(file.header.shape, np.uint8)
    for value, target in enumerate(file.project.objects, start=1):
        folder = None if shown is None else shown_folder(runs_folder(file.path) / str(shown.id), target.id)
        masks = ObjectMasks(file.header.shape, None if folder is None else folder / MASKS, target.brushed)
        for frame, label in enumerate(labels):
            label[masks.cut(0, frame) & (label == 0)] = value
    return labels


def write_layers(path: str, layers: list[LayerData]) -> list[str]:
    """Save layers as a project, and return its path.

    Points become clicks of the object that their layer is about; frames whose labels differ from what the project shows
    were painted, and become outlines. What else the project holds stays. A new file begins with all that was said in
    the project that the layers come from, if any, whose runs stay where they are.
    """
    target = Path(path if path.endswith(SUFFIX) else path + SUFFIX).resolve()
    origin = _find_origin(layers)
    if not target.exists():
        _begin(target, origin, layers)
    before = read_labels(read_project(origin or target))
    with _open(target) as (get, do):
        numbers = {}
        for data, about, kind in layers:
            if kind == "points":
                numbers[about["name"]] = _write_points(np.asarray(data), about, get, do)
        if find_open(origin or target) is None:  # else the dock widget has asked which frames are right
            for data, _, kind in layers:
                if kind == "labels":
                    _write_labels(np.asarray(data), before, get(), do)
    return [str(target)]


def make_sample() -> list[LayerData]:
    """A made-up sequence, whose object moves and changes."""
    from fewpoint.evaluation.phantom import make_phantom

    frames, options = give_frames(make_phantom(n_frames=24, size=(160, 160)).sequence)
    return [(frames, {"name": "phantom", **options}, "image")]


def _find_origin(layers: list[LayerData]) -> Path | None:
    """The project that layers come from, if it is still there."""
    marks = (about.get("metadata", {}).get(KEY, {}) for _, about, _ in layers)
    paths = (Path(mark["project"]) for mark in marks if "project" in mark)
    return next(filter(is_project, paths), None)


def _begin(path: Path, origin: Path | None, layers: list[LayerData]) -> None:
    """Make a project's file: a copy of what was said in another one, or one about the image among the layers."""
    if origin is not None:
        _copy_words(origin, path)
        return
    images = [(data, about) for data, about, kind in layers if kind == "image"]
    if not images:
        raise InputError("a project needs an image; select the image layer too, then save")
    data, about = images[0]
    sequence = ImageSequence.from_array(take_frames(data, bool(about.get("rgb"))))
    image = path.with_name(path.name.removesuffix(SUFFIX) + ".npy")
    write_atomically(image, lambda file: save_array(sequence.frames, file))
    ProjectLog.create(path, image, sequence.shape[:3]).close()


def _copy_words(origin: Path, path: Path) -> None:
    """Begin a project with what was said in another, about the same input."""
    file = read_project(origin)
    ProjectLog.create(path, file.input, file.header.shape).close()
    kept = []
    for line in origin.read_bytes()[: file.length].splitlines(keepends=True)[1:]:
        if not {"run", "choice", "review"} & json.loads(line).keys():
            kept.append(line)
    with open(path, "ab") as stream:
        stream.writelines(kept)
        stream.flush()
        os.fsync(stream.fileno())


@contextmanager
def _open(path: Path) -> Iterator[tuple[Callable[[], Project], Do]]:
    """A project to be changed: in the dock widget that has it open, else in its file."""
    study = find_open(path)
    if study is not None:
        yield (lambda: study.project), study.say
        return
    log = ProjectLog.open(path)
    try:
        yield (lambda: log.project), log.do
    finally:
        log.close()


def _write_points(rows: np.ndarray, about: dict[str, Any], get: Callable[[], Project], do: Do) -> int:
    """Give the object of a layer its clicks; returns its number."""
    target = _find_target(about, get(), do, get)
    clicks, _ = gather_clicks(rows, is_positive(about.get("features", {}), len(rows)), get().shape)
    for change in find_changes(target, clicks):
        do(change)
    return target.id


def _find_target(about: dict[str, Any], project: Project, do: Do, get: Callable[[], Project]) -> NamedObject:
    """The object that a layer of points is about: the one of its mark or name, else a new one of its name."""
    number, name = about.get("metadata", {}).get(KEY, {}).get("object"), str(about["name"])
    for each in project.objects:
        if each.id == number or (number is None and each.name == name):
            return each
    first = project.objects[0]
    untouched = len(project.objects) == 1 and not first.points and not first.brushed
    do(RenameObject(first.name, name) if untouched else AddObject(name))
    return get().find(name)


def _write_labels(labels: np.ndarray, before: np.ndarray, project: Project, do: Do) -> None:
    if labels.shape != before.shape:
        raise InputError(f"labels must have the shape of the image, {before.shape}, got {labels.shape}")
    for frame in find_painted(labels, before):
        for value, target in enumerate(project.objects, start=1):
            mask = labels[frame] == value
            if not np.array_equal(mask, before[frame] == value):
                do(Brush(target.name, frame, encode_mask(mask)))
