"""What a run has found when it is stopped."""

import time
from dataclasses import dataclass, field, replace
from pathlib import Path

import numpy as np

from fewpoint.core import (
    EpochPredicted,
    ObjectResult,
    PriorEstimate,
    PriorHistory,
    ProbabilityMaps,
    Result,
    SuperpixelMap,
    SuperpixelsReady,
    ignore,
)
from fewpoint.core.obeying import leave_out_missing
from fewpoint.core.paging import gather_frames, make_frames, walk
from fewpoint.core.progress import Event
from fewpoint.core.settings import as_table
from fewpoint.io.atomic import write_json
from fewpoint.io.decoding import load_array
from fewpoint.io.runs import FOUND_FILE, LOOK_FILE, SUPERPIXELS_FILE, RunFolder, write_result, write_told
from fewpoint.pipeline.artefacts import load_or_none
from fewpoint.pipeline.calibration import calibrate
from fewpoint.pipeline.costs import StageLog
from fewpoint.pipeline.focus import Focus
from fewpoint.pipeline.group import guess_bound
from fewpoint.pipeline.kept import load_found, load_looks
from fewpoint.pipeline.task import Task
from fewpoint.runs.exports import join_objects
from fewpoint.runs.summary import SUMMARY_FILE, examine, label_names, summarise
from fewpoint.runs.words import obey_words
from fewpoint.superpixels.regions import regions_at_negatives, regions_at_points


@dataclass(frozen=True, eq=False)
class ObjectLook:
    """The last look at what a network predicts for one object.

    probabilities: (T, regions) of each superpixel of each frame. priors: (T,) share of each frame.
    """

    superpixels: SuperpixelMap
    epoch: int
    probabilities: np.ndarray
    priors: np.ndarray

    def mask(self, frame: int) -> np.ndarray:
        """(H, W) bool: the superpixels of a frame at 0.5 or above."""
        return (self.probabilities[frame] >= 0.5)[self.superpixels.labels[frame]]

    def to_object(self, task: Task) -> ObjectResult:
        """The masks of a run that was stopped here; clicked superpixels belong to them, those under a negative do not.

        task: on this object alone.
        """
        regions, labels = self.probabilities, self.superpixels.labels
        frames = (row[frame] for row, frame in zip(regions, walk(labels), strict=True))
        values = gather_frames(frames, labels.shape, np.float16)
        masks = gather_frames((frame >= 0.5 for frame in walk(values)), labels.shape, bool)
        clicked = regions_at_points(self.superpixels, task.points)
        refused = regions_at_negatives(self.superpixels, task.points)
        for frame in range(len(masks)):
            masks[frame] |= np.isin(self.superpixels.global_labels(frame), clicked)
            masks[frame] &= ~np.isin(self.superpixels.global_labels(frame), refused)
        priors = PriorEstimate(self.priors, np.zeros_like(self.priors), self.priors)
        return ObjectResult(masks, ProbabilityMaps(values), priors, PriorHistory.empty(len(masks)), guess_bound(task))


@dataclass(eq=False)
class LastLook:
    """A listener that keeps the last look at each object, by name; "" for one without a name.

    found: of groups of objects that were finished when another was stopped, see recall; their looks no longer count.
    """

    objects: dict[str, ObjectLook] = field(default_factory=dict)
    found: dict[str, ObjectResult] = field(default_factory=dict)
    _superpixels: dict[str, SuperpixelMap] = field(default_factory=dict)

    def __call__(self, event: Event) -> None:
        if isinstance(event, SuperpixelsReady):
            self._superpixels |= dict.fromkeys(event.objects, event.superpixels)
        elif isinstance(event, EpochPredicted) and event.object in self._superpixels:
            cut = self._superpixels[event.object]
            self.objects[event.object] = ObjectLook(cut, event.epoch, event.probabilities, event.priors)

    @property
    def names(self) -> frozenset[str]:
        """The objects of which there is more than their clicks."""
        return frozenset({*self.objects, *self.found})

    @property
    def saw_something(self) -> bool:
        return bool(self.names)

    def recall(self, folder: RunFolder, size: tuple[int, int]) -> None:
        """Take from the run's folder what groups have found, and looks of earlier starts at objects not seen since."""
        stages = folder.artefact("")
        for place in (stages, *sorted(stages.glob("group-*"))):
            self.found |= load_or_none(place / FOUND_FILE, lambda path: load_found(path, size)) or {}
            for name, look in (load_or_none(place / LOOK_FILE, lambda path: _load_looks(path, size)) or {}).items():
                self.objects.setdefault(name, look)

    @property
    def epoch(self) -> int:
        learnt = (len(each.history) for each in self.found.values())
        return max(*(look.epoch for look in self.objects.values()), *learnt, 0, 0)

    def to_result(self, task: Task) -> Result:
        """The masks of a run that was stopped here; an object without a look so far has only its clicks."""
        task = _with_previous_bounds(task)
        wholes = {name: task.of_object(name) for name in task.object_names}
        found = tuple(obey_words(self._find(name, whole), task, name) for name, whole in wholes.items())
        labels = label_names(task.object_names)
        objects = tuple(replace(each, label=label) for each, label in zip(found, labels, strict=True))
        notes = tuple(f"{name}: stopped before it was trained" for name in wholes if name not in self.names)
        if len(objects) > 1:
            kept = tuple(name in self.found for name in wholes)
            objects, ties = join_objects(objects, tuple(whole.points for whole in wholes.values()), kept)
            notes = (*notes, *ties)
        if task.plan.diffusion is not None:  # as those of a run that comes to its end
            objects = tuple(calibrate(each) if each.name in self.found else each for each in objects)
        objects = tuple(leave_out_missing(each, task.sequence.missing) for each in objects)
        return Result(objects, task.sequence.names, task.sequence.source, notes)

    def _find(self, name: str, task: Task) -> ObjectResult:
        """What there is of an object. task: on it alone."""
        if name in self.found:
            return self.found[name]
        return self.objects[name].to_object(task) if name in self.objects else _find_nothing(task)


def _load_looks(path: Path, size: tuple[int, int]) -> dict[str, ObjectLook]:
    """The looks that an earlier start wrote down, by object, with the superpixels next to them."""
    box, seen = load_looks(path)
    focus = Focus(size, *box)
    inside = SuperpixelMap(load_array(path.with_name(SUPERPIXELS_FILE), "labels"))
    cut = inside if focus.whole else focus.widen_superpixels(inside)
    return {each.object: ObjectLook(cut, each.epoch, each.probabilities, each.priors) for each in seen}


def _with_previous_bounds(task: Task) -> Task:
    """The task with the bounds of the run that it refines, unless others are given."""
    if task.previous is None or task.bound is not None:
        return task
    groups = (task.previous.of_objects(names) for names in task.previous.group_names(task.object_names))
    known = {
        name: bound
        for group in groups
        if group is not None
        for name, bound in zip(group.groups[0].objects, group.groups[0].bounds, strict=True)
    }
    if "" in known:
        return replace(task, bound=known[""])
    return replace(task, own_bounds=tuple((known | dict(task.own_bounds)).items()))


def _find_nothing(task: Task) -> ObjectResult:
    """The empty masks of an object of which only the bound is known."""
    shape = (len(task.sequence), *task.sequence.size)
    nothing = np.zeros(len(task.sequence))
    maps = ProbabilityMaps(make_frames(shape, np.float16))
    priors, history = PriorEstimate(nothing, nothing, nothing), PriorHistory.empty(len(task.sequence))
    return ObjectResult(make_frames(shape, bool), maps, priors, history, guess_bound(task))


def finish_early(task: Task, folder: RunFolder, look: LastLook) -> Result:
    """Write the last look as the result of a run that was stopped; its manifest says so."""
    result = look.to_result(task)
    summary = {**summarise(result, examine(task, result)), "epochs": look.epoch}
    write_result(result, folder.path, task.outputs)
    write_told(task.points, task.words, folder.path)
    write_json(folder.path / SUMMARY_FILE, summary)
    stopped = {"settings": as_table(task.settings), "stopped_after_epoch": look.epoch, "result": summary}
    stopped |= StageLog(folder, ignore, began=time.perf_counter()).as_table()
    folder.write_manifest("finished", stopped)
    return result
