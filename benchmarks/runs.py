"""Whole runs, stage by stage: python benchmarks/runs.py FOLDER … [--phantom 60x576x720] [--presets fast paper].

Each FOLDER is in the dataset's layout, with its truth; a phantom is made up, of so many frames, rows and columns, in
colour. The bound is 1.4 times the largest share in the truth, or none is given, and F1 is printed beside the times. A
run writes all that `fewpoint segment` writes, in a process of its own. `--set` changes settings of every run. With
`--csv` each run that ends appends a row, and those that have one are skipped.
"""

import os

os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")  # before torch is loaded, as the command does

import argparse
import csv
import subprocess
import tempfile
import time
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from itertools import product
from multiprocessing import get_context
from pathlib import Path
from typing import NamedTuple

import numpy as np

import fewpoint
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


class Work(NamedTuple):
    """A run to time. source: a folder, or the shape of a phantom. start: name of its file of points."""

    source: Path | str
    start: str
    preset: str
    seed: int
    bounded: bool
    device: str
    changes: tuple[str, ...]

    @property
    def settings(self) -> OwnSettings:
        return override_from_text(PRESETS[self.preset], list(self.changes))

    def describe(self) -> dict[str, str]:
        """The columns by which a row is known again."""
        source, network = self.source, self.settings.network
        return {
            "type": source.parent.name if isinstance(source, Path) else "phantom",
            "sequence": source.name if isinstance(source, Path) else source,
            "start": Path(self.start).stem,
            "bound": "1.4" if self.bounded else "none",
            "preset": self.preset,
            "changes": " ".join(self.changes),
            "seed": str(self.seed),
            "commit": find_commit(),
            "network": f"{getattr(network, 'kind', 'multires')} {network.base_width}",
        }


def find_commit() -> str:
    """That of the package that runs."""
    command = ["git", "-C", str(Path(fewpoint.__file__).parent), "describe", "--always", "--dirty", "--exclude=*"]
    return subprocess.run(command, capture_output=True, text=True, check=False).stdout.strip()


def read_case(folder: Path, start: str) -> Case:
    """A sequence in the dataset's layout as frames, points and truth."""
    sequence, truth = read_sequence(folder / "input-frames"), read_masks(folder / "ground_truth-frames")
    return Case(sequence, read_points(folder / start, sequence), truth)


def make_case(shape: str) -> Case:
    """A phantom in colour of FRAMESxROWSxCOLUMNS."""
    n_frames, *size = map(int, shape.split("x"))
    phantom = make_phantom(n_frames, tuple(size), channels=3)
    return Case(phantom.sequence, phantom.points, phantom.truth)


def time_run(work: Work) -> tuple[dict[str, str], str]:
    """The measured columns of a row, and what stages took; seconds count from read files to a finished folder.

    Those of the processor, over all cores, hardly depend on what else the machine does.
    """
    sequence, points, truth = (
        read_case(work.source, work.start) if isinstance(work.source, Path) else make_case(work.source)
    )
    bound = paper_bound(truth, 1.4) if work.bounded else None
    task = Task(sequence, points, bound, work.settings, work.seed, work.device)
    with tempfile.TemporaryDirectory() as scratch:
        out = Path(scratch) / "run"
        started, worked = time.perf_counter(), time.process_time()
        with RunFolder.open(out, task.identity()) as run:
            result = run_task(task, run)
        seconds, processor = time.perf_counter() - started, time.process_time() - worked
        summary = read_json(out / SUMMARY_FILE)
    score = score_masks(result.masks, truth).pooled
    measured = {
        "processor_s": f"{processor:.1f}",
        "seconds": f"{seconds:.1f}",
        "f1": f"{score.f1:.4f}",
        "precision": f"{score.precision:.4f}",
        "recall": f"{score.recall:.4f}",
        "peak_mb": f"{summary['memory_mb'] or 0:.0f}",
        "cuda_mb": f"{summary['cuda_mb'] or 0:.0f}",
    }
    return measured, ", ".join(f"{stage} {taken:.1f}" for stage, taken in summary["seconds"].items())


def list_works(options: argparse.Namespace) -> Iterator[Work]:
    sources = [*options.folders, *options.phantom]
    for seed, start, source, name in product(options.seeds, options.points, sources, options.presets):
        yield Work(source, start, name, seed, options.bound == "1.4", options.device, tuple(options.set))


def read_done(path: Path | None, keys: list[str]) -> set[tuple[str, ...]]:
    """The runs that have a row, by these columns."""
    if path is None or not path.exists():
        return set()
    with path.open(newline="") as file:
        return {tuple(row[key] for key in keys) for row in csv.DictReader(file)}


def append_row(path: Path, row: dict[str, str]) -> None:
    begins = not path.exists()
    with path.open("a", newline="") as file:
        writer = csv.DictWriter(file, list(row), lineterminator="\n")
        if begins:
            writer.writeheader()
        writer.writerow(row)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folders", type=Path, nargs="*")
    parser.add_argument("--phantom", nargs="*", default=[], metavar="FRAMESxROWSxCOLUMNS")
    parser.add_argument("--presets", nargs="+", choices=sorted(PRESETS), default=["fast"])
    parser.add_argument("--points", nargs="+", default=["2dlocs.csv"], help="names of the points file in each folder")
    parser.add_argument("--bound", choices=["1.4", "none"], default="1.4")
    parser.add_argument("--seeds", type=int, nargs="+", default=[0])
    parser.add_argument("--csv", type=Path, help="append a row for each run; skip those that have one")
    parser.add_argument("--device", default="auto")
    parser.add_argument("--set", nargs="*", default=[], metavar="SECTION.KEY=VALUE")
    options = parser.parse_args()
    print(f"on {describe_device(choose_device(options.device))}", flush=True)
    for work in list_works(options):
        described = work.describe()
        if tuple(described.values()) in read_done(options.csv, list(described)):
            continue
        with ProcessPoolExecutor(1, get_context("spawn")) as apart:
            measured, stages = apart.submit(time_run, work).result()
        if options.csv:
            append_row(options.csv, {**described, **measured})
        title = f"{described['sequence']}, {work.preset}, {described['start']}, seed {work.seed}"
        told = {**measured, "stages": stages}
        print(f"{title}: {', '.join(f'{name} {value}' for name, value in told.items())}", flush=True)


if __name__ == "__main__":
    main()
