"""How good and how fast masks are that answer at once: python benchmarks/live.py SEQUENCE… [--points points_every5]

For each sequence in the dataset's layout: seconds to prepare and to answer, and F1 of the rough masks, which come from
the image alone, beside discs of the same total area round the clicks. RUN=SEQUENCE measures answers to a finished run
instead: to its own points, to one negative more, and to a size. Each answer is asked for several times, first of the
frame in view, then of all frames; medians are printed, with the processor's seconds in brackets.
"""

import argparse
import time
from collections.abc import Mapping
from pathlib import Path

import numpy as np

from fewpoint.core import ImageSequence, PointSet, Words
from fewpoint.evaluation.metrics import score_masks
from fewpoint.io.images import read_sequence
from fewpoint.io.masks import TRUTH_FOLDER, read_masks
from fewpoint.io.points import read_points
from fewpoint.learning.clicks import mean_places
from fewpoint.runs.live import Live

TIMES = 9


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("sequences", nargs="+", metavar="SEQUENCE")
    parser.add_argument("--points", default="points_every5")
    parser.add_argument("--features", default="", metavar="MODEL", help="rough masks of its features, too")
    asked = parser.parse_args()
    scores: dict[str, list[tuple[float, float]]] = {}
    for text in asked.sequences:
        run, _, folder = text.rpartition("=")
        place = Path(folder)
        sequence = read_sequence(place)
        points, truth = read_points(place / f"{asked.points}.csv", sequence), read_masks(place / TRUTH_FOLDER)
        if run:
            answer_run(Path(run), sequence, points, truth)
        else:
            scores.setdefault(place.parent.name, []).append(
                answer_roughly(place.name, sequence, points, truth, asked.features)
            )
    if scores:
        rough, discs = np.mean([np.mean(each, axis=0) for each in scores.values()], axis=0)
        print(f"mean over {len(scores)} types: F1 {rough:.3f}, discs {discs:.3f}")


def answer_roughly(
    name: str, sequence: ImageSequence, points: PointSet, truth: np.ndarray, features: str
) -> tuple[float, float]:
    """F1 of rough masks and of discs."""
    live, prepared = clock(lambda: Live(sequence, features))
    masks, answered = ask(live, points, {}, find_view(points))
    discs = draw_discs(points, masks)
    rough, plain = (score_masks(each, truth).pooled.f1 for each in (masks, discs))
    print(f"{name}: prepared in {prepared:.1f} s, {answered}, F1 {rough:.3f}, discs {plain:.3f}")
    return rough, plain


def answer_run(run: Path, sequence: ImageSequence, points: PointSet, truth: np.ndarray) -> None:
    """Seconds and F1 of answers to what a finished run found."""
    live = Live(sequence)
    _, taken = clock(lambda: live.take(run))
    masks, answered = ask(live, points, {}, find_view(points))
    print(f"{run}: taken in {taken:.2f} s, {answered}, F1 {score_masks(masks, truth).pooled.f1:.3f}")
    wrong = np.argwhere(masks & ~truth)
    if len(wrong):
        corrected = PointSet.from_rows(
            [(int(t), int(y), int(x)) for t, y, x in points.coordinates],
            points.absent,
            negatives=[tuple(int(value) for value in wrong[len(wrong) // 2])],
        )
        after, answered = ask(live, corrected, {}, int(wrong[len(wrong) // 2][0]))
        print(f"  one negative: {answered}, F1 {score_masks(after, truth).pooled.f1:.3f}")
    larger, answered = ask(live, points, {"": Words(size=1.2)}, find_view(points))
    print(f"  1.2 times as large: {answered}, {larger.sum() / max(1, masks.sum()):.2f} times the area")


def ask(live: Live, points: PointSet, words: Mapping[str, Words], view: int) -> tuple[np.ndarray, str]:
    """The masks, and in words how long those of the frame in view took, and those of all after it."""
    waits, masks = [], np.empty(0)
    for _ in range(TIMES):
        began, worked = time.perf_counter(), time.process_time()
        found = live.settle(points, words)
        found.on_frame(view)
        seen = time.perf_counter() - began, time.process_time() - worked
        masks = found.all()[""]
        waits.append((*seen, time.perf_counter() - began, time.process_time() - worked))
    first, first_worked, all_, all_worked = np.median(waits, axis=0)
    return masks, f"frame in view {first:.2f} s ({first_worked:.2f} s), all {all_:.2f} s ({all_worked:.2f} s)"


def find_view(points: PointSet) -> int:
    """The frame of the middle one of all clicks, which somebody has just clicked on."""
    return int(points.frames[len(points) // 2])


def draw_discs(points: PointSet, masks: np.ndarray) -> np.ndarray:
    """Discs round where clicks, interpolated in time, lead one to expect the object, of the masks' mean area."""
    known, places = mean_places(points)
    times = np.arange(len(masks))
    centres = np.stack([np.interp(times, known, places[:, axis]) for axis in (0, 1)], axis=1)
    rows, columns = np.ogrid[: masks.shape[1], : masks.shape[2]]
    square = masks.sum() / len(masks) / np.pi
    return np.stack([(rows - y) ** 2 + (columns - x) ** 2 <= square for y, x in centres])


def clock(work):
    started = time.perf_counter()
    return work(), time.perf_counter() - started


if __name__ == "__main__":
    main()
