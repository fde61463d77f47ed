"""How well health figures, which know no truth, rank results by their real F1: `python benchmarks/health.py --help`.

python benchmarks/health.py BENCH                 the folder of a `fewpoint bench`, or its results.csv
python benchmarks/health.py RUN=TRUTH RUN=TRUTH   run folders, each with its truth
"""

import argparse
import csv
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from scipy.stats import rankdata

from fewpoint.errors import FewpointError, InputError
from fewpoint.evaluation.metrics import score_masks
from fewpoint.io.atomic import read_json
from fewpoint.io.masks import read_masks
from fewpoint.report.health import FIGURES, SCORED

WORST_SHARE = 0.25


@dataclass(frozen=True)
class Case:
    """One result. kind: what it is compared with when ranked within its kind. figures: those that it has."""

    kind: str
    f1: float
    figures: dict[str, float]


def read_bench(path: Path, **wanted: str | None) -> list[Case]:
    """The finished cells of a bench that have health figures. wanted: values of columns, None for any."""
    file = path / "results.csv" if path.is_dir() else path
    with open(file, newline="", encoding="utf-8") as stream:
        rows = [row for row in csv.DictReader(stream) if row.get("health_score")]
    rows = [row for row in rows if all(value in (None, row.get(column)) for column, value in wanted.items())]
    names = {row["method"] for row in rows}
    if len(names) > 1:
        raise InputError(f"results of one method can be ranked, {file} has {', '.join(sorted(names))}; give --method")
    return [Case(row["type"], float(row["f1"]), _figures(lambda name, row=row: row[f"health_{name}"])) for row in rows]


def read_runs(pairs: list[str]) -> list[Case]:
    """Run folders scored against their truths."""
    cases = []
    for pair in pairs:
        run, equals, truth = pair.partition("=")
        if not equals:
            raise InputError(f"run folders must be given as RUN=TRUTH, got {pair}")
        health = read_json(Path(run) / "summary.json")["health"]
        f1 = score_masks(read_masks(run), read_masks(truth)).pooled.f1
        cases.append(Case("all", f1, _figures(health.get)))
    return cases


def correlate(values: list[float], f1: list[float]) -> float:
    """Spearman's rank correlation; NaN where one of the two does not vary.

    >>> correlate([1.0, 2.0, 4.0], [0.2, 0.3, 0.9])
    1.0
    """
    if len(values) < 2 or np.ptp(values) == 0 or np.ptp(f1) == 0:
        return float("nan")
    return float(np.corrcoef(rankdata(values), rankdata(f1))[0, 1])


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


def _figures(find: Callable[[str], float | str | None]) -> dict[str, float]:
    """The figures that are there, with the score that today's rule makes of them."""
    known = {name: float(find(name)) for name in FIGURES if find(name) not in (None, "")}
    return {**known, "score": float(np.mean([known[name] for name in SCORED if name in known]))} if known else {}


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
    try:
        wanted = {"method": options.method, "bound": options.bound, "points": options.points}
        cases = read_bench(Path(first), **wanted) if is_bench else read_runs(options.inputs)
    except (FewpointError, OSError) as error:
        raise SystemExit(str(error)) from error
    if not cases:
        raise SystemExit(f"{first} holds no results with health figures")
    print_table(cases)


if __name__ == "__main__":
    main()
