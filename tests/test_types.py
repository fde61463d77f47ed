"""The sources are typed: pyright, as pyproject.toml sets it up, finds no error."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]


def test_pyright_finds_no_error():
    """The first call on a machine fetches the checker itself, about 20 MB from npm."""
    command = [sys.executable, "-m", "pyright", "--outputjson", "--pythonpath", sys.executable]
    result = subprocess.run(command, capture_output=True, text=True, cwd=ROOT, timeout=600, check=False)
    if not result.stdout.lstrip().startswith("{"):
        pytest.skip(f"pyright could not be fetched or started: {(result.stdout + result.stderr).strip()[-200:]}")
    errors = [entry for entry in json.loads(result.stdout)["generalDiagnostics"] if entry["severity"] == "error"]
    assert errors == [], f"{len(errors)} errors\n" + "\n".join(map(describe, errors))


def describe(error: dict) -> str:
    """One line as pyright prints it: file, line, what is wrong and the rule."""
    line = error["range"]["start"]["line"] + 1
    return f"{error['file']}:{line}: {' '.join(error['message'].split())} ({error.get('rule', 'syntax')})"
