"""What a run that is stopped has found so far."""

from dataclasses import dataclass

import numpy as np

from fewpoint.core import (
    EpochPredicted,
    PriorEstimate,
    PriorHistory,
    ProbabilityMaps,
    Segmentation,
    SuperpixelMap,
    SuperpixelsReady,
)
from fewpoint.core.paging import gather_frames, walk
from fewpoint.core.progress import Event
from fewpoint.io.atomic import write_json
from fewpoint.io.runs import RunFolder, write_result
from fewpoint.pipeline.bounds import estimate_bound
from fewpoint.pipeline.config import as_table
from fewpoint.pipeline.summary import SUMMARY_FILE, summarise
from fewpoint.pipeline.task import Task
from fewpoint.superpixels.regions import regions_at_negatives, regions_at_points


@dataclass(eq=False)
class LastLook:
    """A listener that remembers the last time somebody looked at the network.

    probabilities: (T, regions) of each superpixel of each frame. priors: (T,) share of each frame.
    """

    superpixels: SuperpixelMap | None = None
    epoch: int = 0
    probabilities: np.ndarray | None = None
    priors: np.ndarray | None = None

    def __call__(self, event: Event) -> None:
        if isinstance(event, SuperpixelsReady):
            self.superpixels = event.superpixels
        elif isinstance(event, EpochPredicted):
            self.epoch, self.probabilities, self.priors = event.epoch, event.probabilities, event.priors

    @property
    def saw_something(self) -> bool:
        return self.superpixels is not None and self.probabilities is not None

    def mask(self, frame: int) -> np.ndarray:
        """(H, W) bool: the superpixels of a frame at 0.5 or above."""
        return (self.probabilities[frame] >= 0.5)[self.superpixels.labels[frame]]

    def to_segmentation(self, task: Task) -> Segmentation:
        """The masks of a run that was stopped here; superpixels clicked on belong to them, those beside do not."""
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
        bound = task.bound or (task.previous.bound if task.previous else estimate_bound(task.sequence, task.points))
        history, sequence = PriorHistory.empty(len(masks)), task.sequence
        return Segmentation(masks, ProbabilityMaps(values), priors, history, bound, sequence.names, sequence.source)


def finish_early(task: Task, folder: RunFolder, look: LastLook) -> Segmentation:
    """Write the last look as the result of a run that goes no further; its manifest says so."""
    result = look.to_segmentation(task)
    summary = {**summarise(result), "epochs": look.epoch}
    write_result(result, folder.path, task.outputs)
    write_json(folder.path / SUMMARY_FILE, summary)
    stopped = {"settings": as_table(task.settings), "stopped_after_epoch": look.epoch, "result": summary}
    folder.write_manifest("finished", stopped)
    return result
