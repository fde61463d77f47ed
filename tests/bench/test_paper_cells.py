"""What make cells keeps of the paper's cells: rows and curves."""

import importlib.util
import re
import sys
import tomllib
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest

from fewpoint.bench.cells import Cell, plan_cells
from fewpoint.bench.records import Course
from fewpoint.bench.results import Row
from fewpoint.bench.sequences import find_sequences
from fewpoint.bench.suite import Variant, read_suite
from fewpoint.core import EpochRecord, PriorHistory

CELLS = Path(__file__).parents[2] / "benchmarks" / "cells"


@pytest.fixture(scope="module")
def program() -> ModuleType:
    spec = importlib.util.spec_from_file_location("paper_cells", CELLS / "run.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


@pytest.fixture
def make_cell(dataset):
    def make(method: str, bound: str = "eta", changes: tuple = ()) -> Cell:
        sequence = find_sequences(dataset.root)[0]
        return Cell(method, sequence, Variant("plain", changes), "2dlocs", bound, 0)

    return make


def make_row(cell: Cell, **figures) -> Row:
    known = {"method": cell.method, "type": "ball", "sequence": "first", "seed": 0}
    known |= {"variant": "plain", "points": "2dlocs", "bound": cell.bound}
    scores = {"f1": 0.8, "precision": 0.75, "recall": 0.9, "max_sp": 0.95, "delta": -0.15}
    return Row(**known, **scores, **figures)


def test_one_training_gives_a_row_with_tracking_and_one_without(program, make_cell):
    cell = make_cell("ssnnpu+ksptrack", "eta-1.6", (("network.base_width", 16),))
    untracked = {"f1_untracked": 0.7, "precision_untracked": 0.65, "recall_untracked": 0.85}
    rows = program.make_rows(cell, make_row(cell, stop_epoch=81, **untracked), "abc1234")
    assert [(row.method, row.f1, row.selected_epoch) for row in rows] == [
        ("ssnnpu+ksptrack", 0.8, 81),
        ("ssnnpu", 0.7, 81),
    ]
    assert {row.commit for row in rows} == {"abc1234"}
    assert program.name_row(rows[1]) == ("ssnnpu", "first", "ball", "0", "96", "16", "1.6", "abc1234")


@pytest.mark.parametrize(
    ("method", "changes"), [("half-disc", ()), ("nnpu-const", (("given_prior.factor", 1.2),)), ("ssnnpu+ksptrack", ())]
)
def test_a_cell_is_known_by_the_row_that_it_will_have(program, make_cell, method, changes):
    cell = make_cell(method, changes=changes)
    untracked = {"f1_untracked": 0.7, "precision_untracked": 0.65, "recall_untracked": 0.85}
    rows = program.make_rows(cell, make_row(cell, **(untracked if method != "half-disc" else {})), "abc1234")
    assert program.name_row(rows[-1]) == program.name_cell(cell, "abc1234")
    assert program.name_cell(cell, "abc1234") != program.name_cell(cell, "abc1235")


def test_curves_have_a_line_per_epoch_and_leave_out_what_was_not_looked_at(program):
    records = tuple(EpochRecord(epoch, "warm-up", *[0.0] * 6, 0.25, 0.3) for epoch in (1, 2))
    rows = np.array([[0.1, 0.3], [0.2, 0.2]], np.float32)
    history = PriorHistory(records, rows, np.full((2, 2), np.nan, np.float32), rows)
    lines = list(program.curve_rows(Course.of(history, [0.05, None], [0.6, None])))
    assert lines[0] == ("1", "warm-up", "0.6", "0.05", "0.2", "", "0.2", "0.3", "0.25")
    assert lines[1][2:4] == ("", "")
    assert len(lines) == 2


@pytest.mark.parametrize("path", sorted(CELLS.glob("*.toml")), ids=lambda path: path.stem)
def test_a_suite_names_methods_and_settings_that_there_are(path, dataset, monkeypatch):
    monkeypatch.setenv("FEWPOINT_DATA", str(dataset.root))
    text = path.read_text(encoding="utf-8")
    listed = tomllib.loads(text)["sequences"]
    own = dataset.folder / path.name
    own.write_text(re.sub(r"sequences = \[.*?\]\n", "", text, flags=re.DOTALL), encoding="utf-8")
    suite = read_suite(own)
    keys = {cell.key for cell in plan_cells(suite, suite.methods)}
    assert len(set(listed)) == len(listed) and keys


@pytest.mark.nightly
def test_cells_are_run_once_and_their_rows_kept(program, dataset, tmp_path, monkeypatch, capsys):
    suite = dataset.write_suite('sequences = ["ball/first"]')
    monkeypatch.setattr(program, "__file__", str(suite))
    given = ("abc1234", tmp_path / "build", tmp_path / "results", 1)
    program.main(*given)
    kept = (tmp_path / "results" / "paper.csv").read_text(encoding="utf-8")
    assert [line.split(",")[0] for line in kept.splitlines()] == ["method", "all-positive", "half-disc"]
    assert "2 of 2 cells are missing" in capsys.readouterr().out
    # Elsewhere, where nothing was built, rows alone say what is done.
    program.main("abc1234", tmp_path / "elsewhere", tmp_path / "results", 1)
    assert "0 of 2 cells are missing" in capsys.readouterr().out
    assert (tmp_path / "results" / "paper.csv").read_text(encoding="utf-8") == kept
