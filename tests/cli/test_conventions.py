"""What every command has in common: help, how much it says, JSON by a schema, exit codes, pipes, completion."""

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import jsonschema
import numpy as np
import pytest

from cli.test_commands import WITHOUT_TORCH
from commands import COMMAND, launch
from fewpoint.cli import main
from fewpoint.cli.main import app

PAGE = Path(__file__).resolve().parents[2] / "docs" / "reference" / "conventions.md"


def list_commands() -> list[tuple[str, ...]]:
    """Every command, and those of groups with the name of their group before."""
    own = [(each.name,) for each in app.registered_commands]
    groups = [
        (group.name, each.name) for group in app.registered_groups for each in group.typer_instance.registered_commands
    ]
    return [*own, *groups]


@pytest.fixture(scope="module")
def schema() -> dict:
    text = (Path(main.__file__).parent / "output.schema.json").read_text(encoding="utf-8")
    jsonschema.Draft202012Validator.check_schema(json.loads(text))
    return json.loads(text)


@pytest.mark.parametrize("command", list_commands(), ids=" ".join)
def test_every_command_has_short_help_and_says_more_or_less(call, command):
    short, long = call(*command, "-h"), call(*command, "--help")
    assert (short.code, short.out) == (0, long.out)
    for option in ("-q, --quiet", "-v, --verbose", "-h, --help"):
        assert option in short.out


def test_quiet_says_nothing_and_verbose_logs_and_shows_where_errors_arose(case, call, monkeypatch):
    monkeypatch.setattr("fewpoint.runs.runner.write_report", lambda *given: None)
    quiet = call(*case.segment("--quiet"))
    assert (quiet.code, quiet.out) == (0, "")
    assert [line for line in quiet.err.splitlines() if not line.startswith("warning: ")] == []
    loud = call(*case.segment("-v", "--out", case.folder / "second"))
    assert loud.code == 0
    assert re.search(r"fewpoint\.runs\.jobs: read .*frames: 6 frames of 48 x 40, 6 points on one object", loud.err)
    assert "fewpoint.runs.jobs: learning took" in loud.err
    failed = call(*case.segment("-vv", "--points", case.folder / "nowhere.csv"))
    assert failed.code == 1
    assert "Traceback" in failed.err and failed.err.splitlines()[-1].startswith("fewpoint: ")
    both = call(*case.segment("-q", "-v"))
    assert (both.code, both.err.count("\n")) == (2, 1)


def test_json_is_what_its_schema_says_and_names_masks_and_report(case, call, schema, tmp_path):
    validator = jsonschema.Draft202012Validator(schema)
    document = json.loads(call(*case.segment("--json", "--format", "nifti", "--format", "png")).out)
    assert document["masks"] == [str(case.out / "masks.nii.gz"), str(case.out / "masks")]
    assert document["report"] == str(case.out / "report.html")
    assert all(Path(path).exists() for path in (*document["masks"], document["report"]))
    np.save(tmp_path / "truth.npy", np.ones((6, 48, 40), np.uint8))
    commands = (
        ["convert", case.out, "--format", "coco", "--out", tmp_path / "other"],
        ["collect", case.out, "--layout", "coco", "--out", tmp_path / "study"],
        ["evaluate", case.out, tmp_path / "truth.npy"],
        ["evaluate", case.out, tmp_path / "truth.npy", "--objects"],
        ["recut", case.out, "--threshold", "0.4"],
        ["info"],
        ["models", "list"],
    )
    documents = [document, *(json.loads(call(*command, "--json").out) for command in commands)]
    for each in documents:
        validator.validate(each)
    assert {each["format"] for each in documents} == {
        f"fewpoint {name}" for name in ("segment", "convert", "collect", "evaluate", "recut", "info", "models")
    }
    with pytest.raises(jsonschema.ValidationError):
        validator.validate({**document, "masks": None})
    assert json.loads(call("info", "--schema").out) == schema


def test_a_reader_that_goes_away_ends_a_command_quietly():
    with subprocess.Popen([*COMMAND, "info"], stdout=subprocess.PIPE, stderr=subprocess.PIPE) as command:
        command.stdout.close()
        assert command.stderr.read() == b""
        assert command.wait(60) == main.PIPE_CLOSED


@pytest.mark.parametrize("command", ["segment", "batch", "annotate"])
def test_a_setting_that_there_is_not_is_told_before_torch_is_loaded(case, command):
    given = {
        "segment": ["segment", case.frames, "--points", case.points, "--out", case.out],
        "batch": ["batch", case.folder, "--out", case.out],
        "annotate": ["annotate", "--no-browser"],
    }[command]
    (case.folder / "frames.csv").write_bytes(case.points.read_bytes())
    done = subprocess.run(
        [sys.executable, "-c", WITHOUT_TORCH, *map(str, given), "--set", "training.bach=3"],
        text=True,
        capture_output=True,
        timeout=180,
        check=False,
    )
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr == "fewpoint: there is no setting training.bach here; did you mean training.batch?\n"
    assert not case.out.exists()


def test_the_shell_can_complete_commands_and_options():
    def complete(words: str, place: int) -> list[str]:
        asked = {"_FEWPOINT_COMPLETE": "complete_bash", "COMP_WORDS": words, "COMP_CWORD": str(place)}
        return launch(env={**os.environ, **asked}).out.split()

    assert complete("fewpoint ba", 1) == ["batch", "batch-status"]
    assert complete("fewpoint segment --larg", 2) == ["--largest-box"]
    assert complete("fewpoint segment x --device c", 4) == ["cpu", "cuda"]
    script = launch(env={**os.environ, "_FEWPOINT_COMPLETE": "source_bash"})
    assert "complete -o default -F _fewpoint_completion fewpoint" in script.out


def test_exit_codes_and_variables_are_on_their_page():
    text = PAGE.read_text(encoding="utf-8")
    for code in (0, main.FAILED, main.MISUSED, main.INTERRUPTED, main.PIPE_CLOSED):
        assert f"| {code} |" in text
    sources = (Path(main.__file__).parents[1]).rglob("*.py")
    used = {
        name for path in sources for name in re.findall(r"\"(FEWPOINT_[A-Z_]+)\"", path.read_text(encoding="utf-8"))
    }
    assert used and {name for name in used if f"`{name}`" not in text} == set()
