"""What efforts of people gave, way by way and round by round.

A way is a method, variant, bound, points to start with, words, where one looks, and the number of rounds.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from statistics import fmean, median

from fewpoint.bench.rounds import EffortRow, Round
from fewpoint.bench.tables import NOTHING, collect_by_type, format_figure, layout_markdown, mean_over_types

NAMES = ("method", "variant", "bound", "points", "words", "look")
GLANCE = (
    *("rounds", "first F1", "last F1", "got worse", "ended lower"),
    *("median s", "largest s", "suggested frame among the worst fifth", "cells"),
)
WORSE = 0.01  # by so much F1 a round, or a whole effort, must not go down


@dataclass(frozen=True)
class Way:
    """All cells of one way. types: every type that the suite has cells of."""

    names: tuple[str, ...]
    rows: tuple[EffortRow, ...]
    types: tuple[str, ...]

    @property
    def rounds(self) -> int:
        """Rounds after round 0."""
        return len(self.rows[0].rounds) - 1

    @property
    def title(self) -> str:
        method, *others = self.names
        return ", ".join([method, *(f"{name} {value}" for name, value in zip(NAMES[1:], others, strict=True))])

    def mean(self, number: int, measure: Callable[[Round], float]) -> float | None:
        """Mean over types of a figure after a round; None if the way misses a type or the round."""
        if number > self.rounds:
            return None
        pairs = ((row.type, measure(row.rounds[number])) for row in self.rows)
        return mean_over_types(collect_by_type(pairs), self.types)

    def f1_of_type(self, kind: str, number: int) -> float | None:
        values = [row.rounds[number].scores.f1 for row in self.rows if row.type == kind]
        return fmean(values) if values else None

    def seconds(self, numbers: Iterable[int]) -> list[float]:
        """Of the runs of some rounds, sorted."""
        taken = (row.rounds[number].seconds for number in numbers for row in self.rows)
        return sorted(seconds for seconds in taken if seconds is not None)

    def suggestions(self, numbers: Iterable[int]) -> list[bool]:
        """Whether each frame that was suggested before some rounds was among the worst fifth."""
        judged = (row.rounds[number].suggested_worst for number in numbers for row in self.rows)
        return [each for each in judged if each is not None]

    @property
    def got_worse(self) -> int:
        """Cells that lost more than WORSE in any one round."""
        return sum(any(loss > WORSE for loss in losses(row)) for row in self.rows)

    @property
    def ended_lower(self) -> int:
        """Cells that end more than WORSE below where they began."""
        return sum(row.rounds[0].scores.f1 - row.rounds[-1].scores.f1 > WORSE for row in self.rows)


@dataclass(frozen=True)
class Table:
    """A head and lines of text; so many first columns hold words, the others figures."""

    title: str
    head: tuple[str, ...]
    lines: tuple[tuple[str, ...], ...]
    words: int


def losses(row: EffortRow) -> list[float]:
    """F1 that each round lost against the one before; negative for a gain."""
    scores = [each.scores.f1 for each in row.rounds]
    return [before - after for before, after in pairwise(scores)]


def collect_ways(rows: Iterable[EffortRow]) -> tuple[Way, ...]:
    """Cells by way, in the order in which they come; those that failed are left out."""
    finished = [row for row in rows if row.rounds]
    types = tuple(dict.fromkeys(row.type for row in finished))
    ways: dict[tuple, list[EffortRow]] = {}
    for row in finished:
        ways.setdefault((row.way, len(row.rounds)), []).append(row)
    return tuple(Way(names, tuple(members), types) for (names, _), members in ways.items())


def build_tables(rows: Iterable[EffortRow]) -> tuple[Table, ...]:
    """F1 by round of all ways, what else the targets are about, then one table per way; nothing without cells."""
    ways = collect_ways(rows)
    return (_compare(ways), _glance(ways), *map(_detail, ways)) if ways else ()


def to_markdown(tables: Sequence[Table]) -> str:
    """All tables as Markdown."""
    return "\n".join(layout_markdown(table.title, table.head, table.lines, table.words) for table in tables)


def _compare(ways: Sequence[Way]) -> Table:
    """F1 by round."""
    numbers = range(max(way.rounds for way in ways) + 1)
    lines = [(*way.names, *(format_figure(way.mean(number, _f1)) for number in numbers)) for way in ways]
    return Table("F1 after each round, mean over types", (*NAMES, *map(str, numbers)), tuple(lines), len(NAMES))


def _glance(ways: Sequence[Way]) -> Table:
    """What else the targets are about; seconds and suggestions are those of the rounds after round 0."""
    lines = [(*way.names, *_sum_up(way)) for way in ways]
    return Table("Summary of efforts", (*NAMES, *GLANCE), tuple(lines), len(NAMES))


def _sum_up(way: Way) -> tuple[str, ...]:
    cells, later = len(way.rows), range(1, way.rounds + 1)
    return (
        str(way.rounds),
        format_figure(way.mean(0, _f1)),
        format_figure(way.mean(way.rounds, _f1)),
        f"{way.got_worse}/{cells}",
        f"{way.ended_lower}/{cells}",
        *_format_seconds(way.seconds(later)),
        format_share(way.suggestions(later)),
        str(cells),
    )


def _detail(way: Way) -> Table:
    """All figures of one way by round."""
    numbers = range(way.rounds + 1)
    measures = {
        "F1": _f1,
        "precision": lambda each: each.scores.precision,
        "recall": lambda each: each.scores.recall,
        "F1, best single threshold": lambda each: each.scores.best_threshold_f1,
        "F1, true size of each frame": lambda each: each.scores.true_sizes_f1,
        "masked / true area": lambda each: each.scores.area,
        "words": lambda each: each.words,
    }
    lines = [(name, *(format_figure(way.mean(number, of)) for number in numbers)) for name, of in measures.items()]
    by_type = {kind: [way.f1_of_type(kind, number) for number in numbers] for kind in way.types}
    types = [(f"F1, {kind}", *map(format_figure, figures)) for kind, figures in by_type.items()]
    seconds = [_format_seconds(way.seconds([number])) for number in numbers]
    middle, largest = (tuple(column) for column in zip(*seconds, strict=True))
    suggested = tuple(format_share(way.suggestions([number])) for number in numbers)
    costs = [("median s", *middle), ("largest s", *largest), ("suggested frame among the worst fifth", *suggested)]
    return Table(way.title, ("after round", *map(str, numbers)), (lines[0], *types, *lines[1:], *costs), 1)


def _f1(each: Round) -> float:
    return each.scores.f1


def _format_seconds(seconds: Sequence[float]) -> tuple[str, str]:
    """Median and largest."""
    return (f"{median(seconds):.1f}", f"{max(seconds):.1f}") if seconds else (NOTHING, NOTHING)


def format_share(cases: Sequence[bool]) -> str:
    """How many hold, of how many.

    >>> format_share([True, False, True]), format_share([])
    ('2/3', '–')
    """
    return f"{sum(cases)}/{len(cases)}" if cases else NOTHING
