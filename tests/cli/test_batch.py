"""`fewpoint batch` and `fewpoint batch-status` as a person calls them."""

import csv
import json
import re
import subprocess
import sys
from pathlib import Path

import jsonschema
import numpy as np
import pytest

from batch import pretend
from batch.conftest import TESTS
from batch.studies import Study
from cli.test_commands import WITHOUT_TORCH
from fewpoint.batch import checks
from fewpoint.batch import run as batch_run
from fewpoint.batch.manifest import COLUMNS
from fewpoint.io.masks import read_masks
from fewpoint.runs.jobs import read_job

HEADER = "name,input,points,max_fraction"
OPTIONS = ("--preset", "fast", "--device", "cpu")


@pytest.fixture
def study(tmp_path) -> Study:
    assert TESTS
    return Study.make(tmp_path, 2)


@pytest.fixture
def without_reports(monkeypatch):
    monkeypatch.setattr(batch_run, "WORK", pretend.WITHOUT_REPORT)


def arguments(study: Study, *extra: object) -> list[object]:
    return ["batch", study.manifest, "--out", study.out.path, *OPTIONS, "--config", study.folder / "tiny.toml", *extra]


@pytest.mark.nightly
def test_a_batch_leaves_what_segment_would_and_says_where_to_look(study, call):
    outcome = call(*arguments(study, "--jobs", "2"))
    assert outcome.code == 0, outcome.err
    lines = outcome.out.splitlines()
    assert lines[0] == "2 of 2 finished, 0 of them before"
    assert lines[1].startswith("review first: case") and ", health 0." in lines[1]
    assert lines[-2:] == [f"summary: {study.out.summary}", f"index:   {study.out.index}"]
    assert "[2/2] case" in outcome.err
    alone = study.folder / "alone"
    segmented = call(
        *("segment", study.folder / "p1" / "frames", "--points", study.folder / "p1" / "points.csv", "--out", alone),
        *(*OPTIONS, "--config", study.folder / "tiny.toml", "--max-fraction", "0.3"),
    )
    assert segmented.code == 0
    assert np.array_equal(read_masks(study.out.run("case1")), read_masks(alone))
    assert {path.name for path in study.out.run("case1").iterdir()} == {path.name for path in alone.iterdir()}
    with open(study.out.summary, newline="", encoding="utf-8") as stream:
        row = list(csv.DictReader(stream))[1]
    health = json.loads((alone / "summary.json").read_text(encoding="utf-8"))["health"]
    assert {name: row[f"health_{name}"] for name in health} == {
        name: "" if value is None else str(value) for name, value in health.items()
    }
    again = call(*arguments(study))
    assert again.out.splitlines()[0] == "2 of 2 finished, 2 of them before"
    schema = json.loads(call("info", "--schema").out)
    for command in (arguments(study, "--json"), ["batch-status", study.out.path, "--json"]):
        jsonschema.validate(json.loads(call(*command).out), schema)


@pytest.mark.nightly
def test_a_setting_by_its_old_name_is_one_line_and_breaks_no_run(study, call, without_reports):
    study.write("case1,p1/frames,p1/points.csv,0.3")
    outcome = call(*arguments(study, "--set", "refinement.taper=0.5"))
    assert outcome.code == 0, outcome.err
    line = "fewpoint: warning: the setting refinement.taper is now called rounds.taper; use that name"
    assert [each for each in outcome.err.splitlines() if "warning" in each] == [line]
    manifest = json.loads((study.out.run("case1") / "manifest.json").read_text(encoding="utf-8"))
    assert manifest["settings"]["rounds"]["taper"] == 0.5


def test_every_bad_row_is_a_line_and_nothing_starts(study, call):
    study.write("case0,p0/frames,p0/points.csv,0.3", "gone,p9/frames,p0/points.csv,0.3", "bare,p1/frames,,0.3")
    outcome = call(*arguments(study))
    assert outcome.code == 1
    first, second, last = outcome.err.splitlines()
    assert first.startswith("line 3, gone: ") and "p9" in first
    assert second.startswith("line 4, bare: points on the object are needed")
    assert last == ("fewpoint: 2 of 3 rows cannot be run, nothing was started; correct them, or give --skip-bad")
    assert {path.name for path in study.out.path.iterdir()} - {".lock"} == {"batch.json", "checks.json"}


def test_with_skip_bad_the_others_are_run_and_the_status_tells_all(study, call, monkeypatch):
    monkeypatch.setattr(batch_run, "WORK", pretend.WORK)
    study.write("case0,p0/frames,p0/points.csv,0.3", "gone,p9/frames,p0/points.csv,0.3")
    outcome = call(*arguments(study, "--skip-bad"))
    assert outcome.code == 0 and "line 3, gone: " in outcome.err
    status = call("batch-status", study.out.path)
    assert status.code == 0
    assert status.out.startswith("finished: 1 finished, 1 bad, of 2; last update ")
    assert json.loads(call("batch-status", study.out.path, "--json").out)["counts"] == {"finished": 1, "bad": 1}


def test_a_failed_item_is_named_with_its_log_and_the_exit_code_is_1(study, call, monkeypatch):
    monkeypatch.setattr(batch_run, "WORK", pretend.WORK)
    (study.folder / "p0" / "wish.txt").write_text("die", encoding="utf-8")
    outcome = call(*arguments(study, "--retries", "1"))
    assert outcome.code == 1
    assert "case0: attempt 1 failed, tried again: the worker was killed by SIGKILL" in outcome.err
    assert outcome.err.splitlines()[-1] == (
        f"fewpoint: failed: case0; everything else is written. The reason is in {study.out.log('case0')}; "
        "run the same command to try again"
    )
    assert "1 of 2 finished" in outcome.out
    assert "  case0: failed" in call("batch-status", study.out.path).out.splitlines()


@pytest.mark.parametrize(
    ("extra", "code", "words"),
    [
        (["--jobs", "0"], 2, "--jobs"),
        (["--gpus-per-job", "2"], 2, "--gpus-per-job"),
        (["--engine", "cloud"], 2, "--engine"),
        (["--address", "head:6379"], 2, "give --engine ray too"),
        (["--engine", "ray", "--address", "127.0.0.1:1"], 1, "no Ray cluster answers"),
        (["--set", "training.bach=2"], 1, "did you mean training.batch?"),
        (["--method", "ksptrack"], 2, "--method or --preset, not both"),
    ],
)
def test_a_wrong_call_is_refused_before_anything_is_written(study, call, extra, code, words):
    outcome = call(*arguments(study, *extra))
    assert outcome.code == code
    assert words in outcome.err.splitlines()[-1]
    assert not study.out.path.exists()


def test_the_page_lists_every_column_and_only_options_that_there_are(call):
    text = (Path(TESTS).parent / "docs" / "how-to" / "batch.md").read_text(encoding="utf-8")
    text = text.replace("\\[", "[")  # else two brackets in a row are a link
    assert dict(re.findall(r"^\| `([a-z_]+)` \| (.*) \|$", text, re.MULTILINE)) == COLUMNS
    known = call("batch", "--help").out
    commands = [line for line in text.splitlines() if line.startswith("fewpoint batch ")]
    assert len(commands) == 5
    for option in re.findall(r"--[a-z-]+", " ".join(commands)):
        assert option in known, option


@pytest.mark.nightly
def test_rows_start_from_the_networks_of_the_first_or_of_another_run(study, call, without_reports):
    outcome = call(*arguments(study, "--warm-start", "previous"))
    assert outcome.code == 0, outcome.err
    assert "the others start from the networks of case0" in outcome.err
    other = Study.make(study.folder / "other", 1)
    outcome = call(*arguments(other, "--warm-start", study.out.run("case0")))
    assert outcome.code == 0, outcome.err
    epochs = [
        json.loads((each / "summary.json").read_text())["epochs"]
        for each in (study.out.run("case0"), study.out.run("case1"), other.out.run("case0"))
    ]
    assert epochs[1] == epochs[2] < epochs[0]


def test_a_start_without_networks_is_refused_before_anything_is_written(study, call):
    outcome = call(*arguments(study, "--warm-start", study.folder / "p0"))
    assert outcome.code == 1 and outcome.err.count("\n") == 1 and "must be a finished run" in outcome.err
    assert not study.out.path.exists()


def test_help_does_not_import_torch():
    done = subprocess.run(
        [sys.executable, "-c", WITHOUT_TORCH, "batch", "--help"],
        text=True,
        capture_output=True,
        timeout=180,
        check=False,
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert all(option in done.stdout for option in ("--engine", "--gpus-per-job", "--retries", "--skip-bad"))


def test_a_dry_run_says_what_would_happen_and_starts_nothing(study, call, monkeypatch):
    monkeypatch.setattr(batch_run, "run_jobs", None)
    outcome = call(*arguments(study, "--dry-run"))
    assert outcome.code == 0
    frames = [study.folder / f"p{number}" / "frames" for number in (0, 1)]
    assert outcome.out.splitlines() == [
        f"run       case0  {frames[0]}",
        f"run       case1  {frames[1]}",
        "run 2; 0 bad rows; nothing was started",
    ]
    assert {path.name for path in study.out.path.iterdir()} - {".lock"} == {"batch.json", "checks.json"}
    document = json.loads(call(*arguments(study, "--dry-run", "--json")).out)
    assert [(row["name"], row["action"]) for row in document["rows"]] == [("case0", "run"), ("case1", "run")]
    jsonschema.validate(document, json.loads(call("info", "--schema").out))


def test_a_check_is_remembered_after_a_refused_start(study, call, monkeypatch):
    study.write("case0,p0/frames,p0/points.csv,0.3", "case1,p9/frames,p1/points.csv,0.3")
    refused = call(*arguments(study))
    assert (refused.code, refused.err.splitlines()[-1].startswith("fewpoint: 1 of 2 rows cannot be run")) == (1, True)
    study.write("case0,p0/frames,p0/points.csv,0.3", "case1,p1/frames,p1/points.csv,0.3")
    read = []
    monkeypatch.setattr(checks, "read_job", lambda job: read.append(job.name) or read_job(job))
    assert call(*arguments(study, "--dry-run")).code == 0
    assert read == ["case1"]


def test_options_hold_for_all_rows_that_do_not_say_otherwise(study, call):
    study.write("case0,p0/frames,p0/points.csv,,", "case1,p1/frames,p1/points.csv,0.25,9", header=HEADER + ",seed")
    options = ["--max-fraction", "0.4", "--seed", "3", "--size", "1.2", "--axis", "auto"]
    assert call(*arguments(study, "--dry-run", *options)).code == 0
    kept = json.loads(study.out.checks.read_text(encoding="utf-8"))
    told = {name: [kept[name]["identity"][part] for part in ("bound", "seed")] for name in kept}
    assert told == {"case0": ["0.4", 3], "case1": ["0.25", 9]}
    assert "none" not in {each["identity"]["words"] for each in kept.values()}


def test_points_that_look_swapped_are_doubted_while_rows_are_checked(study, call):
    frames = np.zeros((2, 40, 30), np.uint8)
    frames[:, 3:9, 15:25] = np.random.default_rng(0).integers(50, 200, (2, 6, 10))
    np.save(study.folder / "flat.npy", frames)
    (study.folder / "flat.csv").write_text("frame,y,x\n0,20,6\n1,20,6\n")
    study.write("flat,flat.npy,flat.csv,0.3")
    outcome = call(*arguments(study, "--dry-run"))
    assert outcome.code == 0
    assert outcome.err.startswith("warning: flat: x and y may be swapped: 2 of 2 points lie on flat background")
