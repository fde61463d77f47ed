"""The pipeline behind the one interface of all methods."""

from dataclasses import dataclass

from fewpoint.core import AreaBound, ImageSequence, Listener, PointSet, Result, ignore
from fewpoint.methods.registry import OwnSettings
from fewpoint.pipeline.task import Task
from fewpoint.runs.runner import run_task


@dataclass(frozen=True)
class PresetSegmenter:
    """A named way to run the pipeline: variants are other settings, under another name.

    device: auto, cpu, cuda or mps. listener: gets the events of each run. witness: a pretrained model, "" for none.
    """

    name: str
    settings: OwnSettings
    device: str = "auto"
    listener: Listener = ignore
    witness: str = ""

    def segment(self, sequence: ImageSequence, points: PointSet, bound: AreaBound | None, *, seed: int) -> Result:
        task = Task(sequence, points, bound, self.settings, seed, self.device, witness=self.witness)
        return run_task(task, listener=self.listener)
