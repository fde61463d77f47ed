"""Tables 1 and 2 of the paper, from our cells, with the paper's own figures next to them; Markdown, LaTeX and CSV."""

import csv
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from io import StringIO
from pathlib import Path

from fewpoint.bench import published
from fewpoint.bench.protocols import parse_eta
from fewpoint.bench.results import Row, require
from fewpoint.bench.tables import (
    CEILING,
    NOTHING,
    Spread,
    collect_by_type,
    escape_latex,
    format_figure,
    format_spread,
    layout_markdown,
    mean_over_types,
)
from fewpoint.io.atomic import write_text

SAME, OTHER = "paper", "paper, other data"
ALL = "All"


@dataclass(frozen=True)
class Grid:
    """A table as text. words: so many first columns hold names."""

    title: str
    head: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    words: int = 1


def write_table_1(rows: Sequence[Row], ours: str, out: Path) -> list[Path]:
    """Methods by type: F1 with its deviation, All, Delta to Max SP, and the paper's All."""
    return _write("table1", [build_table_1(rows, ours), published_table_1()], out)


def write_table_2(rows: Sequence[Row], out: Path) -> list[Path]:
    """Type, method and eta: F1, precision and recall with their deviations."""
    return _write("table2", [build_table_2(rows), published_table_2()], out)


def build_table_1(rows: Sequence[Row], ours: str) -> Grid:
    """The ceiling, ours, and the others from the best to the worst."""
    types = tuple(dict.fromkeys(row.type for row in rows))
    lines = {}
    for row in rows:
        lines.setdefault(row.method, []).append(row)
        if row.method == "ssnnpu+ksptrack" and row.f1_untracked is not None:
            plain = replace(row, method="ssnnpu", f1=row.f1_untracked, delta=row.f1_untracked - require(row.max_sp))
            lines.setdefault("ssnnpu", []).append(plain)
    ceiling = list({row.place: replace(row, f1=row.max_sp, delta=0.0) for row in rows}.values())
    source = name_source(types)
    head = ("F1", *types, ALL, "Delta", source, "cells")
    others = sorted((name for name in lines if name != ours), key=lambda name: -_overall(lines[name], types))
    order = [(CEILING, ceiling), *((name, lines[name]) for name in (ours, *others) if name in lines)]
    body = tuple(_line_1(name, members, types) for name, members in order)
    return Grid("Table 1: F1 by method and type", head, body)


def published_table_1() -> Grid:
    body = tuple(
        (name, *(format_spread(Spread(*pair)) for pair in pairs), format_figure(overall), format_figure(delta, "+"))
        for name, (pairs, overall, delta) in published.TABLE_1.items()
    )
    return Grid("Table 1 of the paper, on its own sequences", ("F1", *published.TYPES, ALL, "Delta"), body)


def build_table_2(rows: Sequence[Row]) -> Grid:
    """One line per type, method and eta, and the paper's F1 if it has that line."""
    groups: dict[tuple[str, str, float | None], list[Row]] = {}
    for row in rows:
        groups.setdefault((row.type, row.method, find_eta(row)), []).append(row)
    types = tuple(dict.fromkeys(row.type for row in rows))
    body = []
    for kind in types:
        own = sorted((key for key in groups if key[0] == kind), key=lambda key: (key[1], key[2] or 0))
        body += [_line_2(key, groups[key]) for key in own]
    head = ("type", "method", "eta", "F1", "precision", "recall", f"F1, {SAME}")
    return Grid("Table 2: what the prior does", head, tuple(body), words=3)


def published_table_2() -> Grid:
    body = tuple(
        (kind, method, NOTHING if eta is None else f"{eta:g}", *(format_spread(Spread(*pair)) for pair in pairs))
        for (kind, method, eta), pairs in published.TABLE_2.items()
    )
    head = ("type", "method", "eta", "F1", "precision", "recall")
    return Grid("Table 2 of the paper, on its own sequences", head, body, words=3)


def find_eta(row: Row) -> float | None:
    """The factor of the mean prior, or of the bound; None for the true priors."""
    if row.method == "nnpu-true":
        return None
    return parse_eta(row.variant if row.method == "nnpu-const" else row.bound)


def name_source(types: Iterable[str]) -> str:
    """What the paper's figures are called: of the same sequences, or of others.

    >>> name_source(["Brain", "Cochlea"]), name_source(["brain"])
    ('paper', 'paper, other data')
    """
    return SAME if set(types) <= set(published.TYPES) else OTHER


def _overall(rows: list[Row], types: tuple[str, ...]) -> float:
    return mean_over_types(collect_by_type((row.type, require(row.f1)) for row in rows), types) or 0.0


def _line_1(name: str, rows: list[Row], types: tuple[str, ...]) -> tuple[str, ...]:
    scores, deltas = (collect_by_type((row.type, getattr(row, part)) for row in rows) for part in ("f1", "delta"))
    spreads = [format_spread(Spread.of(scores[kind])) if kind in scores else NOTHING for kind in types]
    overall, delta = mean_over_types(scores, types), mean_over_types(deltas, types)
    known = published.TABLE_1.get("max-sp" if name == CEILING else name)
    shown = NOTHING if name == CEILING else format_figure(delta, "+")
    return name, *spreads, format_figure(overall), shown, format_figure(known and known[1]), str(len(rows))


def _line_2(key: tuple[str, str, float | None], rows: list[Row]) -> tuple[str, ...]:
    kind, method, eta = key
    spreads = [format_spread(Spread.of([getattr(row, part) for row in rows])) for part in ("f1", "precision", "recall")]
    known = published.TABLE_2.get(key)
    paper = NOTHING if known is None else format_spread(Spread(*known[0]))
    return kind, method, NOTHING if eta is None else f"{eta:g}", *spreads, paper


def _write(name: str, grids: list[Grid], out: Path) -> list[Path]:
    paths = [out / f"{name}{suffix}" for suffix in (".md", ".tex", ".csv")]
    write_text(paths[0], "\n".join(layout_markdown(grid.title, grid.head, grid.rows, grid.words) for grid in grids))
    write_text(paths[1], "\n".join(map(to_latex, grids)))
    write_text(paths[2], to_csv(grids[0]))
    return paths


def to_latex(grid: Grid) -> str:
    r"""A table as LaTeX, which needs \usepackage{booktabs}."""
    columns = "l" * grid.words + "r" * (len(grid.head) - grid.words)
    head, *body = (" & ".join(map(escape_latex, row)) + r" \\" for row in (grid.head, *grid.rows))
    lines = [rf"% {grid.title}", rf"\begin{{tabular}}{{{columns}}}", r"\toprule", head, r"\midrule", *body]
    return "\n".join([*lines, r"\bottomrule", r"\end{tabular}"]) + "\n"


def to_csv(grid: Grid) -> str:
    """The same entries, a mean and its deviation in separate columns."""
    stream = StringIO()
    writer = csv.writer(stream, lineterminator="\n")
    spread = [any(" ± " in row[place] for row in grid.rows) for place in range(len(grid.head))]
    pairs = list(zip(grid.head, spread, strict=True))
    writer.writerow([name for head, two in pairs for name in ((head, f"{head} deviation") if two else (head,))])
    for row in grid.rows:
        entries = [part for entry, two in zip(row, spread, strict=True) for part in _split(entry, two)]
        writer.writerow("" if entry == NOTHING else entry for entry in entries)
    return stream.getvalue()


def _split(entry: str, two: bool) -> list[str]:
    parts = entry.split(" ± ")
    return [*parts, ""][:2] if two else [entry]
