"""The pipeline behind the one interface of all methods."""

from dataclasses import dataclass

from fewpoint.core import AreaBound, ImageSequence, Listener, PointSet, Segmentation, ignore
from fewpoint.pipeline.config import Settings
from fewpoint.pipeline.run import run_task
from fewpoint.pipeline.task import Task


@dataclass(frozen=True)
class PresetSegmenter:
    """A named way to run the pipeline: variants are other settings, under another name.

    device: auto, cpu, cuda or mps. listener: is told how each run goes.
    """

    name: str
    settings: Settings
    device: str = "auto"
    listener: Listener = ignore

    def segment(self, sequence: ImageSequence, points: PointSet, bound: AreaBound | None, *, seed: int) -> Segmentation:
        task = Task(sequence, points, bound, self.settings, seed, self.device)
        return run_task(task, listener=self.listener)
