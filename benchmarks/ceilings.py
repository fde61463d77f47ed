"""Max SP of superpixels at several working sizes: python benchmarks/ceilings.py FOLDER … [--sides 512 256].

Each FOLDER is in the dataset's layout, with its truth. About `--frames` frames of each are cut, evenly spaced, in the
focus of the preset `fast` or, with `--whole`, as they are; seconds are those of the processor.
"""

import argparse
import time
from dataclasses import replace
from pathlib import Path

import numpy as np

from fewpoint.core import ImageSequence
from fewpoint.evaluation.ceiling import score_ceiling
from fewpoint.evaluation.truth import paper_bound
from fewpoint.io.images import read_sequence
from fewpoint.io.masks import read_masks
from fewpoint.io.points import read_points
from fewpoint.methods.default import FAST
from fewpoint.pipeline.focus import Focus
from fewpoint.superpixels.slic import segment_frames


def read_part(folder: Path, frames: int, whole: bool) -> tuple[ImageSequence, np.ndarray]:
    """Some frames and their truth, in focus or whole; the brightness scale is that of these frames."""
    sequence, truth = read_sequence(folder / "input-frames"), read_masks(folder / "ground_truth-frames")
    points = read_points(folder / "2dlocs.csv", sequence)
    chosen = slice(None, None, max(1, len(sequence) // frames))
    pixels, truth = sequence.frames[chosen], truth[chosen]
    if not whole:
        focus = Focus.find(points, sequence.size, paper_bound(truth, 1.4), FAST.clicks.focus)
        part = np.s_[:, focus.top : focus.bottom, focus.left : focus.right]
        pixels, truth = pixels[part], truth[part]
    return ImageSequence.from_array(pixels), truth


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folders", type=Path, nargs="+")
    parser.add_argument("--sides", type=int, nargs="+", default=[512, 256])
    parser.add_argument("--frames", type=int, default=8)
    parser.add_argument("--whole", action="store_true")
    given = parser.parse_args()
    scores, seconds = ({side: [] for side in given.sides} for _ in range(2))
    for folder in given.folders:
        sequence, truth = read_part(folder, given.frames, given.whole)
        for side in given.sides:
            started = time.process_time()
            superpixels = segment_frames(sequence, replace(FAST.superpixels, max_side=side))
            seconds[side].append((time.process_time() - started) / len(sequence))
            scores[side].append(score_ceiling(superpixels, truth).pooled.f1)
        height, width = sequence.size
        told = ", ".join(f"{side}: {scores[side][-1]:.4f}" for side in given.sides)
        print(f"{folder.name}, {height} x {width}: {told}", flush=True)
    for side in given.sides:
        print(f"mean at {side}: Max SP {np.mean(scores[side]):.4f}, {1e3 * np.mean(seconds[side]):.0f} ms a frame")


if __name__ == "__main__":
    main()
