"""Whole runs, stage by stage: python benchmarks/runs.py FOLDER … [--phantom 60x576x720] [--presets fast paper].

Each FOLDER is in the dataset's layout, with its truth; a phantom is made up, of so many frames, rows and columns, in
colour. The bound is 1.4 times the largest share in the truth, and F1 is told beside the times. A run writes all that
`fewpoint segment` writes. `--set` changes settings of every run.
"""

import argparse
import tempfile
import time
from functools import partial
from pathlib import Path
from typing import NamedTuple

import numpy as np

from fewpoint.core import ImageSequence, PointSet
from fewpoint.core.settings import override_from_text
from fewpoint.evaluation.metrics import score_masks
from fewpoint.evaluation.phantom import make_phantom
from fewpoint.evaluation.truth import paper_bound
from fewpoint.io.atomic import read_json
from fewpoint.io.images import read_sequence
from fewpoint.io.masks import read_masks
from fewpoint.io.points import read_points
from fewpoint.io.runs import RunFolder
from fewpoint.learning.devices import choose_device, describe_device
from fewpoint.methods.registry import PRESETS, OwnSettings
from fewpoint.pipeline.task import Task
from fewpoint.runs.runner import run_task
from fewpoint.runs.summary import SUMMARY_FILE


class Case(NamedTuple):
    """What a run is given, and the truth that it is scored against."""

    sequence: ImageSequence
    points: PointSet
    truth: np.ndarray


def read_case(folder: Path) -> Case:
    """A sequence in the dataset's layout as frames, points and truth."""
    sequence, truth = read_sequence(folder / "input-frames"), read_masks(folder / "ground_truth-frames")
    return Case(sequence, read_points(folder / "2dlocs.csv", sequence), truth)


def make_case(shape: str) -> Case:
    """A phantom in colour of FRAMESxROWSxCOLUMNS."""
    n_frames, *size = map(int, shape.split("x"))
    phantom = make_phantom(n_frames, tuple(size), channels=3)
    return Case(phantom.sequence, phantom.points, phantom.truth)


def time_run(case: Case, settings: OwnSettings, device: str) -> tuple[float, dict]:
    """F1, and what summary.json says of the run; its seconds are counted from read files to a finished folder.

    Those of the processor, over all cores, hardly depend on what else the machine does.
    """
    truth = case.truth
    task = Task(case.sequence, case.points, paper_bound(truth, 1.4), settings, device=device)
    with tempfile.TemporaryDirectory() as scratch:
        out = Path(scratch) / "run"
        started, worked = time.perf_counter(), time.process_time()
        with RunFolder.open(out, task.identity()) as run:
            result = run_task(task, run)
        seconds = {"whole": time.perf_counter() - started, "processor": time.process_time() - worked}
        return score_masks(result.masks, truth).pooled.f1, {**seconds, **read_json(out / SUMMARY_FILE)}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folders", type=Path, nargs="*")
    parser.add_argument("--phantom", nargs="*", default=[], metavar="FRAMESxROWSxCOLUMNS")
    parser.add_argument("--presets", nargs="+", choices=sorted(PRESETS), default=["fast"])
    parser.add_argument("--device", default="auto")
    parser.add_argument("--set", nargs="*", default=[], metavar="SECTION.KEY=VALUE")
    options = parser.parse_args()
    print(f"on {describe_device(choose_device(options.device))}", flush=True)
    cases = [(folder.name, partial(read_case, folder)) for folder in options.folders]
    cases += [(f"phantom {shape}", partial(make_case, shape)) for shape in options.phantom]
    for title, make in cases:
        case = make()
        for name in options.presets:
            f1, told = time_run(case, override_from_text(PRESETS[name], options.set), options.device)
            stages = ", ".join(f"{stage} {seconds:.1f}" for stage, seconds in told["seconds"].items())
            memory = f"{told['memory_mb'] or 0:.0f} MB, on the GPU {told['cuda_mb'] or 0:.0f} MB"
            whole = f"{told['whole']:.1f} s ({stages}), of the processor {told['processor']:.0f} s"
            print(f"{title}, {name}: F1 {f1:.3f}, {whole}, {memory}", flush=True)


if __name__ == "__main__":
    main()
