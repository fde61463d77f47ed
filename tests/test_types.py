"""The sources are typed: pyright, as pyproject.toml sets it up, finds no error."""

import json
import re
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
NIGHTLY = {"onnx", "onnxruntime", "ray"}  # libraries that the short suite does without


def test_pyright_finds_no_error():
    """The first call on a machine fetches the checker itself, about 20 MB from npm."""
    command = [sys.executable, "-m", "pyright", "--outputjson", "--pythonpath", sys.executable]
    result = subprocess.run(command, capture_output=True, text=True, cwd=ROOT, timeout=600, check=False)
    if not result.stdout.lstrip().startswith("{"):
        pytest.skip(f"pyright could not be fetched or started: {(result.stdout + result.stderr).strip()[-200:]}")
    told = json.loads(result.stdout)["generalDiagnostics"]
    errors = [entry for entry in told if entry["severity"] == "error" and not is_left_out(entry["message"])]
    assert errors == [], f"{len(errors)} errors\n" + "\n".join(map(describe, errors))


def is_left_out(message: str) -> bool:
    """Whether an import is missing that only the nightly tests install."""
    found = re.fullmatch(r'Import "(\w+)[\w.]*" could not be resolved', message.splitlines()[0])
    if found is None or found[1] not in NIGHTLY:
        return False
    spec = find_spec(found[1])
    return spec is None or spec.origin is None  # a folder of tests of that name is no library


def describe(error: dict) -> str:
    """One line as pyright prints it: file, line, what is wrong and the rule."""
    line = error["range"]["start"]["line"] + 1
    return f"{error['file']}:{line}: {' '.join(error['message'].split())} ({error.get('rule', 'syntax')})"
