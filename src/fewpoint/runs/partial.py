"""What a run has found when it is stopped."""

from dataclasses import dataclass, field, replace

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
)
from fewpoint.core.paging import gather_frames, make_frames, walk
from fewpoint.core.progress import Event
from fewpoint.core.settings import as_table
from fewpoint.io.atomic import write_json
from fewpoint.io.runs import RunFolder, write_result, write_told
from fewpoint.pipeline.group import guess_bound
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
    """A listener that keeps the last look at each object, by name; "" for one without a name."""

    objects: dict[str, ObjectLook] = field(default_factory=dict)
    _superpixels: dict[str, SuperpixelMap] = field(default_factory=dict)

    def __call__(self, event: Event) -> None:
        if isinstance(event, SuperpixelsReady):
            self._superpixels |= dict.fromkeys(event.objects, event.superpixels)
        elif isinstance(event, EpochPredicted) and event.object in self._superpixels:
            cut = self._superpixels[event.object]
            self.objects[event.object] = ObjectLook(cut, event.epoch, event.probabilities, event.priors)

    @property
    def saw_something(self) -> bool:
        return bool(self.objects)

    @property
    def epoch(self) -> int:
        return max((look.epoch for look in self.objects.values()), default=0)

    def to_result(self, task: Task) -> Result:
        """The masks of a run that was stopped here; an object without a look so far has only its clicks."""
        task = _with_previous_bounds(task)
        wholes = {name: task.of_object(name) for name in task.object_names}
        found = tuple(
            obey_words(
                self.objects[name].to_object(whole) if name in self.objects else _find_nothing(whole), task, name
            )
            for name, whole in wholes.items()
        )
        labels = label_names(task.object_names)
        objects = tuple(replace(each, label=label) for each, label in zip(found, labels, strict=True))
        notes = tuple(f"{name}: stopped before it was trained" for name in wholes if name not in self.objects)
        if len(objects) > 1:
            objects, ties = join_objects(objects, tuple(whole.points for whole in wholes.values()))
            notes = (*notes, *ties)
        return Result(objects, task.sequence.names, task.sequence.source, notes)


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
    folder.write_manifest("finished", stopped)
    return result
