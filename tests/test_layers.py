"""Imports point down, no method sees the truth, and torch stays where it belongs."""

import subprocess
import sys
from pathlib import Path

import pytest
from importlinter.cli import lint_imports

CONFIGURATION = Path(__file__).resolve().parents[1] / "pyproject.toml"


def test_the_import_contracts_hold(capsys):
    code = lint_imports(config_filename=str(CONFIGURATION), no_cache=True)
    assert code == 0, capsys.readouterr().out


@pytest.mark.parametrize("module", ["fewpoint.pipeline.masks", "fewpoint.pipeline.rough", "fewpoint.runs.live"])
def test_what_answers_at_once_is_free_of_torch(module):
    """Their packages are not, so that no contract can say it."""
    program = f"import sys, {module}; print('torch' in sys.modules)"
    told = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert told.stdout.strip() == "False"
