"""The paper's tables, of made-up rows."""

import csv
from io import StringIO

import pytest

from fewpoint.bench import published
from fewpoint.bench.paper_rows import PaperRow
from fewpoint.bench.paper_tables import (
    build_scores,
    build_table_1,
    build_table_2,
    choose_rows,
    published_table_1,
    published_table_2,
    to_csv,
    to_latex,
    write_table_1,
)
from fewpoint.bench.results import Row

REFERENCE = "ssnnpu+ksptrack"


def make_row(method: str, f1: float, kind: str = "Brain", **changes) -> Row:
    known = {"sequence": "one", "seed": 0, "variant": "plain", "points": "2dlocs", "bound": "eta", "max_sp": 0.9}
    figures = {"precision": f1, "recall": f1, **known, **changes}
    return Row(method=method, type=kind, f1=f1, delta=f1 - 0.9, **figures)


def make_paper_row(method: str, f1: float, kind: str = "Brain", sequence: str = "one", **changes) -> PaperRow:
    known = {"seed": 0, "size": 96, "width": 32, "factor": 1.4, "commit": "abc", "precision": f1, "recall": f1}
    return PaperRow(method=method, sequence=sequence, type=kind, f1=f1, delta=f1 - 0.9, **{**known, **changes})


ROWS = (
    make_paper_row("eel", 0.2, size=None, width=None),
    make_paper_row("eel", 0.4, sequence="two", size=None, width=None),
    make_paper_row(REFERENCE, 0.8),
    make_paper_row(REFERENCE, 0.6, sequence="two"),
    make_paper_row("ssnnpu", 0.7),
    make_paper_row("fast", 0.5, width=16),
)


def test_ours_comes_first_and_the_others_from_best_to_worst():
    grid = build_table_1(ROWS, "fast")
    assert [row[0] for row in grid.rows] == ["Max SP", "fast", "ssnnpu+ksptrack", "ssnnpu", "eel"]
    assert grid.head[:5] == ("F1", "Brain", "All", "Delta", "paper")
    assert grid.head[5:] == ("against ssnnpu+ksptrack", "95 % interval", "p", "cells")
    assert grid.rows[4][:5] == ("eel", "0.300 ± 0.141", "0.300", "-0.600", "0.460") and grid.rows[4][-1] == "2"
    assert grid.rows[0][:5] == ("Max SP", "0.900 ± 0.000", "0.900", "–", "0.930")
    assert grid.rows[1][4] == "–"


def test_the_caption_says_what_was_run_at_which_size_and_width():
    assert build_table_1(ROWS, "fast").caption == (
        "2 sequences, seeds 0, commits abc. Bound 1.4 times the largest true share. no network: eel; "
        "96 pixels, width 32: ssnnpu+ksptrack, ssnnpu; 96 pixels, width 16: fast."
    )


def test_the_paper_s_figures_are_marked_if_the_sequences_are_others():
    assert build_table_1([make_paper_row("eel", 0.2, "polyp")], "fast").head[4] == "paper, other data"


def test_all_is_the_mean_over_types():
    rows = (*ROWS[:2], make_paper_row("eel", 0.9, "Cochlea", size=None, width=None))
    assert build_table_1(rows, "fast").rows[-1][3] == "0.600"


def test_each_row_is_compared_with_the_paper_s_method_on_the_sequences_of_both():
    """Six sequences, 0.1 to 0.6 lower on each: of 64 ways to give signs two are as lopsided; median 0.35."""
    rows = []
    for number in range(1, 7):
        own = {"sequence": str(number), "kind": "Brain"}
        rows += [make_paper_row(REFERENCE, 0.9, **own), make_paper_row("eel", 0.9 - number / 10, **own)]
    rows.append(make_paper_row("eel", 0.0, sequence="another"))
    _, reference, eel = build_table_1(rows, "fast").rows
    assert reference[-4:-1] == ("–", "–", "–")
    assert eel[-4:] == ("-0.350", "-0.600 to -0.100", "0.031", "6")


def test_seeds_of_a_sequence_are_one_pair_and_few_pairs_have_no_interval():
    rows = [make_paper_row(REFERENCE, f1, seed=seed) for seed, f1 in enumerate((0.5, 0.7))]
    assert build_table_1([*rows, make_paper_row("eel", 0.5)], "fast").rows[-1][-4:-1] == ("-0.100", "–", "1")


def test_a_tuned_row_stands_beside_the_paper_s_own_figure_of_the_method():
    rows = [make_paper_row("eel", 0.2), make_paper_row("eel (tuned)", 0.3)]
    assert [row[:5] for row in build_table_1(rows, "fast").rows[1:]] == [
        ("eel (tuned)", "0.300", "0.300", "-0.600", "0.460"),
        ("eel", "0.200", "0.200", "-0.700", "0.460"),
    ]


def test_table_1_takes_the_largest_network_the_paper_s_bound_and_no_given_shares():
    rows = [
        make_paper_row(REFERENCE, 0.8),
        make_paper_row(REFERENCE, 0.1, width=16),
        make_paper_row(REFERENCE, 0.2, factor=1.8),
        make_paper_row("nnpu-const+ksptrack", 0.3),
    ]
    assert choose_rows(rows) == {REFERENCE: rows[:1]}


def test_precision_and_recall_have_tables_of_their_own():
    rows = [make_paper_row("eel", 0.2, precision=0.25, recall=0.75), make_paper_row("eel", 0.4, "Cochlea", recall=0.5)]
    assert build_scores(rows, "fast", "recall").rows == (("eel", "0.750", "0.500", "0.625"),)
    assert build_scores(rows, "fast", "precision").head == ("precision", "Brain", "Cochlea", "All")


def test_table_2_has_a_line_for_each_type_method_and_eta():
    rows = (
        make_paper_row("nnpu-const+ksptrack", 0.5, factor=0.8),
        make_paper_row("nnpu-const", 0.9, factor=0.8),
        make_paper_row("nnpu-const+ksptrack", 0.6, factor=1.2),
        make_paper_row(REFERENCE, 0.7, factor=1.8),
        make_paper_row(REFERENCE, 0.9, width=64),
        make_paper_row("nnpu-true+ksptrack", 0.8, factor=1.0),
        make_paper_row("fast", 0.4, "polyp", width=16),
    )
    grid = build_table_2(rows, "fast")
    assert [row[:4] for row in grid.rows] == [
        ("Brain", "nnpu-const", "0.8", "0.500"),
        ("Brain", "nnpu-const", "1.2", "0.600"),
        ("Brain", "nnpu-true", "–", "0.800"),
        ("Brain", REFERENCE, "1.8", "0.700"),
        ("polyp", "fast", "1.4", "0.400"),
    ]
    assert [row[-2] for row in grid.rows] == ["0.790 ± 0.090", "0.720 ± 0.090", "0.800 ± 0.090", "0.760 ± 0.110", "–"]
    assert grid.caption == "96 pixels, width 32."


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
    assert head[:6] == ["F1", "Brain", "Brain deviation", "All", "Delta", "paper"]
    assert rows[-1][:6] == ["eel", "0.300", "0.141", "0.300", "-0.600", "0.460"]
    assert rows[1][2] == ""
    assert to_latex(grid).count(r" \\") == 6 and r"$\pm$" in to_latex(grid) and r"95 \% interval" in to_latex(grid)


def test_three_files_are_written(tmp_path):
    paths = write_table_1(ROWS, "fast", tmp_path)
    assert [path.name for path in paths] == ["table1.md", "table1.tex", "table1.csv"]
    text = paths[0].read_text(encoding="utf-8")
    titles = ["F1 by method and type", "precision by method and type", "recall by method and type"]
    assert all(f"### Table 1: {title}" in text for title in titles) and "### Table 1 of the paper" in text
    assert "\n\n2 sequences, seeds 0," in text
