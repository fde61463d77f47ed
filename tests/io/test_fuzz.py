"""Readers meet damaged files with one line: no traceback, no hang, no death, nothing from outside, nothing printed."""

import os
import subprocess
import sys
from pathlib import Path

from corpus import save_samples

import fewpoint.errors
from fuzz import try_file

INPUTS, SECONDS, SEED = 200, 120, 11
SOURCE = Path(fewpoint.errors.__file__).resolve().parents[1]
FUZZ = Path(__file__).parents[1] / "fuzz" / "fuzz.py"


def test_damaged_files_are_refused_in_one_line_within_bounds():
    """A short part of `make fuzz`, and a shorter one on a busy machine."""
    bounds = ["--inputs", str(INPUTS), "--seconds", str(SECONDS)]
    command = [sys.executable, str(FUZZ), *bounds, "--seed", str(SEED)]
    environment = {**os.environ, "PYTHONPATH": str(SOURCE), "FEWPOINT_DATA": ""}
    done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=600, check=False)
    *failures, last = done.stdout.splitlines()
    assert failures == []
    assert (done.returncode, done.stderr) == (0, "")
    counts = dict(zip(last.split()[::2], last.split()[1::2], strict=True))
    assert int(counts["read"]) > 5 and int(counts["refused"]) > 20


def test_every_sample_is_read_whole(tmp_path, monkeypatch):
    """Damage to a file that is refused as it is would find nothing."""
    monkeypatch.delenv("FEWPOINT_DATA", raising=False)  # where a suite looks for its sequences
    save_samples(tmp_path)
    for path in sorted(tmp_path.rglob("*")):
        if path.is_file() and path.name != ".lock":
            assert try_file(path) == "read", path.relative_to(tmp_path)
