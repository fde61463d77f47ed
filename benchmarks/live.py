"""How good and how fast masks are that answer at once: python benchmarks/live.py SEQUENCE… [--points points_every5]

For each sequence in the dataset's layout: seconds to prepare and to answer, and F1 of the rough masks, which come from
the image alone, beside discs of the same total area round the clicks. RUN=SEQUENCE measures answers to a finished run
instead: to its own points, to one negative more, and to a size.
"""

import argparse
import time
from pathlib import Path

import numpy as np

from fewpoint.core import ImageSequence, PointSet, Words
from fewpoint.evaluation.metrics import score_masks
from fewpoint.io.images import read_sequence
from fewpoint.io.masks import TRUTH_FOLDER, read_masks
from fewpoint.io.points import read_points
from fewpoint.learning.clicks import mean_places
from fewpoint.runs.live import Live


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("sequences", nargs="+", metavar="SEQUENCE")
    parser.add_argument("--points", default="points_every5")
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
            scores.setdefault(place.parent.name, []).append(answer_roughly(place.name, sequence, points, truth))
    if scores:
        rough, discs = np.mean([np.mean(each, axis=0) for each in scores.values()], axis=0)
        print(f"mean over {len(scores)} types: F1 {rough:.3f}, discs {discs:.3f}")


def answer_roughly(name: str, sequence: ImageSequence, points: PointSet, truth: np.ndarray) -> tuple[float, float]:
    """F1 of rough masks and of discs."""
    live, prepared = clock(lambda: Live(sequence))
    masks, answered = clock(lambda: live.answer(points, {})[""])
    discs = draw_discs(points, masks)
    rough, plain = (score_masks(each, truth).pooled.f1 for each in (masks, discs))
    print(f"{name}: prepared in {prepared:.1f} s, answered in {answered:.2f} s, F1 {rough:.3f}, discs {plain:.3f}")
    return rough, plain


def answer_run(run: Path, sequence: ImageSequence, points: PointSet, truth: np.ndarray) -> None:
    """Seconds and F1 of answers to what a finished run found."""
    live = Live(sequence)
    _, taken = clock(lambda: live.take(run))
    masks, answered = clock(lambda: live.answer(points, {})[""])
    print(f"{run}: taken in {taken:.2f} s, answered in {answered:.2f} s, F1 {score_masks(masks, truth).pooled.f1:.3f}")
    wrong = np.argwhere(masks & ~truth)
    if len(wrong):
        corrected = PointSet.from_rows(
            [(int(t), int(y), int(x)) for t, y, x in points.coordinates],
            points.absent,
            negatives=[tuple(int(value) for value in wrong[len(wrong) // 2])],
        )
        after, seconds = clock(lambda: live.answer(corrected, {})[""])
        print(f"  one negative: {seconds:.2f} s, F1 {score_masks(after, truth).pooled.f1:.3f}")
    larger, seconds = clock(lambda: live.answer(points, {"": Words(size=1.2)})[""])
    print(f"  1.2 times as large: {seconds:.2f} s, {larger.sum() / max(1, masks.sum()):.2f} times the area")


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
