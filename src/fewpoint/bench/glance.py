"""All targets at a glance: one line per method, variant, points and bound, to be compared line by line."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from statistics import fmean, stdev

from fewpoint.bench.results import Row, require
from fewpoint.bench.tables import collect_by_type, format_figure, layout_markdown, mean_over_types

TITLE = "Summary"
HEAD = (
    *("method", "variant", "points", "bound"),
    *("F1", "Delta", "worst type", "collapsed", "prior MAE", "seed deviation", "time s"),
)
N_NAMES = 4
# A sequence collapses if F1 is this low although superpixels allow that much.
LOW_F1, FAIR_CEILING = 0.5, 0.8


@dataclass(frozen=True)
class Glance:
    """What the targets are about, for one method under one variant, points and bound.

    names: these four. f1, delta, prior_mae: means over types, None if the method misses a type that another has.
    worst_type, worst_delta: the type of the lowest mean delta. collapsed: sequences that do so with any seed.
    seed_deviation: mean over sequences of the sample deviation of F1 over seeds; None for one seed. time_s: mean.
    """

    names: tuple[str, str, str, str]
    f1: float | None
    delta: float | None
    worst_type: str
    worst_delta: float
    collapsed: int
    prior_mae: float | None
    seed_deviation: float | None
    time_s: float


def build_glances(rows: Iterable[Row]) -> tuple[Glance, ...]:
    """One line per method, variant, points and bound, of the cells that have a score and a ceiling."""
    types: dict[tuple[str, str, str], list[str]] = {}
    lines: dict[tuple[str, str, str, str], list[Row]] = {}
    for row in rows:
        if row.delta is not None:
            types.setdefault(row.group, []).append(row.type)
            lines.setdefault((row.method, *row.group), []).append(row)
    return tuple(_sum_up(names, cells, tuple(dict.fromkeys(types[names[1:]]))) for names, cells in lines.items())


def to_markdown(glances: Sequence[Glance]) -> str:
    """All lines as one table; nothing if there is none."""
    return layout_markdown(TITLE, HEAD, map(_write_cells, glances), N_NAMES) if glances else ""


def _sum_up(names: tuple[str, str, str, str], rows: list[Row], types: tuple[str, ...]) -> Glance:
    scores, deltas, errors = (
        collect_by_type((row.type, getattr(row, figure)) for row in rows) for figure in ("f1", "delta", "prior_mae")
    )
    worst_delta, worst_type = min((fmean(values), kind) for kind, values in deltas.items())
    collapsed = {row.place for row in rows if require(row.f1) < LOW_F1 and require(row.max_sp) > FAIR_CEILING}
    return Glance(
        names=names,
        f1=mean_over_types(scores, types),
        delta=mean_over_types(deltas, types),
        worst_type=worst_type,
        worst_delta=worst_delta,
        collapsed=len(collapsed),
        prior_mae=mean_over_types(errors, types),
        seed_deviation=_deviate_over_seeds(rows),
        time_s=fmean(require(row.time_s) for row in rows),
    )


def _deviate_over_seeds(rows: list[Row]) -> float | None:
    """Mean over the sequences that have several seeds."""
    by_place: dict[str, list[float]] = {}
    for row in rows:
        by_place.setdefault(row.place, []).append(require(row.f1))
    deviations = [stdev(values) for values in by_place.values() if len(values) > 1]
    return fmean(deviations) if deviations else None


def _write_cells(glance: Glance) -> list[str]:
    return [
        *glance.names,
        format_figure(glance.f1),
        format_figure(glance.delta, "+"),
        f"{format_figure(glance.worst_delta, '+')} {glance.worst_type}",
        str(glance.collapsed),
        format_figure(glance.prior_mae),
        format_figure(glance.seed_deviation),
        f"{glance.time_s:.1f}",
    ]
