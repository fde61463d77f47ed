"""`fewpoint bench` as a person calls it."""

import signal
import subprocess
import sys
import time

import pytest

from bench.datasets import Dataset
from cli.test_commands import WITHOUT_TORCH
from commands import start


@pytest.fixture
def dataset(tmp_path, monkeypatch) -> Dataset:
    monkeypatch.delenv("FEWPOINT_DATA", raising=False)
    return Dataset.make(tmp_path)


@pytest.mark.nightly
def test_it_prints_the_tables_and_where_the_rest_is(dataset, call):
    out = dataset.folder / "out"
    outcome = call("bench", dataset.write_suite(), "--out", out, "--jobs", "2")
    assert outcome.code == 0
    lines = outcome.out.splitlines()
    assert lines[0] == "### variant plain, points 2dlocs, bound eta"
    assert [line.split(" | ")[0] for line in lines[4:7]] == ["| Max SP", "| all-positive", "| half-disc"]
    assert lines[-2:] == [f"results: {out / 'results.csv'}", f"report:  {out / 'report.html'}"]
    progress = outcome.err.splitlines()
    assert len(progress) == 9
    assert progress[-1].startswith("[9/9] ") and progress[-1].endswith("(0 running, 0:00 left)")


@pytest.mark.nightly
def test_only_the_methods_asked_for_are_run(dataset, call):
    outcome = call("bench", dataset.write_suite(), "--out", dataset.folder / "out", "--methods", "half-disc")
    assert "| half-disc |" in outcome.out and "all-positive" not in outcome.out


@pytest.mark.nightly
def test_only_the_sequences_asked_for_are_run(dataset, call):
    suite, out = dataset.write_suite(methods=("half-disc",)), dataset.folder / "out"
    assert call("bench", suite, "--out", out, "--only", "ball/first, third").code == 0
    assert len(list(out.glob("cells/*/result.json"))) == len(list(out.glob("ceilings/*.json"))) == 2
    outcome = call("bench", suite, "--out", out, "--only", "fourth")
    assert (outcome.code, outcome.err.count("\n")) == (1, 1)
    assert "no sequence fourth, there are ball/first, ball/second, blob/third" in outcome.err


@pytest.mark.nightly
def test_a_failed_cell_is_named_and_the_exit_code_is_1_after_all_else_is_written(dataset, call):
    dataset.break_frame("ball/second")
    out = dataset.folder / "out"
    outcome = call("bench", dataset.write_suite(methods=("half-disc",)), "--out", out, "--jobs", "2")
    assert outcome.code == 1
    assert "half-disc ball/second (plain, 2dlocs, eta, seed 0): failed: InputError: " in outcome.err
    last = outcome.err.splitlines()[-1]
    assert last.startswith("fewpoint: failed: ") and last.endswith("run the same command to try again")
    assert "Max SP ball/second" in last and "half-disc ball/second" in last
    assert "| half-disc |" in outcome.out
    assert (out / "report.html").exists()


@pytest.mark.parametrize(
    ("arguments", "code", "words"),
    [
        (["missing.toml", "--out", "x"], 1, "readable TOML"),
        (["missing.toml"], 2, "--out"),
        (["missing.toml", "--out", "x", "--jobs", "0"], 2, "--jobs"),
        (["missing.toml", "--out", "x", "--device", "abacus"], 2, "--device"),
    ],
)
def test_a_wrong_call_is_one_line(call, arguments, code, words):
    outcome = call("bench", *arguments)
    assert outcome.code == code
    assert words in outcome.err and outcome.err.count("\n") == 1


def test_help_does_not_import_torch():
    done = subprocess.run(
        [sys.executable, "-c", WITHOUT_TORCH, "bench", "--help"],
        text=True,
        capture_output=True,
        timeout=180,
        check=False,
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert all(option in done.stdout for option in ("--out", "--methods", "--only", "--jobs", "--device"))


@pytest.mark.nightly
def test_ctrl_c_keeps_what_is_finished_and_the_same_command_goes_on(dataset, call):
    out = dataset.folder / "out"
    command = ["bench", str(dataset.write_suite()), "--out", str(out)]
    process = start(*command)
    deadline = time.monotonic() + 120
    while not list(out.glob("cells/*/result.json")):
        assert process.poll() is None and time.monotonic() < deadline
        time.sleep(0.02)
    process.send_signal(signal.SIGINT)
    _, err = process.communicate(timeout=180)
    assert process.returncode == 130
    assert err.splitlines()[-1] == "fewpoint: stopped; run the same command to continue"
    assert "Traceback" not in err
    assert (out / "results.csv").exists() and not (out / "report.html").exists()
    kept = {path: path.stat().st_mtime_ns for path in out.glob("cells/*/result.json")}
    assert 1 <= len(kept) < 6
    assert call(*command).code == 0
    assert {path: path.stat().st_mtime_ns for path in kept} == kept
    assert len(list(out.glob("cells/*/result.json"))) == 6
