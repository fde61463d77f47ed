"""What tracking loses on perfect probabilities: python benchmarks/tracking_ceiling.py DATA [--reaches 0 1 2 3].

DATA holds sequences in the dataset's layout, with their truth. Superpixels are certain: 0.99 if more than half of one
is the object, else 0.01. A reach is `tracking.reach`; 0 is the paper's circle of 0.05 longer sides. One click per
frame, bound 1.4 x the true maximum. Printed is F1 less Max SP, by sequence and as the mean of each type.
"""

import argparse
from collections import defaultdict
from pathlib import Path

import numpy as np

from fewpoint.bench.sequences import find_sequences
from fewpoint.evaluation.metrics import score_masks
from fewpoint.evaluation.truth import paper_bound
from fewpoint.io.images import read_sequence
from fewpoint.io.masks import read_masks
from fewpoint.io.points import read_points
from fewpoint.superpixels.regions import region_means, regions_at_points
from fewpoint.superpixels.slic import SuperpixelSettings, segment_frames
from fewpoint.tracking import TrackingSettings, masks_from_regions, track


def measure_losses(folder: Path, reaches: list[float]) -> list[float]:
    """F1 less Max SP of the sequence in a folder, for each reach."""
    sequence, truth = read_sequence(folder), read_masks(folder / "ground_truth-frames")
    points, bound = read_points(folder / "2dlocs.csv", sequence), paper_bound(truth, 1.4)
    superpixels = segment_frames(sequence, SuperpixelSettings(), jobs=1)
    best = region_means(superpixels, truth) > 0.5
    probabilities = np.where(best, 0.99, 0.01)

    def score(selected: np.ndarray) -> float:
        return score_masks(masks_from_regions(superpixels, selected), truth).pooled.f1

    losses = []
    for reach in reaches:
        selected = track(probabilities, superpixels, points, bound, settings=TrackingSettings(reach=reach)).selected
        selected[regions_at_points(superpixels, points)] = True
        losses.append(score(selected) - score(best))
    return losses


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("data", type=Path)
    parser.add_argument("--reaches", type=float, nargs="+", default=[0, 1, 1.5, 2, 3])
    given = parser.parse_args()
    by_type = defaultdict(list)
    print(f"{'reach':40}" + "".join(f"{reach:8g}" for reach in given.reaches))
    for sequence in find_sequences(given.data.resolve()):
        losses = measure_losses(sequence.folder, given.reaches)
        by_type[sequence.type].append(losses)
        print(f"{sequence.type + '/' + sequence.name:40}" + "".join(f"{loss:8.3f}" for loss in losses), flush=True)
    for kind, rows in by_type.items():
        print(f"{kind:40}" + "".join(f"{loss:8.3f}" for loss in np.mean(rows, axis=0)))


if __name__ == "__main__":
    main()
