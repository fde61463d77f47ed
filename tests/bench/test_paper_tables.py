"""The paper's tables, of made-up results."""

import csv
from io import StringIO

import pytest

from fewpoint.bench import published
from fewpoint.bench.paper_tables import (
    build_table_1,
    build_table_2,
    find_eta,
    published_table_1,
    published_table_2,
    to_csv,
    to_latex,
    write_table_1,
)
from fewpoint.bench.results import Row


def make_row(method: str, f1: float, kind: str = "Brain", **changes) -> Row:
    known = {"sequence": "one", "seed": 0, "variant": "plain", "points": "2dlocs", "bound": "eta", "max_sp": 0.9}
    figures = {"precision": f1, "recall": f1, **known, **changes}
    return Row(method=method, type=kind, f1=f1, delta=f1 - 0.9, **figures)


ROWS = (
    make_row("eel", 0.2),
    make_row("eel", 0.4, sequence="two"),
    make_row("ssnnpu+ksptrack", 0.8, f1_untracked=0.7),
    make_row("fast", 0.5),
)


def test_ours_comes_first_and_the_others_from_best_to_worst_with_ssnnpu_from_the_same_training():
    grid = build_table_1(ROWS, "fast")
    assert [row[0] for row in grid.rows] == ["Max SP", "fast", "ssnnpu+ksptrack", "ssnnpu", "eel"]
    assert grid.head == ("F1", "Brain", "All", "Delta", "paper", "cells")
    assert grid.rows[4] == ("eel", "0.300 ± 0.141", "0.300", "-0.600", "0.460", "2")
    assert grid.rows[3][1:3] == ("0.700", "0.700")
    assert grid.rows[0] == ("Max SP", "0.900 ± 0.000", "0.900", "–", "0.930", "2")
    assert grid.rows[1][4] == "–"


def test_the_paper_s_figures_are_marked_where_the_sequences_are_others():
    assert build_table_1([make_row("eel", 0.2, "polyp")], "fast").head[4] == "paper, other data"


def test_all_is_the_mean_over_types():
    rows = (*ROWS[:2], make_row("eel", 0.9, "Cochlea"))
    assert build_table_1(rows, "fast").rows[-1][3] == "0.600"


def test_table_2_has_a_line_for_each_type_method_and_eta():
    rows = (
        make_row("nnpu-const", 0.5, variant="eta-0.8"),
        make_row("nnpu-const", 0.6, variant="eta-1.2"),
        make_row("ssnnpu+ksptrack", 0.7, bound="eta-1.8"),
        make_row("nnpu-true", 0.8),
        make_row("fast", 0.4, "polyp"),
    )
    grid = build_table_2(rows)
    assert [row[:4] for row in grid.rows] == [
        ("Brain", "nnpu-const", "0.8", "0.500"),
        ("Brain", "nnpu-const", "1.2", "0.600"),
        ("Brain", "nnpu-true", "–", "0.800"),
        ("Brain", "ssnnpu+ksptrack", "1.8", "0.700"),
        ("polyp", "fast", "1.4", "0.400"),
    ]
    assert [row[-1] for row in grid.rows] == ["0.790 ± 0.090", "0.720 ± 0.090", "0.800 ± 0.090", "0.760 ± 0.110", "–"]


def test_eta_is_that_of_the_prior_or_of_the_bound():
    assert find_eta(make_row("nnpu-const", 0.5, variant="eta-1.0")) == 1.0
    assert find_eta(make_row("fast", 0.5, bound="eta-1.6")) == 1.6
    assert find_eta(make_row("nnpu-true", 0.5)) is None


def test_published_figures_agree_with_themselves():
    """All of Table 1 is the mean over types, to the rounding of two digits; Table 2 repeats its lines at 1.4."""
    for pairs, overall, _ in published.TABLE_1.values():
        assert sum(mean for mean, _ in pairs) / 4 == pytest.approx(overall, abs=0.011)
    for kind, pair in zip(published.TYPES, published.TABLE_1["ssnnpu+ksptrack"][0], strict=True):
        assert published.TABLE_2[kind, "ssnnpu+ksptrack", 1.4][0] == pair
    assert len(published.TABLE_2) == 36
    assert len(published_table_1().rows) == 8 and len(published_table_2().rows) == 36


def test_csv_has_mean_and_deviation_apart_and_latex_every_line():
    grid = build_table_1(ROWS, "fast")
    head, *rows = csv.reader(StringIO(to_csv(grid)))
    assert head == ["F1", "Brain", "Brain deviation", "All", "Delta", "paper", "cells"]
    assert rows[-1] == ["eel", "0.300", "0.141", "0.300", "-0.600", "0.460", "2"]
    assert rows[1][2] == ""
    assert to_latex(grid).count(r" \\") == 6 and r"$\pm$" in to_latex(grid)


def test_three_files_are_written(tmp_path):
    paths = write_table_1(ROWS, "fast", tmp_path)
    assert [path.name for path in paths] == ["table1.md", "table1.tex", "table1.csv"]
    text = paths[0].read_text(encoding="utf-8")
    assert "### Table 1: F1 by method and type" in text and "### Table 1 of the paper" in text
