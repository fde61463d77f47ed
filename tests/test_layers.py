"""Imports point down, no method sees the truth, and torch stays where it belongs."""

from pathlib import Path

from importlinter.cli import lint_imports

CONFIGURATION = Path(__file__).resolve().parents[1] / "pyproject.toml"


def test_the_import_contracts_hold(capsys):
    code = lint_imports(config_filename=str(CONFIGURATION), no_cache=True)
    assert code == 0, capsys.readouterr().out
