"""Results by method and type, in the shape of the paper's tables.

Deviations are those of a sample (n - 1) over a type's sequences and seeds; one value alone has none.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from statistics import fmean, stdev

from fewpoint.bench.results import Row, require

CEILING = "Max SP"
UNTRACKED = ", untracked"
NOTHING = "–"


@dataclass(frozen=True)
class Spread:
    """Mean and sample deviation of some values; no deviation for one value."""

    mean: float
    deviation: float | None

    @classmethod
    def of(cls, values: Sequence[float]) -> "Spread":
        """Sum up one value or more.

        >>> Spread.of([0.25, 0.5, 0.75])
        Spread(mean=0.5, deviation=0.25)
        """
        return cls(fmean(values), stdev(values) if len(values) > 1 else None)


@dataclass(frozen=True)
class Line:
    """One method of a table.

    types: F1 by type. overall: mean over all types of the table, None if one is missing.
    delta: the same of F1 - Max SP. cells: how many results stand behind it.
    """

    method: str
    types: dict[str, Spread]
    overall: float | None
    delta: float | None
    cells: int


@dataclass(frozen=True)
class Table:
    """Methods compared on the same variant, points and bound; the ceiling is the first line."""

    title: str
    types: tuple[str, ...]
    lines: tuple[Line, ...]


def build_tables(rows: Iterable[Row]) -> tuple[Table, ...]:
    """One table for each variant, points and bound, of the cells that have a score and a ceiling.

    Below each method that tracks stands the same without its last step.
    """
    groups: dict[tuple[str, str, str], list[Row]] = {}
    for row in rows:
        if row.delta is not None:
            groups.setdefault(row.group, []).append(row)
    return tuple(_build_table(group, members) for group, members in groups.items())


def to_markdown(tables: Sequence[Table]) -> str:
    """All tables as Markdown."""
    return "\n".join(
        layout_markdown(table.title, head_cells(table), [write_cells(table, line) for line in table.lines])
        for table in tables
    )


def to_latex(tables: Sequence[Table]) -> str:
    r"""All tables as LaTeX, which needs \usepackage{booktabs}."""
    return "\n".join(_write_latex(table) for table in tables)


def write_cells(table: Table, line: Line) -> list[str]:
    """A line's entries, the method first."""
    spreads = [line.types.get(kind) for kind in table.types]
    delta = NOTHING if line.method == CEILING else format_figure(line.delta, sign="+")
    return [line.method, *map(format_spread, spreads), format_figure(line.overall), delta, str(line.cells)]


def head_cells(table: Table) -> list[str]:
    return ["F1", *table.types, "All", "Delta", "cells"]


def format_figure(value: float | None, sign: str = "") -> str:
    """Three decimals, or a dash.

    >>> format_figure(0.5), format_figure(-0.25, "+"), format_figure(None)
    ('0.500', '-0.250', '–')
    """
    return NOTHING if value is None else f"{value:{sign}.3f}"


def format_spread(spread: Spread | None) -> str:
    """Mean ± deviation.

    >>> format_spread(Spread(0.5, 0.125)), format_spread(Spread(0.5, None))
    ('0.500 ± 0.125', '0.500')
    """
    if spread is None or spread.deviation is None:
        return format_figure(spread and spread.mean)
    return f"{spread.mean:.3f} ± {spread.deviation:.3f}"


def collect_by_type(pairs: Iterable[tuple[str, float]]) -> dict[str, list[float]]:
    """Values of each type, in order.

    >>> collect_by_type([("brain", 0.5), ("ct", 0.25), ("brain", 0.75)])
    {'brain': [0.5, 0.75], 'ct': [0.25]}
    """
    values: dict[str, list[float]] = {}
    for kind, value in pairs:
        values.setdefault(kind, []).append(value)
    return values


def mean_over_types(values: dict[str, list[float]], types: tuple[str, ...]) -> float | None:
    """Mean over types of the mean of each, so that a type counts once however many sequences it has.

    None if one of the types is missing.

    >>> mean_over_types({"brain": [0.5, 0.75], "ct": [0.25]}, ("brain", "ct"))
    0.4375
    """
    return fmean(fmean(values[kind]) for kind in types) if set(types) <= values.keys() else None


def layout_markdown(title: str, head: Sequence[str], rows: Iterable[Sequence[str]], words: int = 1) -> str:
    """A table under a heading; so many first columns hold words, the others figures."""
    rule = ["---"] * words + ["---:"] * (len(head) - words)
    return f"### {title}\n\n" + "".join(f"| {' | '.join(row)} |\n" for row in (head, rule, *rows))


def _build_table(group: tuple[str, str, str], rows: list[Row]) -> Table:
    types = tuple(dict.fromkeys(row.type for row in rows))
    lines = [_sum_up(members, types) for members in _split_methods(rows)]
    title = "variant {}, points {}, bound {}".format(*group)
    return Table(title, types, (_sum_up_ceiling(rows, types), *lines))


def _split_methods(rows: list[Row]) -> Iterable[list[Row]]:
    """The rows of each method, and after those of one that tracks or evens out the same with their untracked scores."""
    for method in dict.fromkeys(row.method for row in rows):
        members = [row for row in rows if row.method == method]
        yield members
        untracked = [
            replace(row, method=method + UNTRACKED, f1=row.f1_untracked, delta=row.f1_untracked - require(row.max_sp))
            for row in members
            if row.f1_untracked is not None
        ]
        if untracked:
            yield untracked


def _sum_up(rows: list[Row], types: tuple[str, ...]) -> Line:
    scores = collect_by_type((row.type, require(row.f1)) for row in rows)
    deltas = collect_by_type((row.type, require(row.delta)) for row in rows)
    overall, delta = (mean_over_types(values, types) for values in (scores, deltas))
    return Line(rows[0].method, _spread(scores), overall, delta, len(rows))


def _sum_up_ceiling(rows: list[Row], types: tuple[str, ...]) -> Line:
    """The ceiling of each sequence, once."""
    sequences = {row.place: row for row in rows}
    scores = collect_by_type((row.type, require(row.max_sp)) for row in sequences.values())
    return Line(CEILING, _spread(scores), mean_over_types(scores, types), 0.0, len(sequences))


def _spread(values: dict[str, list[float]]) -> dict[str, Spread]:
    return {kind: Spread.of(members) for kind, members in values.items()}


def _write_latex(table: Table) -> str:
    head = head_cells(table)
    body = [" & ".join(map(escape_latex, write_cells(table, line))) + r" \\" for line in table.lines]
    rows = [
        f"% {table.title}",
        rf"\begin{{tabular}}{{l{'r' * (len(head) - 1)}}}",
        r"\toprule",
        " & ".join(map(escape_latex, head)) + r" \\",
        r"\midrule",
        body[0],
        r"\midrule",
        *body[1:],
        r"\bottomrule",
        r"\end{tabular}",
    ]
    return "\n".join(rows) + "\n"


def escape_latex(text: str) -> str:
    """Text as LaTeX; the signs that tables use in math mode.

    >>> escape_latex("a_b ± 1")
    'a\\\\_b $\\\\pm$ 1'
    """
    signs = {"_": r"\_", "&": r"\&", "%": r"\%", "#": r"\#", "±": r"$\pm$", "–": "--"}
    escaped = "".join(signs.get(letter, letter) for letter in text)
    return f"${escaped}$" if escaped[:1] in "+-" and escaped[1:2].isdigit() else escaped
