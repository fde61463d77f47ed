"""Where points are carried to: python benchmarks/carrying.py FOLDER … [--gap 5].

Each FOLDER is in the dataset's layout, with its truth and a click on every frame. Of the clicks every fifth is kept,
from the first, the second … the fifth on, and carried as the default presets do. Told are the share of the other frames
with the object that get no point, and the share of points on those that get some that miss it.
"""

import argparse
from pathlib import Path

import numpy as np

from fewpoint.core import PointSet
from fewpoint.io.images import read_sequence
from fewpoint.io.masks import read_masks
from fewpoint.io.points import read_points
from fewpoint.learning.motion import carry_points
from fewpoint.methods.default import ACCURATE


def follow(folder: Path, gap: int) -> tuple[float, float]:
    """Share of frames without a point, and mean share of wrong points on those with some."""
    sequence, truth = read_sequence(folder), read_masks(folder / "ground_truth-frames")
    clicks = read_points(folder / "2dlocs.csv", sequence).coordinates.tolist()
    missed = []  # of every frame with the object and without a click, NaN where no point came
    for start in range(gap):
        kept = [row for row in clicks if row[0] % gap == start]
        carried = carry_points(sequence, PointSet.from_rows(kept), ACCURATE.clicks.carry)
        clicked = {frame for frame, _, _ in kept}
        for frame in set(np.flatnonzero(truth.any((1, 2))).tolist()) - clicked:
            hits = [truth[row] for row in map(tuple, carried.coordinates[carried.frames == frame].tolist())]
            missed.append(1 - np.mean(hits) if hits else np.nan)
    reached = np.isfinite(missed)
    return 1 - reached.mean(), float(np.array(missed)[reached].mean()) if reached.any() else 0.0


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folders", type=Path, nargs="+")
    parser.add_argument("--gap", type=int, default=5)
    options = parser.parse_args()
    told = []
    for folder in options.folders:
        told.append(follow(folder, options.gap))
        print(f"{folder.name}: without a point {told[-1][0]:.2f}, wrong {told[-1][1]:.2f}", flush=True)
    bare, wrong = np.mean(told, axis=0)
    print(f"mean of {len(told)}: without a point {bare:.3f}, wrong {wrong:.3f}")


if __name__ == "__main__":
    main()
