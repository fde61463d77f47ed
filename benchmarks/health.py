"""How well what is said of results without the truth holds against it: `python benchmarks/health.py --help`.

python benchmarks/health.py BENCH                 how health ranks the results of a `fewpoint bench`, or its results.csv
python benchmarks/health.py RUN=TRUTH RUN=TRUTH   run folders, each with its truth: frames worth a look, health,
                                                  probabilities and doubts, judged anew by today's rules

Run folders need their input where it was. A truth in TYPE/NAME/ground_truth-frames gives its run the type TYPE.
"""

import argparse
import csv
from collections.abc import Callable
from dataclasses import dataclass
from itertools import product
from pathlib import Path

import numpy as np
from scipy.special import expit, logit
from scipy.stats import rankdata

from fewpoint.core import PointSet, Result, Words
from fewpoint.errors import FewpointError, InputError
from fewpoint.evaluation.metrics import score_masks
from fewpoint.io.images import read_sequence
from fewpoint.io.masks import read_masks
from fewpoint.io.runs import load_result, read_told
from fewpoint.pipeline.calibration import CUT
from fewpoint.pipeline.cleaning import join_pieces
from fewpoint.report.health import FIGURES, SCORED
from fewpoint.report.judging import Judgement, judge
from fewpoint.report.looking import look_again
from fewpoint.report.uncertainty import Signs, count_suggested, find_lost, find_signs

WORST_SHARE = 0.25
BINS = 10  # of probabilities
LOGITS = np.linspace(-7, 7, 141)  # on which probabilities are counted
POWERS = (0.5, 0.75, 1.0, 1.25, 1.5)  # of the odds that are saved
MISSED = (0.0, 0.05, 0.1, 0.2)  # how far masks smaller than those about them count
# Powers of the signs of frames, of which a root is taken.
WEIGHTS = tuple(
    powers for powers in product((1.0, 2.0, 3.0), (0.0, 1.0), (0.0, 1.0), (0.0, -0.5, -1.0)) if sum(powers) > 0
)


@dataclass(frozen=True)
class Case:
    """One result. kind: what it is compared with when ranked within its kind. figures: those that it has."""

    kind: str
    f1: float
    figures: dict[str, float]


@dataclass(frozen=True, eq=False)
class FrameCase:
    """A run against its truth.

    rank: Spearman of the worth of a look at each frame with its wrong pixels. worst_found: of the sixth of the frames
    with most wrong pixels, the share that is suggested. counts: (bins of LOGITS, 2) pixels, and those of the object.
    dice: of the masks and of the saved probabilities cut at CUT. specks: parts that hang together with no click, over
    all frames. ends: on the first and the last clicked frame, the area of the mask divided by the true one. signs,
    wrong: what frames are ranked by, and their (T,) wrong pixels.
    """

    name: str
    case: Case
    signs: Signs
    wrong: np.ndarray
    rank: float
    worst_found: float
    counts: np.ndarray
    dice: float
    specks: int
    ends: tuple[float, float]
    doubts: tuple[str, ...]


def read_bench(path: Path, **wanted: str | None) -> list[Case]:
    """The finished cells of a bench that have health figures. wanted: values of columns, None for any."""
    file = path / "results.csv" if path.is_dir() else path
    with open(file, newline="", encoding="utf-8") as stream:
        rows = [row for row in csv.DictReader(stream) if row.get("health_score")]
    rows = [row for row in rows if all(value in (None, row.get(column)) for column, value in wanted.items())]
    names = {row["method"] for row in rows}
    if len(names) > 1:
        raise InputError(f"results of one method can be ranked, {file} has {', '.join(sorted(names))}; give --method")
    return [
        Case(row["type"], float(row["f1"]), _figures(lambda name, row=row: row.get(f"health_{name}"))) for row in rows
    ]


def read_run(pair: str) -> FrameCase:
    """A run folder judged and scored against its truth, given as RUN=TRUTH."""
    run, equals, truth_path = pair.partition("=")
    if not equals:
        raise InputError(f"run folders must be given as RUN=TRUTH, got {pair}")
    result, points = load_result(run), read_told(Path(run))[0]
    if result.source is None or points is None:
        raise InputError(f"{run} does not say where its input is or what it was told; run it again")
    truth = read_masks(truth_path).astype(bool)
    sequence = read_sequence(result.source.path, **vars(result.source.reading))
    judged = judge(sequence, points, result)
    signs = find_signs(result, look_again(sequence, result.masks), find_lost(result, points))
    return measure(Path(run).name, Path(truth_path).parent.parent.name, result, points, judged, signs, truth)


def measure(
    name: str,
    kind: str,
    result: Result,
    points: PointSet,
    judged: Judgement,
    signs: Signs,
    truth: np.ndarray,
) -> FrameCase:
    """What was said of a result of one object, against its truth."""
    wrong = (result.masks ^ truth).sum((1, 2)).astype(float)
    sure, figures = result.probabilities.values >= CUT, _figures(vars(judged.health).get)
    return FrameCase(
        name,
        Case(kind, score_masks(result.masks, truth).pooled.f1, {**figures, "score": judged.health.score}),
        signs,
        wrong,
        *rank(np.array(judged.worths), wrong),
        count_probabilities(result.probabilities.values, truth),
        float(2 * (sure & result.masks).sum() / max(1, sure.sum() + result.masks.sum())),
        count_specks(result.masks, points),
        compare_ends(result.masks, truth, points),
        judged.doubts,
    )


def rank(worths: np.ndarray, wrong: np.ndarray) -> tuple[float, float]:
    """Spearman of (T,) worths with wrong pixels, and the share of the worst sixth that is in the sixth worth most.

    >>> rank(np.array([0.2, 0.9, 0.1]), np.array([5.0, 7.0, 1.0]))
    (1.0, 1.0)
    """
    count = count_suggested(len(wrong))
    worst, suggested = (set(np.argsort(-values, kind="stable")[:count].tolist()) for values in (wrong, worths))
    return correlate(worths.tolist(), wrong.tolist()), len(worst & suggested) / count


def count_specks(masks: np.ndarray, points: PointSet) -> int:
    """Parts of (T, H, W) masks that hang together with no click over all frames."""
    return int((~join_pieces(masks.view(np.uint8), 1, points, Words()).tied).sum())


def compare_ends(masks: np.ndarray, truth: np.ndarray, points: PointSet) -> tuple[float, float]:
    """How many times larger than the truth the masks are on the first and the last clicked frame."""
    frames = points.frames.min(), points.frames.max()
    first, last = (float(masks[frame].sum() / max(1, truth[frame].sum())) for frame in frames)
    return first, last


def count_probabilities(probabilities: np.ndarray, truth: np.ndarray) -> np.ndarray:
    """(bins of LOGITS, 2): how many pixels have each probability, and how many of them are the object."""
    counts = np.zeros((len(LOGITS) + 1, 2))
    for frame, mask in zip(probabilities, truth, strict=True):
        place = np.searchsorted(LOGITS, logit(np.clip(frame.astype(np.float64), 5e-4, 1 - 5e-4)).ravel())
        counts += np.stack([np.bincount(place, weights, len(counts)) for weights in (None, mask.ravel())], axis=1)
    return counts


def calibration_error(counts: np.ndarray, power: float = 1.0) -> float:
    """The expected calibration error in ten bins, over all pixels, with odds to that power."""
    centres = np.concatenate([[LOGITS[0]], (LOGITS[1:] + LOGITS[:-1]) / 2, [LOGITS[-1]]])
    likely = expit(power * centres)
    bins = np.minimum((likely * BINS).astype(int), BINS - 1)
    said, there = (np.bincount(bins, weights, BINS) for weights in (counts[:, 0] * likely, counts[:, 1]))
    return float(np.abs(said - there).sum() / counts[:, 0].sum())


def correlate(values: list[float], others: list[float]) -> float:
    """Spearman's rank correlation; NaN where one of the two does not vary.

    >>> correlate([1.0, 2.0, 4.0], [0.2, 0.3, 0.9])
    1.0
    """
    if len(values) < 2 or np.ptp(values) == 0 or np.ptp(others) == 0:
        return float("nan")
    return float(np.corrcoef(rankdata(values), rankdata(others))[0, 1])


def correlate_within(cases: list[Case], figure: str) -> float:
    """The mean of the correlations within each kind, weighed by their cases; kinds of two cases say nothing."""
    correlations, counts = [], []
    for kind in sorted({case.kind for case in cases}):
        own = [case for case in cases if case.kind == kind and figure in case.figures]
        rho = correlate([case.figures[figure] for case in own], [case.f1 for case in own])
        if len(own) > 2 and np.isfinite(rho):
            correlations.append(rho)
            counts.append(len(own))
    return float(np.average(correlations, weights=counts)) if counts else float("nan")


def find_share_of_worst(cases: list[Case]) -> float:
    """Of the quarter with the lowest F1, the share that is in the quarter with the lowest health."""
    count = max(1, round(WORST_SHARE * len(cases)))
    order = range(len(cases))
    bad = set(sorted(order, key=lambda index: cases[index].f1)[:count])
    suspected = set(sorted(order, key=lambda index: cases[index].figures["score"])[:count])
    return len(bad & suspected) / count


def print_table(cases: list[Case]) -> None:
    print(f"{len(cases)} results, F1 {min(case.f1 for case in cases):.2f} to {max(case.f1 for case in cases):.2f}\n")
    print("| figure | results | Spearman with F1 | within types |\n|---|---|---|---|")
    for figure in FIGURES:
        own = [case for case in cases if figure in case.figures]
        rho = correlate([case.figures[figure] for case in own], [case.f1 for case in own])
        print(f"| {figure} | {len(own)} | {_word(rho)} | {_word(correlate_within(cases, figure))} |")
    share = find_share_of_worst(cases)
    print(f"\nOf the worst quarter by F1, {share:.0%} are in the worst quarter by health.")


def print_frames(found: list[FrameCase]) -> None:
    """A row for each run, then what holds for each type that no constant could have been chosen on."""
    print(
        "| run | F1 | health | frames: Spearman | worst sixth suggested | calibration error | Dice of masks and cut "
        "| specks | size of first and last clicked frame |"
    )
    print("|---|---|---|---|---|---|---|---|---|")
    for each in found:
        figures = f"{each.case.f1:.2f} | {each.case.figures['score']:.2f} | {_word(each.rank)} | {each.worst_found:.2f}"
        ends = " and ".join(f"{size:.2f}" for size in each.ends)
        shown = f"{calibration_error(each.counts):.3f} | {each.dice:.4f} | {each.specks} | {ends}"
        print(f"| {each.name} | {figures} | {shown} |")
    for each in found:
        for doubt in each.doubts:
            print(f"\n{each.name}: {doubt}")
    print("\n| type | runs | frames: Spearman, mean | least | worst sixth suggested | power by the others | error |")
    print("|---|---|---|---|---|---|---|")
    kinds = sorted({each.case.kind for each in found})
    for kind in kinds:
        own = [each for each in found if each.case.kind == kind]
        others = [each for each in found if each.case.kind != kind] or own
        power = min(POWERS, key=lambda power: _mean_error(others, power))
        ranks = [each.rank for each in own]
        print(
            f"| {kind} | {len(own)} | {_word(float(np.nanmean(ranks)))} | {_word(float(np.nanmin(ranks)))} | "
            f"{np.mean([each.worst_found for each in own]):.2f} | {power:g} | {_mean_error(own, power):.3f} |"
        )
    ranks = [each.rank for each in found]
    print(
        f"| all | {len(found)} | {_word(float(np.nanmean(ranks)))} | {_word(float(np.nanmin(ranks)))} | "
        f"{np.mean([each.worst_found for each in found]):.2f} | 1 | {_mean_error(found, 1.0):.3f} |"
    )
    scores = [[case.figures["score"], case.f1] for case in (each.case for each in found)]
    print(f"\nSpearman of health with F1: {_word(correlate(*map(list, zip(*scores, strict=True))))}")


def print_left_out(found: list[FrameCase]) -> None:
    """How frames are ranked with powers chosen for each type on the others: by both figures, negative ones thrice."""
    choices = list(product(MISSED, WEIGHTS))
    ranked = {choice: np.array([rank(each.signs.weigh(*choice), each.wrong) for each in found]) for choice in choices}
    kinds = np.array([each.case.kind for each in found])
    left_out = np.zeros((len(found), 2))
    print("\n| type left out | missed | powers of D, F, L, A by the others | Spearman, mean | least | worst sixth |")
    print("|---|---|---|---|---|---|")
    for kind in sorted(set(kinds)):
        others = kinds != kind
        missed, powers = best = max(choices, key=lambda choice: _value(ranked[choice][others]))
        left_out[~others] = ranked[best][~others]
        print(
            f"| {kind} | {missed:g} | {', '.join(f'{power:g}' for power in powers)} | {_summary(left_out[~others])} |"
        )
    print(f"| all | | | {_summary(left_out)} |")


def _value(ranked: np.ndarray) -> float:
    """Of (runs, 2) figures."""
    ranks = np.nan_to_num(ranked[:, 0])
    return float(ranks.mean() + ranked[:, 1].mean() + 2 * np.minimum(ranks, 0).mean())


def _summary(ranked: np.ndarray) -> str:
    ranks = ranked[:, 0]
    return f"{_word(float(np.nanmean(ranks)))} | {_word(float(np.nanmin(ranks)))} | {ranked[:, 1].mean():.2f}"


def _mean_error(found: list[FrameCase], power: float) -> float:
    return float(np.mean([calibration_error(each.counts, power) for each in found]))


def _figures(find: Callable[[str], float | str | None]) -> dict[str, float]:
    """The figures that are there, with the score that today's rule makes of them."""
    known = {name: float(value) for name in FIGURES if (value := find(name)) not in (None, "")}
    scored = [known[name] for name in SCORED if name in known]
    return {**known, "score": float(np.mean(scored))} if scored else known


def _word(rho: float) -> str:
    return "–" if np.isnan(rho) else f"{rho:+.2f}"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("inputs", nargs="+", metavar="BENCH|RUN=TRUTH")
    parser.add_argument("--method", help="of a bench, the results of this method")
    parser.add_argument("--bound", help="of a bench, the results with this bound")
    parser.add_argument("--points", help="of a bench, the results with these points")
    options = parser.parse_args()
    first = options.inputs[0]
    is_bench = len(options.inputs) == 1 and "=" not in first
    wanted = {"method": options.method, "bound": options.bound, "points": options.points}
    try:
        found = [] if is_bench else list(map(read_run, options.inputs))
        cases = read_bench(Path(first), **wanted) if is_bench else [each.case for each in found]
    except (FewpointError, OSError) as error:
        raise SystemExit(str(error)) from error
    if not cases:
        raise SystemExit(f"{first} holds no results with health figures")
    if found:
        print_frames(found)
        if len({each.case.kind for each in found}) > 1:
            print_left_out(found)
        print()
    print_table(cases)


if __name__ == "__main__":
    main()
