"""Whole runs on real sequences, stage by stage: python benchmarks/runs.py FOLDER … [--presets fast paper].

Each FOLDER is in the dataset's layout, with its truth: the bound is 1.4 times the largest share in it, and F1 is told
beside the times. A run writes all that `fewpoint segment` writes. `--set` changes settings of every run.
"""

import argparse
import tempfile
import time
from pathlib import Path

from fewpoint.evaluation.metrics import score_masks
from fewpoint.evaluation.truth import paper_bound
from fewpoint.io.atomic import read_json
from fewpoint.io.images import read_sequence
from fewpoint.io.masks import read_masks
from fewpoint.io.points import read_points
from fewpoint.io.runs import RunFolder
from fewpoint.learning.devices import choose_device, describe_device
from fewpoint.pipeline.config import PRESETS, Settings, override_from_text
from fewpoint.pipeline.run import run_task
from fewpoint.pipeline.summary import SUMMARY_FILE
from fewpoint.pipeline.task import Task


def time_run(folder: Path, settings: Settings, device: str) -> tuple[float, dict]:
    """F1, and what summary.json says of the run; its seconds are counted from read files to a finished folder.

    Those of the processor, over all cores, hardly depend on what else the machine does.
    """
    sequence, truth = read_sequence(folder / "input-frames"), read_masks(folder / "ground_truth-frames")
    points = read_points(folder / "2dlocs.csv", sequence)
    task = Task(sequence, points, paper_bound(truth, 1.4), settings, device=device)
    with tempfile.TemporaryDirectory() as scratch:
        out = Path(scratch) / "run"
        started, worked = time.perf_counter(), time.process_time()
        with RunFolder.open(out, task.identity()) as run:
            result = run_task(task, run)
        seconds = {"whole": time.perf_counter() - started, "processor": time.process_time() - worked}
        return score_masks(result.masks, truth).pooled.f1, {**seconds, **read_json(out / SUMMARY_FILE)}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folders", type=Path, nargs="+")
    parser.add_argument("--presets", nargs="+", choices=sorted(PRESETS), default=["fast"])
    parser.add_argument("--device", default="auto")
    parser.add_argument("--set", nargs="*", default=[], metavar="SECTION.KEY=VALUE")
    options = parser.parse_args()
    print(f"on {describe_device(choose_device(options.device))}", flush=True)
    for folder in options.folders:
        for name in options.presets:
            f1, told = time_run(folder, override_from_text(PRESETS[name], options.set), options.device)
            stages = ", ".join(f"{stage} {seconds:.1f}" for stage, seconds in told["seconds"].items())
            memory = f"{told['memory_mb'] or 0:.0f} MB, on the GPU {told['cuda_mb'] or 0:.0f} MB"
            whole = f"{told['whole']:.1f} s ({stages}), of the processor {told['processor']:.0f} s"
            print(f"{folder.name}, {name}: F1 {f1:.3f}, {whole}, {memory}", flush=True)


if __name__ == "__main__":
    main()
