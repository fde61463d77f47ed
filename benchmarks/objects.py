"""What several objects cost in one run, beside as many runs: python benchmarks/objects.py [INPUT --points FILE].

Without INPUT, on a phantom of three objects. Both sides run in this process, one after the other, after a short run
that loads what they need; the schedule is that of the preset unless it is shortened with --set.
"""

import os

os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")  # before torch is loaded, as the command does

import argparse
import time
from dataclasses import replace
from pathlib import Path

import numpy as np

from fewpoint.core import AreaBound, ImageSequence, PointSet
from fewpoint.evaluation.phantom import make_objects
from fewpoint.io.images import read_sequence
from fewpoint.io.points import read_points
from fewpoint.pipeline.config import Settings, override_from_text, preset
from fewpoint.pipeline.run import run_task
from fewpoint.pipeline.task import Task

NOWHERE = np.empty((0, 3), np.int64)  # a run of its own knows nothing of the others
SHORTEST = ["phases.warmup_epochs=1", "phases.estimation_epochs=0", "refinement.round_epochs=1"]


def seconds_of(sequence: ImageSequence, points: PointSet, bound: AreaBound, settings: Settings) -> tuple[float, float]:
    """Wall-clock and processor seconds of a run in memory; on a busy machine the second says more."""
    wall, processor = time.perf_counter(), time.process_time()
    run_task(Task(sequence, points, bound, settings))
    return time.perf_counter() - wall, time.process_time() - processor


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("input", nargs="?", type=Path)
    parser.add_argument("--points", type=Path)
    parser.add_argument("--max-fraction", type=float, default=0.1)
    parser.add_argument("--preset", default="fast")
    parser.add_argument("--side", type=int, default=192, help="of the phantom, in pixels")
    parser.add_argument("--set", dest="assignments", action="append", default=[])
    given = parser.parse_args()
    if given.input is None:
        phantom = make_objects(12, (given.side, given.side), objects=3)
        sequence, points = phantom.sequence, phantom.points
    else:
        sequence = read_sequence(given.input)
        points = read_points(given.points, sequence)
    settings, bound = override_from_text(preset(given.preset), given.assignments), AreaBound(given.max_fraction)
    names = points.object_names
    alone = [replace(points.of_object(name), negatives=NOWHERE) for name in names]
    seconds_of(sequence, points, bound, override_from_text(settings, SHORTEST))
    together = seconds_of(sequence, points, bound, settings)
    separate = [seconds_of(sequence, each, bound, settings) for each in alone]
    for kind, one, others in zip(("wall clock", "processor"), together, zip(*separate, strict=True), strict=True):
        print(
            f"{len(names)} objects, {kind}: {one:.1f} s in one run, {sum(others):.1f} s in {len(names)} runs "
            f"({', '.join(f'{each:.1f}' for each in others)}), ratio {one / sum(others):.2f}"
        )


if __name__ == "__main__":
    main()
