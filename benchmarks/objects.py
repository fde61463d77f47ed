"""What several objects cost in one run, beside as many runs: python benchmarks/objects.py [INPUT --points FILE].

Without INPUT, on a phantom of three objects, close together or, with --far, small ones in the corners of frames three
times as wide; F1 is then told too. Both sides run in this process, one after the other, after a short run that loads
what they need; the schedule is that of the preset unless it is shortened with --set.
"""

import os

os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")  # before torch is loaded, as the command does

import argparse
import time
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from fewpoint.core import AreaBound, ImageSequence, PointSet, Result
from fewpoint.core.settings import override_from_text
from fewpoint.evaluation.metrics import score_masks
from fewpoint.evaluation.phantom import ObjectsPhantom, make_objects, make_phantom
from fewpoint.io.images import read_sequence
from fewpoint.io.points import read_points
from fewpoint.methods.registry import OwnSettings, keep_known, preset
from fewpoint.methods.resolve import change_settings
from fewpoint.pipeline.task import Task
from fewpoint.runs.runner import run_task

NOWHERE = np.empty((0, 3), np.int64)  # a run of its own knows nothing of the others
SHORTEST = (
    ("warmup.epochs", 1),
    ("rounds.round_epochs", 1),
    ("phases.warmup_epochs", 1),
    ("phases.estimation_epochs", 1),
    ("phases.final_epochs", 1),
)


FAR = 3  # times wider frames


@dataclass(frozen=True, eq=False)
class Cost:
    """Wall-clock and processor seconds of a run in memory, of which on a busy machine the second says more."""

    wall: float
    processor: float
    result: Result


def measure(sequence: ImageSequence, points: PointSet, bound: AreaBound, settings: OwnSettings) -> Cost:
    wall, processor = time.perf_counter(), time.process_time()
    result = run_task(Task(sequence, points, bound, settings, device="cpu"))
    return Cost(time.perf_counter() - wall, time.process_time() - processor, result)


def spread(phantom: ObjectsPhantom) -> ObjectsPhantom:
    """The same quarters, as they are, in the corners of wider frames of tissue."""
    frames = phantom.sequence.frames
    count, side = frames.shape[0], frames.shape[1]
    tissue = make_phantom(count, (FAR * side, FAR * side), seed=1).sequence.frames
    places = np.arange(side) + (FAR - 1) * side * (np.arange(side) >= side // 2)  # where each row and column goes
    wide, labels = tissue.copy(), np.zeros(tissue.shape[:3], np.uint8)
    wide[:, places[:, np.newaxis], places] = frames
    labels[:, places[:, np.newaxis], places] = phantom.labels
    rows = phantom.points.coordinates.copy()
    rows[:, 1:] = places[rows[:, 1:]]
    return ObjectsPhantom(ImageSequence.from_array(wide), replace(phantom.points, coordinates=rows), labels)


def tell_scores(phantom: ObjectsPhantom, together: Cost, separate: list[Cost]) -> None:
    for number, (name, alone) in enumerate(zip(phantom.points.object_names, separate, strict=True), start=1):
        truth = phantom.labels == number
        joint, own = (
            score_masks(masks, truth).pooled.f1 for masks in (together.result[name].masks, alone.result.masks)
        )
        print(f"{name}: F1 {joint:.3f} in one run, {own:.3f} alone")
    print(*together.result.notes, sep="\n")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("input", nargs="?", type=Path)
    parser.add_argument("--points", type=Path)
    parser.add_argument("--max-fraction", type=float, default=0.1)
    parser.add_argument("--preset", default="fast")
    parser.add_argument("--side", type=int, default=192, help="of the phantom, in pixels")
    parser.add_argument("--far", action="store_true", help="objects of the phantom far apart")
    parser.add_argument("--set", dest="assignments", action="append", default=[])
    given = parser.parse_args()
    phantom = None
    if given.input is None:
        phantom = make_objects(12, (given.side, given.side), objects=3)
        phantom = spread(phantom) if given.far else phantom
        sequence, points = phantom.sequence, phantom.points
    else:
        sequence = read_sequence(given.input)
        points = read_points(given.points, sequence)
    settings, bound = override_from_text(preset(given.preset), given.assignments), AreaBound(given.max_fraction)
    names = points.object_names
    alone = [replace(points.of_object(name), negatives=NOWHERE) for name in names]
    measure(sequence, points, bound, change_settings("", settings, keep_known(settings, SHORTEST)))
    together = measure(sequence, points, bound, settings)
    separate = [measure(sequence, each, bound, settings) for each in alone]
    for kind in ("wall", "processor"):
        one, others = getattr(together, kind), [getattr(each, kind) for each in separate]
        print(
            f"{len(names)} objects, {kind} time: {one:.1f} s in one run, {sum(others):.1f} s in {len(names)} runs "
            f"({', '.join(f'{each:.1f}' for each in others)}), ratio {one / sum(others):.2f}"
        )
    if phantom is not None:
        tell_scores(phantom, together, separate)


if __name__ == "__main__":
    main()
