"""`fewpoint reproduce` as a person calls it."""

import shutil
import subprocess
import sys

import pytest

from bench.datasets import Dataset
from cli.test_commands import WITHOUT_TORCH
from fewpoint.bench.reproduction import TARGETS, Plan
from fewpoint.cli.reproduce import TargetName


@pytest.fixture
def dataset(tmp_path, monkeypatch) -> Dataset:
    monkeypatch.setattr(Plan, "table_1", lambda self: self._all("half-disc"))
    made = Dataset.make(tmp_path)
    shutil.rmtree(made.root / "blob")
    return made


def test_it_prints_the_table_and_where_it_lies(dataset, call):
    out = dataset.folder / "out"
    outcome = call("reproduce", "table1", "--data", dataset.root, "--out", out, "--ours", "half-disc", "--jobs", "2")
    assert outcome.code == 0, outcome.err
    assert outcome.out.startswith("### Table 1: F1 by method and type")
    assert outcome.out.splitlines()[-3:] == [str(out / "paper" / f"table1.{kind}") for kind in ("md", "tex", "csv")]


def test_a_failed_run_is_named_after_all_else_is_written(dataset, call):
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
    ],
)
def test_a_wrong_call_is_one_line(dataset, call, arguments, code, words):
    outcome = call("reproduce", *arguments, "--data", dataset.root, "--out", dataset.folder / "out")
    assert outcome.code == code
    assert words in outcome.err and outcome.err.count("\n") == 1
    assert not (dataset.folder / "out").exists()


def test_targets_are_those_of_the_program():
    assert {*TargetName} == {*TARGETS, "all"}


def test_help_does_not_import_torch():
    command = [sys.executable, "-c", WITHOUT_TORCH, "reproduce", "--help"]
    done = subprocess.run(command, text=True, capture_output=True, timeout=60, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    assert all(option in done.stdout for option in ("--data", "--out", "--ours", "--jobs", "--device"))
