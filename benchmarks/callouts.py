"""Which wrong clicks and bounds are called out in words: python benchmarks/callouts.py SEQUENCE…

SEQUENCE is a folder in the dataset's layout. Its clicks are judged as they are, with x and y exchanged, and with all or
a quarter of them drawn anew on background (three times); its largest true share is given as a bound, three times it and
a third of it. Only frames with a click are looked at, and discs round the clicks, as large as these suggest, stand in
for the masks of a run. Printed is of how many sequences each is called out, in all and in each type.
"""

import argparse
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path

import numpy as np

from fewpoint.core import AreaBound, ImageSequence, PointSet, PriorEstimate, PriorHistory, ProbabilityMaps, Result
from fewpoint.io.images import read_sequence
from fewpoint.io.masks import TRUTH_FOLDER, read_masks
from fewpoint.io.points import read_points
from fewpoint.pipeline.bounds import doubt_bound, estimate_bound
from fewpoint.pipeline.rough import USUAL_SHARE
from fewpoint.report.judging import judge

DRAWN = 3  # times that clicks on background are drawn
QUARTER = 4
BOUNDS = {"largest share": 1.0, "largest share x 3": 3.0, "largest share / 3": 1 / 3}
LARGEST = 0.95


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("sequences", nargs="+", type=Path, metavar="SEQUENCE")
    parser.add_argument("--points", default="points_every5")
    asked = parser.parse_args()
    called: dict[str, dict[str, list[bool]]] = defaultdict(lambda: defaultdict(list))
    for folder in asked.sequences:
        for case, doubts in try_all(folder, asked.points):
            called[case][folder.parent.name].append(bool(doubts))
            print(f"{folder.name}, {case}: {'; '.join(doubts) or 'nothing'}", flush=True)
    show(called)


def try_all(folder: Path, points_name: str) -> Iterator[tuple[str, tuple[str, ...]]]:
    """Each case with what is doubted of it."""
    sequence, truth = read_sequence(folder), read_masks(folder / TRUTH_FOLDER).astype(bool)
    points = read_points(folder / f"{points_name}.csv", sequence)
    clicked, places = np.unique(points.frames, return_inverse=True)
    seen = ImageSequence.from_array(sequence.frames[clicked])
    for case, rows in vary(np.column_stack([places, points.coordinates[:, 1:]]), truth[clicked]):
        clicks = PointSet.from_rows(list(map(tuple, rows.tolist())))
        yield case, judge(seen, clicks, make_result(seen, clicks)).doubts
    for case, factor in BOUNDS.items():
        bound = AreaBound(min(LARGEST, factor * float(truth.mean((1, 2)).max())))
        yield case, tuple(filter(None, [doubt_bound(bound, sequence, points)]))


def vary(rows: np.ndarray, truth: np.ndarray) -> Iterator[tuple[str, np.ndarray]]:
    """The (N, 3) clicks as they are, and those that a person may give by mistake."""
    yield "as they are", rows
    yield "x and y exchanged", np.minimum(rows[:, [0, 2, 1]], np.array(truth.shape) - 1)
    for seed in range(DRAWN):
        random = np.random.default_rng(seed)
        drawn = np.array([[frame, *random.choice(np.argwhere(~truth[frame]))] for frame in rows[:, 0].tolist()])
        yield "on background", drawn
        chosen = np.arange(len(rows)) % QUARTER == 1
        yield "a quarter on background", np.where(chosen[:, np.newaxis], drawn, rows)


def make_result(sequence: ImageSequence, clicks: PointSet) -> Result:
    """Discs round the clicks."""
    bound = estimate_bound(sequence, clicks)
    height, width = sequence.size
    reach = USUAL_SHARE * bound.fraction * height * width / np.pi
    y, x = np.ogrid[:height, :width]
    masks = np.zeros((len(sequence), height, width), bool)
    for frame, row, column in clicks.coordinates.tolist():
        masks[frame] |= (y - row) ** 2 + (x - column) ** 2 <= reach
    nothing = PriorEstimate(*[np.zeros(len(masks))] * 3)
    maps = ProbabilityMaps(np.where(masks, 0.95, 0.05).astype(np.float16))
    return Result.single(masks, maps, nothing, PriorHistory.empty(len(masks)), bound, sequence.names)


def show(called: dict[str, dict[str, list[bool]]]) -> None:
    kinds = sorted({kind for own in called.values() for kind in own})
    print(f"\n| called out | all | {' | '.join(kinds)} |\n|---|---|{'---|' * len(kinds)}")
    for case, own in called.items():
        cells = [f"{sum(own[kind])} of {len(own[kind])}" for kind in kinds]
        every = [each for kind in kinds for each in own[kind]]
        print(f"| {case} | {sum(every)} of {len(every)} | {' | '.join(cells)} |")


if __name__ == "__main__":
    main()
