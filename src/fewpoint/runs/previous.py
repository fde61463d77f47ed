"""A finished run read from its folder, for another to refine."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from fewpoint.core import PointSet, SuperpixelMap
from fewpoint.core.job import PlainPoints
from fewpoint.errors import InputError
from fewpoint.io.decoding import load_arrays, naming
from fewpoint.io.runs import (
    GROUPS,
    MOTION_FILE,
    STAGES_FOLDER,
    SUPERPIXELS_FILE,
    load_result,
    read_bound,
    read_finished,
    read_told,
)
from fewpoint.io.schema import expecting_ours
from fewpoint.methods.registry import read_own_settings
from fewpoint.pipeline.model import GroupModel, load_model
from fewpoint.pipeline.previous import Cut, PreviousGroup, PreviousRun


def load_previous(folder: str | Path) -> PreviousRun:
    """Read a finished run's folder."""
    folder = Path(folder)
    with expecting_ours(folder):
        return _load_previous(folder)


def _load_previous(folder: Path) -> PreviousRun:
    manifest = read_finished(folder)
    if "identity" not in manifest:
        raise InputError(f"{folder} holds a result that was saved, without its networks; give the out of its run")
    entries = _list_groups(manifest)
    if not entries:
        raise InputError(f"{folder} must be a run of fewpoint's own method to be refined, it is not; give another")
    described = {each.get("name", ""): each for each in manifest["result"].get("objects", [manifest["result"]])}
    model = load_model(folder)
    groups = [
        _recall_labels(_load_group(stages, entry, own, described), folder)
        for stages, entry, own in zip(_group_folders(folder, entries), entries.values(), model.groups, strict=True)
    ]
    identity = manifest["identity"]
    settings = read_own_settings(identity["method"], manifest["settings"])
    told = read_told(folder)
    with naming(folder):
        started = _read_started(manifest, told[0])
    return PreviousRun(str(folder), identity["sequence"], settings, tuple(groups), model, *told, started)


def _read_started(manifest: dict[str, Any], told: PointSet | None) -> PointSet | None:
    """The points that networks learnt from scratch from; those of a run that refines none are what it was told."""
    if manifest.get("refined_from") is None:
        return told
    started = manifest.get("started")
    return None if started is None else PlainPoints.from_table(started).to_points()


def find_stages(folder: Path) -> tuple[Path, ...]:
    """The folder of the artefacts of each group of a finished run."""
    return _group_folders(folder, _list_groups(read_finished(folder)))


def _group_folders(folder: Path, entries: dict[str, dict[str, Any]]) -> tuple[Path, ...]:
    return tuple(folder / STAGES_FOLDER / (place if len(entries) > 1 else "") for place in entries)


def _list_groups(manifest: dict[str, Any]) -> dict[str, dict[str, Any]]:
    """What the manifest says about each group, by the folder of its artefacts; empty for runs of other methods."""
    if "focus" in manifest:  # a run of version 0.1
        return {"": manifest}
    return {name: entry for name, entry in manifest.get(GROUPS, {}).items() if "focus" in entry}


def _load_group(
    stages: Path, entry: dict[str, Any], model: GroupModel, described: dict[str, dict[str, Any]]
) -> PreviousGroup:
    """A group by its entry in the manifest. described: the summary of each object by its name."""
    labels, networks = stages / SUPERPIXELS_FILE, [stages / f"{name}.npz" for name in entry["networks"]]
    whole = all(path.is_file() for path in networks)
    stored = [load_arrays(path, ("logits", "first")) for path in networks] if whole else []  # the model has the weights
    single = next(iter(described.values()))
    objects = [described[name] if len(described) > 1 else single for name in model.objects]
    return PreviousGroup(
        bounds=tuple(map(read_bound, objects)),
        box=tuple(entry["focus"]),
        model=model,
        superpixels=SuperpixelMap(load_arrays(labels)["labels"]) if labels.is_file() else None,
        logits=tuple(map(_find_logits, stored)),
        first=tuple(each["first"] for each in stored if "first" in each),
        cuts=tuple(Cut(**cut) for cut in entry.get("cuts", ())),
        labels=load_arrays(masks)["values"] if (masks := stages / "masks.npz").is_file() else None,
        motion=_load_motion(motion) if (motion := stages / MOTION_FILE).is_file() else None,
    )


def _recall_labels(group: PreviousGroup, folder: Path) -> PreviousGroup:
    """The group with its labels from the result of the run, if those among its artefacts are gone."""
    if group.labels is not None:
        return group
    result, (top, bottom, left, right) = load_result(folder), group.box
    several = len(result.objects) > 1
    labels = np.zeros((len(result.names), bottom - top, right - left), np.uint8)
    for number, name in enumerate(group.objects, start=1):
        own = result[name].only if several else result.only
        labels[own.masks[:, top:bottom, left:right]] = number
    return replace(group, labels=labels)


def _load_motion(path: Path) -> np.ndarray:
    found = load_arrays(path)["found"]
    if found.ndim != 2 or found.shape[1] != 7 or found.dtype != np.int32:
        raise ValueError(f"motion is {found.dtype} of shape {found.shape}")
    return found


def _find_logits(stored: dict[str, np.ndarray]) -> np.ndarray:
    logits = stored["logits"]
    return logits if logits.ndim == 4 else logits[np.newaxis]  # a run of version 0.1 has one object without an axis
