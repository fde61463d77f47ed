"""The pipeline behind the one interface of all methods."""

from dataclasses import dataclass, replace
from pathlib import Path

from fewpoint.core import AreaBound, ImageSequence, Listener, PointSet, Result, ignore
from fewpoint.io.formats import Outputs
from fewpoint.io.runs import RunFolder
from fewpoint.methods.registry import OwnSettings
from fewpoint.pipeline.task import Task
from fewpoint.runs.runner import run_task


@dataclass(frozen=True)
class PresetSegmenter:
    """A named way to run the pipeline: variants are other settings, under another name.

    device: auto, cpu, cuda or mps. listener: gets the events of each run. witness: a pretrained model, "" for none.
    folder: of a run that is continued if it is killed; None keeps nothing.
    """

    name: str
    settings: OwnSettings
    device: str = "auto"
    listener: Listener = ignore
    witness: str = ""
    folder: Path | None = None

    def segment(self, sequence: ImageSequence, points: PointSet, bound: AreaBound | None, *, seed: int) -> Result:
        task = Task(sequence, points, bound, self.settings, seed, self.device, witness=self.witness)
        if self.folder is None:
            return run_task(task, listener=self.listener)
        with RunFolder.open(self.folder, task.identity()) as run:
            run.write_manifest("running", {})  # of a finished run the stages are told again, from what they left
            return run_task(replace(task, outputs=Outputs(report=False)), run, self.listener)
