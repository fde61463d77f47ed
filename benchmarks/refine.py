"""A refinement beside a new run: python benchmarks/refine.py SEQUENCE…

Each SEQUENCE is a folder in the dataset's layout. It is segmented with the points of every fifth frame; a person is
then played who looks at the masks, clicks where they miss most and marks where they leak most, and that run is refined;
with --rounds again and again, each time from the last. Prints F1 and seconds of each, and the ratio of the median
refinement to the first run, or with --anew to a new run with the same points.
"""

import os

os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")  # before torch is loaded, as the command does

import argparse
import time
from pathlib import Path

import numpy as np

from fewpoint.core import ImageSequence, PointSet, Result
from fewpoint.core.settings import override_from_text
from fewpoint.evaluation.metrics import score_masks
from fewpoint.io.images import read_sequence
from fewpoint.io.masks import read_masks
from fewpoint.io.points import read_points
from fewpoint.learning.devices import choose_device
from fewpoint.methods.registry import OwnSettings, preset
from fewpoint.pipeline.previous import PreviousRun
from fewpoint.pipeline.task import Task
from fewpoint.runs.runner import run_and_keep

SHALLOWEST = 2.0  # pixels: what is thinner, nobody would click into


def click_into(wrong: np.ndarray, count: int) -> list[tuple[int, int, int]]:
    """The deepest places of a (T, H, W) bool map, at most one a frame."""
    from scipy.ndimage import distance_transform_edt

    depths = np.stack([distance_transform_edt(frame) for frame in wrong])
    rows = []
    for _ in range(count):
        frame, y, x = (int(place) for place in np.unravel_index(depths.argmax(), depths.shape))
        if depths[frame, y, x] < SHALLOWEST:
            break
        rows.append((frame, y, x))
        depths[frame] = 0
    return rows


def correct_points(points: PointSet, masks: np.ndarray, truth: np.ndarray, count: int) -> PointSet:
    """The points with at most so many more, and so many negatives."""
    rows = [tuple(row) for row in points.coordinates.tolist()]
    added = [row for row in click_into(truth & ~masks, count) if row not in rows]
    negatives = [tuple(row) for row in points.negatives.tolist()]
    leaks = [row for row in click_into(masks & ~truth, count) if row not in negatives]
    return PointSet.from_rows(rows + added, points.absent, negatives=negatives + leaks)


def run_timed(task: Task) -> tuple[Result, PreviousRun, float]:
    started = time.perf_counter()
    result, kept = run_and_keep(task)
    return result, kept, time.perf_counter() - started


def measure(folder: Path, settings: OwnSettings, options: argparse.Namespace) -> tuple[float, float]:
    """Print all runs and return the seconds of a refinement, the median, and of the run from scratch."""
    sequence: ImageSequence = read_sequence(folder)
    truth = read_masks(folder / "ground_truth-frames")
    points = read_points(folder / options.points, sequence)

    def tell(name: str, result: Result, seconds: float) -> None:
        score = score_masks(result.masks, truth).pooled
        print(f"{folder.name:<28}{name:<33}F1 {score.f1:.3f} {seconds:8.1f} s", flush=True)

    first, kept, seconds = run_timed(Task(sequence, points, None, settings, device=options.device))
    tell("first run", first, seconds)
    last, shorts = first, []
    for _ in range(options.rounds):
        before = points
        points = correct_points(before, last.masks, truth, options.clicks)
        clicks, negatives = len(points) - len(before), len(points.negatives) - len(before.negatives)
        task = Task(sequence, points, None, settings, device=options.device, previous=kept)
        last, kept, short = run_timed(task)
        tell(f"refined, {clicks} clicks, {negatives} negatives", last, short)
        shorts.append(short)
    if not options.anew:
        return float(np.median(shorts)), seconds
    anew, _, seconds = run_timed(Task(sequence, points, first.bound, settings, device=options.device))
    tell("new run, the same points", anew, seconds)
    return float(np.median(shorts)), seconds


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("sequences", nargs="+", type=Path)
    parser.add_argument("--points", default="points_every5.csv", help="name of the points file in each folder")
    parser.add_argument("--clicks", type=int, default=4, help="most clicks, and most negatives, that are added")
    parser.add_argument("--rounds", type=int, default=1, help="how often the run is refined")
    parser.add_argument("--preset", default="fast")
    parser.add_argument("--set", action="append", default=[], metavar="SECTION.KEY=VALUE")
    parser.add_argument("--device", default="auto")
    parser.add_argument("--anew", action="store_true", help="also make a new run with the corrected points")
    options = parser.parse_args()
    settings = override_from_text(preset(options.preset, choose_device(options.device).type), options.set)
    for folder in options.sequences:
        short, whole = measure(folder, settings, options)
        print(f"{folder.name:<28}{'refinement / run':<33}{short / whole:8.3f}", flush=True)


if __name__ == "__main__":
    main()
