"""Networks that start from those of another sequence: python benchmarks/warm_start.py SEQUENCE SEQUENCE…

Each SEQUENCE is a folder in the dataset's layout, all of one type. The first is segmented as usual; each of the others
once from random weights and once for each of --shares, in which the first networks start from those of the first
sequence and take that share of their epochs. Prints F1 and seconds of each run, and the means.
"""

import os

os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")  # before torch is loaded, as the command does

import argparse
import time
from pathlib import Path
from statistics import mean

from fewpoint.bench.protocols import give_bound
from fewpoint.core.settings import override, override_from_text
from fewpoint.evaluation.metrics import score_masks
from fewpoint.io.images import read_sequence
from fewpoint.io.masks import read_masks
from fewpoint.io.points import read_points
from fewpoint.learning.devices import choose_device
from fewpoint.methods.registry import OwnSettings, preset
from fewpoint.pipeline.model import Model
from fewpoint.pipeline.task import Task
from fewpoint.runs.runner import run_and_keep


def measure(
    folder: Path, settings: OwnSettings, start: Model | None, options: argparse.Namespace
) -> tuple[float, float, Model]:
    """F1 and seconds of a run, and its networks."""
    sequence, truth = read_sequence(folder), read_masks(folder / "ground_truth-frames")
    points = read_points(folder / options.points, sequence)
    bound = give_bound(options.bound, truth)
    task = Task(sequence, points, bound, settings, options.seed, options.device, warm_start=start)
    started = time.perf_counter()
    result, kept = run_and_keep(task)
    seconds = time.perf_counter() - started
    return score_masks(result.masks, truth).pooled.f1, seconds, kept.model


def name_start(share: float | None) -> str:
    return "random weights" if share is None else f"warm start, {share:g} of the epochs"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("sequences", nargs="+", type=Path)
    parser.add_argument("--shares", type=float, nargs="+", default=[0.25, 0.5, 1.0], help="values of warm_start.share")
    parser.add_argument("--points", default="2dlocs.csv", help="name of the points file in each folder")
    parser.add_argument("--bound", default="eta", help="eta, eta-FACTOR, box or none, as in a suite")
    parser.add_argument("--preset", default="fast")
    parser.add_argument("--set", action="append", default=[], metavar="SECTION.KEY=VALUE")
    parser.add_argument("--device", default="auto")
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    if len(options.sequences) < 2:
        parser.error("give at least two sequences of one type: the first is what the others start from")
    settings = override_from_text(preset(options.preset, choose_device(options.device).type), options.set)

    def tell(name: str, start: str, f1: float, seconds: float) -> None:
        print(f"{name:<28}{start:<32}F1 {f1:.3f} {seconds:8.1f} s", flush=True)

    first, *others = options.sequences
    f1, seconds, model = measure(first, settings, None, options)
    tell(first.name, "random weights, the first", f1, seconds)
    starts: list[float | None] = [None, *options.shares]
    found: dict[float | None, list[tuple[float, float]]] = {share: [] for share in starts}
    for folder in others:
        for share in starts:
            changed = settings if share is None else override(settings, "warm_start.share", share)
            f1, seconds, _ = measure(folder, changed, None if share is None else model, options)
            found[share].append((f1, seconds))
            tell(folder.name, name_start(share), f1, seconds)
    for share, pairs in found.items():
        tell(f"mean of {len(others)}", name_start(share), *(mean(column) for column in zip(*pairs, strict=True)))


if __name__ == "__main__":
    main()
