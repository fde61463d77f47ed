"""`fewpoint reproduce` as a person calls it."""

import shutil
import subprocess
import sys

import pytest

from bench.datasets import Dataset, make_sequence
from bench.test_paper_tables import make_paper_row
from cli.test_commands import WITHOUT_TORCH
from fewpoint.bench.paper_rows import write_paper_rows
from fewpoint.bench.reproduction import TARGETS, Plan
from fewpoint.bench.survey import Extent
from fewpoint.cli.reproduce import TargetName
from synthetic import save_dataset_sequence, save_old_sequence


@pytest.fixture
def dataset(tmp_path, monkeypatch) -> Dataset:
    monkeypatch.setattr(Plan, "table_1", lambda self: self._all("half-disc"))
    made = Dataset.make(tmp_path)
    shutil.rmtree(made.root / "blob")
    return made


@pytest.mark.nightly
def test_it_prints_the_table_and_where_it_lies(dataset, call):
    out = dataset.folder / "out"
    outcome = call("reproduce", "table1", "--data", dataset.root, "--out", out, "--ours", "half-disc", "--jobs", "2")
    assert outcome.code == 0, outcome.err
    assert outcome.out.startswith("### Table 1: F1 by method and type")
    assert outcome.out.splitlines()[-3:] == [str(out / "paper" / f"table1.{kind}") for kind in ("md", "tex", "csv")]


@pytest.mark.nightly
def test_what_is_missing_is_a_line_each_and_the_rest_is_run(dataset, call):
    dataset.break_frame("ball/second")
    out = dataset.folder / "out"
    outcome = call("reproduce", "table1", "--data", dataset.root, "--out", out, "--ours", "half-disc", "--jobs", "2")
    assert outcome.code == 0, outcome.err
    first, second, *_ = outcome.err.splitlines()
    assert first.startswith("fewpoint: left out second: ") and "0002.png" in first
    assert second.startswith("fewpoint: sequences: 1, runs: 1, finished: 0; the others take about a minute with 2")
    assert "| ball" in outcome.out


@pytest.mark.nightly
def test_the_papers_own_layouts_are_run_and_stand_next_to_its_figures(tmp_path, call, monkeypatch):
    """Dataset00 as published, Dataset30 in the older layout; the table then compares type by type."""
    monkeypatch.setattr(Plan, "table_1", lambda self: self._all("half-disc"))
    save_dataset_sequence(make_sequence(0), tmp_path / "data" / "Dataset00")
    save_old_sequence(make_sequence(1), tmp_path / "data" / "Dataset30")
    given = ("--data", tmp_path / "data", "--out", tmp_path / "out", "--ours", "half-disc")
    outcome = call("reproduce", "table1", *given)
    assert outcome.code == 0, outcome.err
    short = [line.partition(" has ")[0] for line in outcome.err.splitlines() if "of the paper's 4 sequences" in line]
    assert short == [f"fewpoint: {kind}" for kind in ("Tweezer", "Cochlea", "Slitlamp", "Brain")]
    assert "Tweezer" in outcome.out and "Brain" in outcome.out
    assert len(list((tmp_path / "out").glob("cells/*/result.json"))) == 2


@pytest.mark.nightly
def test_some_sequences_are_chosen_by_name(dataset, call):
    given = ("--data", dataset.root, "--out", dataset.folder / "out", "--ours", "half-disc")
    outcome = call("reproduce", "table1", *given, "--sequences", "ball/second")
    assert outcome.code == 0, outcome.err
    assert [path.name for path in (dataset.folder / "out" / "cells").glob("*first*")] == []
    refused = call("reproduce", "table1", *given, "--sequences", "third")
    assert refused.code == 1 and "no sequence third, there are ball/first, ball/second" in refused.err


@pytest.mark.nightly
def test_a_quick_look_has_one_sequence_of_each_type(dataset, call):
    given = ("--data", dataset.root, "--out", dataset.folder / "out", "--ours", "half-disc")
    outcome = call("reproduce", "table1", *given, "--quick")
    assert outcome.code == 0, outcome.err
    assert "fewpoint: sequences: 1, runs: 1," in outcome.err


@pytest.mark.nightly
def test_a_failed_run_is_named_after_all_else_is_written(dataset, call, monkeypatch):
    """A frame that breaks after it was checked."""
    monkeypatch.setattr("fewpoint.bench.survey.check_sequence", lambda sequence: Extent(6, (40, 48)))
    dataset.break_frame("ball/second")
    out = dataset.folder / "out"
    outcome = call("reproduce", "table1", "--data", dataset.root, "--out", out, "--ours", "half-disc")
    assert outcome.code == 1
    assert outcome.err.splitlines()[-1].startswith("fewpoint: 2 of the runs failed, first Max SP ball/second")
    assert (out / "paper" / "table1.md").exists()


@pytest.mark.parametrize(
    ("arguments", "code", "words"),
    [
        (["table3"], 2, "table3"),
        (["table1", "--set", "training.batch"], 2, "section.key=value"),
        (["table1", "--ours", "quick"], 1, "no method quick"),
        (["table1", "--methods", "eal"], 1, "no method eal"),
        (["table1", "--seeds", "0,one"], 2, "seeds must be whole numbers from 0"),
    ],
)
def test_a_wrong_call_is_one_line(dataset, call, arguments, code, words):
    outcome = call("reproduce", *arguments, "--data", dataset.root, "--out", dataset.folder / "out")
    assert outcome.code == code
    assert words in outcome.err and outcome.err.count("\n") == 1
    assert not (dataset.folder / "out").exists()


def test_without_sequences_rows_or_phantoms_there_is_nothing_to_make(tmp_path, call):
    outcome = call("reproduce", "table1", "--out", tmp_path / "out")
    assert outcome.code == 2 and "give sequences by --data, or rows of earlier runs by --rows" in outcome.err


def test_tables_are_made_of_rows_alone(tmp_path, call):
    rows = tmp_path / "rows.csv"
    write_paper_rows([make_paper_row("ssnnpu+ksptrack", 0.8), make_paper_row("ssnnpu", 0.7)], rows)
    outcome = call("reproduce", "all", "--rows", rows, "--out", tmp_path / "out")
    assert outcome.code == 0, outcome.err
    assert outcome.out.startswith("### Table 1: F1 by method and type") and "### Table 2" in outcome.out
    names = [f"table{number}.{kind}" for number in (1, 2) for kind in ("md", "tex", "csv")]
    assert outcome.out.splitlines()[-6:] == [str(tmp_path / "out" / name) for name in names]
    refused = call("reproduce", "figure-stopping", "--rows", rows, "--out", tmp_path / "out")
    assert refused.code == 2 and "for figure-stopping give --data, not --rows" in refused.err


@pytest.mark.nightly
def test_a_quick_look_needs_no_data(tmp_path, call, monkeypatch):
    """Two phantoms stand in for it; of a method without learning here."""
    monkeypatch.setattr(Plan, "table_1", lambda self: self._all("half-disc"))
    outcome = call("reproduce", "table1", "--quick", "--out", tmp_path / "out", "--ours", "half-disc")
    assert outcome.code == 0, outcome.err
    assert "fewpoint: sequences: 2, runs: 2," in outcome.err and "| F1 | blob | ring | All |" in outcome.out


def test_targets_are_those_of_the_program():
    assert {*TargetName} == {*TARGETS, "all"}


def test_help_does_not_import_torch():
    command = [sys.executable, "-c", WITHOUT_TORCH, "reproduce", "--help"]
    done = subprocess.run(command, text=True, capture_output=True, timeout=180, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    assert all(
        option in done.stdout
        for option in (
            "--data",
            "--out",
            "--rows",
            "--sequences",
            "--methods",
            "--seeds",
            "--quick",
            "--tuned",
            "--ours",
        )
    )
