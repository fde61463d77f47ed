"""Rows of the paper's tables: made of cells, kept in a csv, tuned."""

import pytest

from bench.datasets import Dataset
from bench.test_paper_tables import make_paper_row, make_row
from fewpoint import __version__
from fewpoint.bench.cells import Cell
from fewpoint.bench.paper_rows import COLUMNS, PaperRow, pick_tuned, read_paper_rows, rows_of_cell, write_paper_rows
from fewpoint.bench.sequences import find_sequences
from fewpoint.bench.suite import Variant
from fewpoint.errors import InputError


def test_what_is_written_is_read(tmp_path):
    rows = (make_paper_row("eel", 0.25, size=None, width=None), make_paper_row("ssnnpu", 0.5, selected_epoch=81))
    write_paper_rows(rows, tmp_path / "rows.csv")
    assert read_paper_rows(tmp_path / "rows.csv") == rows
    assert (tmp_path / "rows.csv").read_text(encoding="utf-8").splitlines()[:2] == [
        "method,sequence,type,seed,size,width,factor,commit,f1,precision,recall,delta,selected_epoch",
        "eel,one,Brain,0,,,1.4,abc,0.2500,0.2500,0.2500,-0.6500,",
    ]


@pytest.mark.parametrize("text", ["", "method,f1\neel,0.5\n", ",".join(COLUMNS) + "\neel,a,b,one,,,1.4,c,1,1,1,1,\n"])
def test_another_csv_is_refused_with_the_columns(tmp_path, text):
    path = tmp_path / "rows.csv"
    path.write_text(text + "eel\n" if text.count("\n") else "eel\nx\n", encoding="utf-8")
    with pytest.raises(InputError, match=r"rows must be a csv with the columns method,sequence,.*rows\.csv"):
        read_paper_rows(path)


@pytest.fixture
def sequence(tmp_path):
    return find_sequences(Dataset.make(tmp_path).root)[0]


def test_a_cell_that_tracks_gives_two_rows_of_one_training(sequence):
    changes = (("network.base_width", 16), ("training.max_side", 96))
    cell = Cell("paper", sequence, Variant("narrow", changes), "2dlocs", "eta-1.6", 3)
    scores = {"f1_untracked": 0.5, "precision_untracked": 0.4, "recall_untracked": 0.6}
    tracked, untracked = rows_of_cell(cell, make_row("paper", 0.7, stop_epoch=81, **scores))
    known = ("one", "Brain", 0, 96, 16, 1.6, __version__)
    assert tracked == PaperRow("ssnnpu+ksptrack", *known, 0.7, 0.7, 0.7, 0.7 - 0.9, 81)
    assert untracked == PaperRow("ssnnpu", *known, 0.5, 0.4, 0.6, 0.5 - 0.9, 81)


def test_the_factor_is_that_of_given_shares_if_there_are_any(sequence):
    cell = Cell("nnpu-const", sequence, Variant("eta", (("given_prior.factor", 0.8),)), "2dlocs", "eta", 0)
    (row,) = rows_of_cell(cell, make_row("nnpu-const", 0.7))
    assert (row.method, row.factor) == ("nnpu-const", 0.8)
    (row,) = rows_of_cell(Cell("half-disc", sequence, Variant("plain"), "2dlocs", "eta", 0), make_row("half-disc", 0.7))
    assert (row.size, row.width, row.factor) == (None, None, 1.4)


def test_the_tuned_row_is_the_candidate_with_the_best_mean_over_types():
    """Two sequences of one type do not outweigh one of another: (0.8 + 0.2) / 2 is less than (0.5 + 0.6) / 2."""
    first = [make_paper_row("eel", f1, kind) for f1, kind in ((0.8, "a"), (0.8, "a"), (0.2, "b"))]
    second = [make_paper_row("eel", f1, kind) for f1, kind in ((0.5, "a"), (0.5, "a"), (0.6, "b"))]
    chosen = pick_tuned([first, second])
    assert [row.f1 for row in chosen] == [0.5, 0.5, 0.6] and {row.method for row in chosen} == {"eel (tuned)"}
