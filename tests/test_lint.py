"""The code is written as ruff wants it."""

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
PACKED = "fewpoint-[0-9]*"  # where a source distribution is put together, by another test at the same time


@pytest.mark.parametrize("check", [["check"], ["format", "--check"]], ids=["check", "format"])
def test_ruff_has_nothing_to_say(check):
    command = [sys.executable, "-m", "ruff", *check, "--no-cache", "--quiet", "--extend-exclude", PACKED, str(ROOT)]
    result = subprocess.run(command, capture_output=True, text=True, check=False)
    assert result.returncode == 0, f"run `make format`, then mend the rest:\n{result.stdout}{result.stderr}"
