"""The source distribution holds whatever its tests and pages need."""

import os
import subprocess
import sys
import tarfile
from pathlib import Path

import pytest

pytest.importorskip("setuptools", "77", reason="needs setuptools 77 or newer: pip install '.[test]'")

ROOT = Path(__file__).resolve().parents[1]
FOLDERS = (".ci", ".github", "benchmarks", "docs", "integrations", "src", "tests")
LEFT_BY_TOOLS = ("__pycache__", ".egg-info", ".pyc")


def list_files() -> set[str]:
    """The files of the repository: those that git tracks, or all that are there in a copy without git."""
    if (ROOT / ".git").exists():
        asked = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, text=True, check=True)
        return {name for name in asked.stdout.split("\0") if name and (ROOT / name).exists()}
    found = {path for folder in FOLDERS for path in (ROOT / folder).rglob("*") if path.is_file()}
    names = {path.relative_to(ROOT).as_posix() for path in found}
    return {name for name in names if not any(mark in name for mark in LEFT_BY_TOOLS)}


@pytest.fixture(scope="module")
def packed(tmp_path_factory) -> set[str]:
    """The names in a source distribution; nothing of it is left in the repository."""
    folder = tmp_path_factory.mktemp("sdist")
    build = ["egg_info", "--egg-base", str(folder), "sdist", "--formats=gztar", "--dist-dir", str(folder)]
    command = [sys.executable, "-c", "from setuptools import setup; setup()", "--quiet", *build]
    # Without the warnings of the tests, which are errors here.
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONWARNINGS"}
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, env=environment, check=False)
    assert done.returncode == 0, done.stderr
    (archive,) = folder.glob("*.tar.gz")
    with tarfile.open(archive) as opened:
        return {member.name.partition("/")[2] for member in opened.getmembers() if member.isfile()}


def test_the_source_distribution_holds_every_file_of_the_repository(packed):
    assert sorted(list_files() - packed) == []


def test_the_source_distribution_holds_nothing_that_tools_left(packed):
    assert [name for name in packed if "__pycache__" in name or name.startswith((".venv", "runs", "build"))] == []
