"""Work in place of a batch's own: the same run folder without learning anything, or a way to fail."""

import os
import time
from pathlib import Path
from typing import Any

import numpy as np

from fewpoint.batch import worker
from fewpoint.batch.progress import ItemListener, say
from fewpoint.core import EpochFinished, PriorEstimate
from fewpoint.errors import InputError
from fewpoint.io.tables import write_priors
from fewpoint.runs.jobs import read_job

WORK = "batch.pretend:segment_item"
WITHOUT_REPORT = "batch.pretend:segment_without_report"


def segment_item(table: dict[str, Any]) -> None:
    """Leave a finished run folder; a file beside the input says how to fail instead."""
    order = worker.ItemOrder.from_table(table)
    wish = Path(order.job.input).parent / "wish.txt"
    with worker.saying_into(Path(order.log)):
        ItemListener(Path(order.progress))
        task = read_job(order.job)
        with worker.open_patiently(Path(order.run), task.identity()) as folder:
            fail(wish.read_text() if wish.exists() else "", wish)
            share = task.sequence.frames.mean() / 1000
            write_priors(PriorEstimate(*np.full((3, len(task.sequence)), share)), folder.path / "priors.csv")
            (folder.path / "masks").mkdir()
            result = {"frames": len(task.sequence), "frames_with_object": 1, "mean_share": share}
            result |= {"largest_share": share, "bound": 0.3, "notes": [], "warnings": ["pretended"]}
            costs = {"seconds": {"all": 1.0}, "memory_mb": 10.0, "cuda_mb": None, "device": "cpu"}
            folder.write_manifest("finished", {**costs, "result": result})


def fail(wish: str, path: Path) -> None:
    if wish == "die":
        os.kill(os.getpid(), 9)
    if wish == "die once":
        path.unlink()
        os.kill(os.getpid(), 9)
    if wish == "refuse":
        raise InputError("the object is too shy")
    if wish == "sleep":
        say("asleep")
        time.sleep(600)


def segment_without_report(table: dict[str, Any]) -> None:
    """The batch's own work, less the report, which takes longer than all else; each epoch lasts a while."""
    from fewpoint.runs import runner as pipeline

    class Slow(ItemListener):
        def __call__(self, event):
            super().__call__(event)
            if isinstance(event, EpochFinished):
                time.sleep(0.4)

    pipeline.write_report = lambda *given: None
    worker.ItemListener = Slow
    worker.segment_item(table)
