"""The source distribution holds whatever its tests and pages need; the wheel works where nothing else is installed."""

import json
import os
import subprocess
import sys
import tarfile
from pathlib import Path

import pytest
from PIL import Image

from fewpoint import __version__
from fewpoint.evaluation.phantom import make_phantom

pytest.importorskip("setuptools", "77", reason="needs setuptools 77 or newer: pip install '.[test]'")

ROOT = Path(__file__).resolve().parents[1]
FOLDERS = (".ci", ".github", "benchmarks", "docs", "src", "tests")
TORCH, CPU_BUILDS = "torch==2.13.0", "https://download.pytorch.org/whl/cpu"
SMALLEST = ("warmup.epochs=1", "rounds.round_epochs=1", "training.max_side=32", "training.frames_per_epoch=4")
TINY = ("--preset", "fast", *(part for change in SMALLEST for part in ("--set", change)), "--json")
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
def archive(tmp_path_factory) -> Path:
    """A source distribution; nothing of it is left in the repository."""
    folder = tmp_path_factory.mktemp("sdist")
    build = ["egg_info", "--egg-base", str(folder), "sdist", "--formats=gztar", "--dist-dir", str(folder)]
    command = [sys.executable, "-c", "from setuptools import setup; setup()", "--quiet", *build]
    # Without the warnings of the tests, which are errors here.
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONWARNINGS"}
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, env=environment, check=False)
    assert done.returncode == 0, done.stderr
    (made,) = folder.glob("*.tar.gz")
    return made


@pytest.fixture(scope="module")
def packed(archive) -> set[str]:
    """The names in the source distribution."""
    with tarfile.open(archive) as opened:
        return {member.name.partition("/")[2] for member in opened.getmembers() if member.isfile()}


@pytest.fixture(scope="module")
def wheel(archive) -> Path:
    """The wheel that the source distribution makes."""
    run(sys.executable, "-m", "pip", "wheel", "--quiet", "--no-deps", str(archive), cwd=archive.parent)
    (made,) = archive.parent.glob("*.whl")
    return made


@pytest.fixture(scope="module")
def alone(wheel, tmp_path_factory) -> tuple[Path, Path]:
    """A folder of frames with clicks, and the command of an environment that holds the wheel and what it needs."""
    folder = tmp_path_factory.mktemp("alone")
    run(sys.executable, "-m", "venv", str(folder / "env"), cwd=folder)
    python = folder / "env" / "bin" / "python"
    run(str(ROOT / ".ci" / "torch"), str(python), TORCH, CPU_BUILDS, cwd=folder)
    pip = [str(python), "-m", "pip", "install", "--quiet", "--no-compile", "-c", str(ROOT / "constraints.txt")]
    run(*pip, str(wheel), cwd=folder)
    phantom = make_phantom(n_frames=3, size=(48, 48), seed=0)
    (folder / "frames").mkdir()
    for index, image in enumerate(phantom.sequence.frames[..., 0]):
        Image.fromarray(image).save(folder / "frames" / f"{index}.png")
    rows = [",".join(map(str, point)) for point in phantom.points.coordinates.tolist()]
    (folder / "points.csv").write_text("\n".join(["frame,y,x", *rows]) + "\n")
    return folder, python.parent / "fewpoint"


def run(*command: str, cwd: Path) -> str:
    """What a command prints, which must succeed, without sight of the sources."""
    environment = {name: value for name, value in os.environ.items() if not name.startswith("PYTHON")}
    done = subprocess.run(command, cwd=cwd, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def test_the_source_distribution_holds_every_file_of_the_repository(packed):
    assert sorted(list_files() - packed) == []


def test_the_source_distribution_holds_nothing_that_tools_left(packed):
    assert [name for name in packed if "__pycache__" in name or name.startswith((".venv", "runs", "build"))] == []


def test_a_package_index_would_take_both(archive, wheel):
    told = run(sys.executable, "-m", "twine", "check", "--strict", str(archive), str(wheel), cwd=archive.parent)
    assert told.count("PASSED") == 2, told


def test_the_wheel_alone_says_what_is_installed(alone):
    folder, fewpoint = alone
    told = json.loads(run(str(fewpoint), "info", "--json", cwd=folder))
    assert told["version"] == __version__
    assert not any(told["extras"].values()), told["extras"]


def test_the_wheel_alone_segments(alone):
    folder, fewpoint = alone
    told = run(str(fewpoint), "segment", "frames", "--points", "points.csv", "--out", "run", *TINY, cwd=folder)
    assert json.loads(told)["frames"] == 3
    assert len(list((folder / "run" / "masks").glob("*.png"))) == 3
    assert (folder / "run" / "report.html").stat().st_size > 10_000
