"""What two competitors learn from, scored as if it were their masks: python benchmarks/competitors.py FOLDER ….

--only eel scores one of them; --set propagation.links=within and the like change EEL.

Each FOLDER is in the dataset's layout, with its truth, of which only the bound and the scores know. `dl-prior` is asked
to give every pixel its objectness, `eel` to give every superpixel its propagated guess; where these, cut at one half,
are poor masks, a network or a boosted classifier that learnt them well is no better.
"""

import argparse
from pathlib import Path

import numpy as np

from fewpoint.core import AreaBound, ImageSequence, PointSet
from fewpoint.core.settings import override
from fewpoint.evaluation.metrics import score_masks
from fewpoint.evaluation.truth import paper_bound
from fewpoint.io.images import read_sequence
from fewpoint.io.masks import read_masks
from fewpoint.io.points import read_points
from fewpoint.methods.competitors.dl_prior import rate_objectness
from fewpoint.methods.competitors.eel import build_affinity, calibrate, guess_probabilities, propagate
from fewpoint.methods.competitors.flow import estimate_flow, flow_directions
from fewpoint.methods.competitors.frames import resize, small_frames
from fewpoint.methods.competitors.settings import EelSettings
from fewpoint.superpixels.regions import paint_regions, regions_at_points
from fewpoint.superpixels.slic import segment_frames


def aim_of_dl_prior(sequence: ImageSequence, points: PointSet, bound: AreaBound, max_side: int) -> np.ndarray:
    """(T, H, W) objectness."""
    maps = (rate_objectness(frame, bound) for frame in small_frames(sequence, points, max_side))
    return np.stack([resize(each, sequence.size) for each in maps])


def aim_of_eel(sequence: ImageSequence, points: PointSet, settings: EelSettings) -> np.ndarray:
    """(T, H, W) propagated guess, 1 for clicked superpixels."""
    superpixels = segment_frames(sequence, settings.superpixels)
    positive = np.zeros(superpixels.total, bool)
    positive[regions_at_points(superpixels, points)] = True
    affinity = build_affinity(superpixels, flow_directions(superpixels, estimate_flow(sequence)), settings.propagation)
    guess = guess_probabilities(sequence, superpixels, positive)
    expected = calibrate(propagate(guess, affinity, settings.propagation), positive)
    return paint_regions(superpixels, np.where(positive, 1.0, expected))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folders", type=Path, nargs="+")
    parser.add_argument("--side", type=int, default=128, help="size at which objectness is rated")
    parser.add_argument("--only", choices=("dl-prior", "eel"), help="the one to score, both if it is not given")
    parser.add_argument("--set", action="append", default=[], metavar="section.key=value", help="of EEL's settings")
    options = parser.parse_args()
    settings = EelSettings()
    for change in options.set:
        settings = override(settings, *change.split("=", 1))
    for folder in options.folders:
        sequence, truth = read_sequence(folder / "input-frames"), read_masks(folder / "ground_truth-frames")
        points, bound = read_points(folder / "2dlocs.csv", sequence), paper_bound(truth, 1.4)
        aims = {}
        if options.only != "eel":
            aims["dl-prior"] = aim_of_dl_prior(sequence, points, bound, options.side)
        if options.only != "dl-prior":
            aims["eel"] = aim_of_eel(sequence, points, settings)
        scores = {name: score_masks(aim >= 0.5, truth).pooled for name, aim in aims.items()}
        told = ", ".join(
            f"{name}'s aim {score.f1:.3f} (precision {score.precision:.2f}, recall {score.recall:.2f})"
            for name, score in scores.items()
        )
        print(f"{folder.parent.name}/{folder.name}: {told}", flush=True)


if __name__ == "__main__":
    main()
