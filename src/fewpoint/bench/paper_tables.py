"""Tables 1 and 2 of the paper, from our rows, with the paper's own figures next to them; Markdown, LaTeX and CSV."""

import csv
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from io import StringIO
from pathlib import Path
from statistics import fmean

from fewpoint.bench import published
from fewpoint.bench.paired import compare
from fewpoint.bench.paper_rows import TRACKED, TUNED, PaperRow
from fewpoint.bench.protocols import PAPER_ETA
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
REFERENCE, GIVEN = "ssnnpu+ksptrack", "nnpu-"


@dataclass(frozen=True)
class Grid:
    """A table as text. words: so many first columns hold names. caption: what was run, below the title."""

    title: str
    head: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    words: int = 1
    caption: str = ""


def write_table_1(rows: Sequence[PaperRow], ours: str, out: Path) -> list[Path]:
    """Methods by type: F1 with All, Delta, the paper's All and the paired test; then precision and recall."""
    grids = [build_table_1(rows, ours), *(build_scores(rows, ours, name) for name in ("precision", "recall"))]
    return _write("table1", [*grids, published_table_1()], out)


def write_table_2(rows: Sequence[PaperRow], ours: str, out: Path) -> list[Path]:
    """Type, method and eta: F1, precision and recall with their deviations."""
    return _write("table2", [build_table_2(rows, ours), published_table_2()], out)


def choose_rows(rows: Iterable[PaperRow]) -> dict[str, list[PaperRow]]:
    """Those of Table 1 by method: with the paper's bound, by the largest network, on what the paper's method ran on.

    Those that are given true shares are not in it.
    """
    chosen: dict[str, list[PaperRow]] = {}
    for row in rows:
        if row.factor == PAPER_ETA and not row.method.startswith(GIVEN):
            chosen.setdefault(row.method, []).append(row)
    for method, members in chosen.items():
        largest = max(map(_scale, members))
        chosen[method] = [row for row in members if _scale(row) == largest]
    known = {row.place for row in chosen.get(REFERENCE, [])}
    shared = {method: [row for row in members if row.place in known] for method, members in chosen.items()}
    return {method: members for method, members in shared.items() if members} if known else chosen


def build_table_1(rows: Sequence[PaperRow], ours: str) -> Grid:
    """The ceiling, ours, and the others from the best to the worst, each compared with the paper's method."""
    lines = choose_rows(rows)
    types = _list_types(lines)
    every = [row for members in lines.values() for row in members]
    ceiling = list({row.place: replace(row, f1=row.f1 - row.delta, delta=0.0) for row in every}.values())
    compared = f"against {REFERENCE}"
    head = ("F1", *types, ALL, "Delta", name_source(types), compared, "95 % interval", "p", "cells")
    order = [(CEILING, ceiling), *((name, lines[name]) for name in _rank(lines, ours, types))]
    reference = _by_place(lines.get(REFERENCE, []))
    body = tuple(_line_1(name, members, types, reference) for name, members in order)
    return Grid("Table 1: F1 by method and type", head, body, caption=describe_runs(lines))


def build_scores(rows: Sequence[PaperRow], ours: str, score: str) -> Grid:
    """Precision or recall by method and type, in the order of Table 1."""
    lines = choose_rows(rows)
    types = _list_types(lines)
    body = []
    for name in _rank(lines, ours, types):
        values = collect_by_type((row.type, getattr(row, score)) for row in lines[name])
        body.append((name, *_spreads(values, types), format_figure(mean_over_types(values, types))))
    return Grid(f"Table 1: {score} by method and type", (score, *types, ALL), tuple(body))


def describe_runs(lines: dict[str, list[PaperRow]]) -> str:
    """What was run at which size and width, with which seeds, by which commits.

    >>> row = PaperRow("eel", "a", "ct", 0, 96, 16, 1.4, "abc", 0.5, 0.5, 0.5, -0.4)
    >>> describe_runs({"eel": [row]})
    '1 sequences, seeds 0, commits abc. Bound 1.4 times the largest true share. 96 pixels, width 16: eel.'
    """
    every = [row for members in lines.values() for row in members]
    places, commits = {row.place for row in every}, sorted({row.commit for row in every})
    by_scale: dict[str, list[str]] = {}
    for name, members in lines.items():
        parts = ((members[0].size, "{} pixels"), (members[0].width, "width {}"))
        scale = ", ".join(text.format(value) for value, text in parts if value is not None) or "no network"
        by_scale.setdefault(scale, []).append(name)
    ran = "; ".join(f"{scale}: {', '.join(names)}" for scale, names in by_scale.items())
    seeds = ", ".join(map(str, sorted({row.seed for row in every})))
    bound = f"Bound {PAPER_ETA} times the largest true share."
    return f"{len(places)} sequences, seeds {seeds}, commits {', '.join(commits)}. {bound} {ran}."


def published_table_1() -> Grid:
    body = tuple(
        (name, *(format_spread(Spread(*pair)) for pair in pairs), format_figure(overall), format_figure(delta, "+"))
        for name, (pairs, overall, delta) in published.TABLE_1.items()
    )
    return Grid("Table 1 of the paper, on its own sequences", ("F1", *published.TYPES, ALL, "Delta"), body)


def build_table_2(rows: Sequence[PaperRow], ours: str) -> Grid:
    """One line per type, method and eta, and the paper's F1 if it has that line; of runs with tracking.

    The paper's methods are those of the size and width at which most factors were tried.
    """
    tracked = [row for row in rows if row.method.endswith(TRACKED)]
    chosen = [row for row in tracked if row.method == REFERENCE or row.method.startswith(GIVEN)]
    tried: dict[tuple[int, int], set[tuple[str, float]]] = {}
    for row in chosen:
        tried.setdefault(_scale(row), set()).add((row.method, row.factor))
    scale = max(tried, key=lambda each: (len(tried[each]), each), default=(0, 0))
    groups: dict[tuple[str, str, float | None], list[PaperRow]] = {}
    for row in (*chosen, *(row for row in rows if row.method == ours != REFERENCE)):
        if row.method == ours or _scale(row) == scale:
            groups.setdefault((row.type, _published_name(row.method), find_eta(row)), []).append(row)
    types = tuple(dict.fromkeys(kind for kind, _, _ in groups))
    body = []
    for kind in types:
        own = sorted((key for key in groups if key[0] == kind), key=lambda key: (key[1], key[2] or 0))
        body += [_line_2(key, groups[key]) for key in own]
    head = ("type", "method", "eta", "F1", "precision", "recall", f"F1, {SAME}", "cells")
    caption = f"{scale[1]} pixels, width {scale[0]}." if tried else ""
    return Grid("Table 2: what the prior does", head, tuple(body), words=3, caption=caption)


def published_table_2() -> Grid:
    body = tuple(
        (kind, method, NOTHING if eta is None else f"{eta:g}", *(format_spread(Spread(*pair)) for pair in pairs))
        for (kind, method, eta), pairs in published.TABLE_2.items()
    )
    head = ("type", "method", "eta", "F1", "precision", "recall")
    return Grid("Table 2 of the paper, on its own sequences", head, body, words=3)


def find_eta(row: PaperRow) -> float | None:
    """The factor of the mean prior, or of the bound; None for the true priors."""
    return None if row.method.startswith("nnpu-true") else row.factor


def name_source(types: Iterable[str]) -> str:
    """What the paper's figures are called: of the same sequences, or of others.

    >>> name_source(["Brain", "Cochlea"]), name_source(["brain"])
    ('paper', 'paper, other data')
    """
    return SAME if set(types) <= set(published.TYPES) else OTHER


def _scale(row: PaperRow) -> tuple[int, int]:
    return row.width or 0, row.size or 0


def _published_name(method: str) -> str:
    """As the paper's tables are kept here: nnPU without saying that it tracks, a tuned row as the method."""
    method = method.removesuffix(TUNED)
    return method.removesuffix(TRACKED) if method.startswith(GIVEN) else method


def _list_types(lines: dict[str, list[PaperRow]]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(row.type for members in lines.values() for row in members))


def _rank(lines: dict[str, list[PaperRow]], ours: str, types: tuple[str, ...]) -> list[str]:
    """Ours, then the others from the best to the worst mean over types."""

    def overall(name: str) -> float:
        return mean_over_types(collect_by_type((row.type, row.f1) for row in lines[name]), types) or 0.0

    others = sorted((name for name in lines if name not in (ours, "max-sp")), key=lambda name: -overall(name))
    return [name for name in (ours, *others) if name in lines]


def _by_place(rows: Iterable[PaperRow]) -> dict[str, float]:
    """F1 of each sequence, the mean of its seeds."""
    scores = collect_by_type((row.place, row.f1) for row in rows)
    return {place: fmean(values) for place, values in scores.items()}


def _spreads(values: dict[str, list[float]], types: tuple[str, ...]) -> list[str]:
    return [format_spread(Spread.of(values[kind])) if kind in values else NOTHING for kind in types]


def _line_1(name: str, rows: list[PaperRow], types: tuple[str, ...], reference: dict[str, float]) -> tuple[str, ...]:
    scores, deltas = (collect_by_type((row.type, getattr(row, part)) for row in rows) for part in ("f1", "delta"))
    overall, delta = mean_over_types(scores, types), mean_over_types(deltas, types)
    known = published.TABLE_1.get("max-sp" if name == CEILING else _published_name(name))
    shown = NOTHING if name == CEILING else format_figure(delta, "+")
    return (
        *(name, *_spreads(scores, types), format_figure(overall), shown, format_figure(known and known[1])),
        *(_compare(rows, reference) if name not in (CEILING, REFERENCE) else (NOTHING,) * 3),
        str(len(rows)),
    )


def _compare(rows: list[PaperRow], reference: dict[str, float]) -> tuple[str, str, str]:
    """The median difference over sequences, its interval, and p of Wilcoxon's signed ranks."""
    own = _by_place(rows)
    differences = [own[place] - reference[place] for place in own if place in reference]
    if not differences:
        return NOTHING, NOTHING, NOTHING
    found = compare(differences)
    low, high = (format_figure(value, "+") for value in (found.low, found.high))
    return format_figure(found.median, "+"), NOTHING if found.low is None else f"{low} to {high}", f"{found.p:.2g}"


def _line_2(key: tuple[str, str, float | None], rows: list[PaperRow]) -> tuple[str, ...]:
    kind, method, eta = key
    spreads = [format_spread(Spread.of([getattr(row, part) for row in rows])) for part in ("f1", "precision", "recall")]
    known = published.TABLE_2.get(key)
    paper = NOTHING if known is None else format_spread(Spread(*known[0]))
    return kind, method, NOTHING if eta is None else f"{eta:g}", *spreads, paper, str(len(rows))


def _write(name: str, grids: list[Grid], out: Path) -> list[Path]:
    paths = [out / f"{name}{suffix}" for suffix in (".md", ".tex", ".csv")]
    write_text(paths[0], "\n".join(map(to_markdown, grids)))
    write_text(paths[1], "\n".join(map(to_latex, grids)))
    write_text(paths[2], to_csv(grids[0]))
    return paths


def to_markdown(grid: Grid) -> str:
    text = layout_markdown(grid.title, grid.head, grid.rows, grid.words)
    return text.replace("\n\n", f"\n\n{grid.caption}\n\n", 1) if grid.caption else text


def to_latex(grid: Grid) -> str:
    r"""A table as LaTeX, which needs \usepackage{booktabs}."""
    columns = "l" * grid.words + "r" * (len(grid.head) - grid.words)
    head, *body = (" & ".join(map(escape_latex, row)) + r" \\" for row in (grid.head, *grid.rows))
    caption = [f"% {grid.caption}"] if grid.caption else []
    lines = [rf"% {grid.title}", *caption, rf"\begin{{tabular}}{{{columns}}}", r"\toprule", head, r"\midrule", *body]
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
