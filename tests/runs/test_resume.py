"""A run killed at any moment, started again, ends with the result of one that was never killed."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest

from fewpoint.io.atomic import read_json
from fewpoint.io.runs import RunFolder
from fewpoint.runs import runner as run_module
from tiny_runs import METHODS, make_task

SCRIPT = Path(__file__).parents[1] / "tiny_runs.py"
TIMEOUT_S = 600  # against a hang; a busy machine may take minutes

# Moments of each method; the short suite has a stage of each kind, `make nightly` tries more.
SHORT = {
    "default": [
        "frame:2",  # two frames are cut into superpixels
        "write:9",  # half of what the first network leaves behind
        "epoch:7",  # of the network of the further round
        "finished:report",  # all is written but the manifest
    ],
    "paper": [
        "write:10",  # half a checkpoint, of the epoch at which the stopping window starts
        "epoch:8",  # learning has returned to the start of the window
        "write:24",  # some of the masks are written
    ],
}
LONG = {
    "default": [
        "epoch:3",  # of the warm-up, before its checkpoint
        "epoch:6",  # of the network of the further round, before its first checkpoint
        "started:prediction",
        "finished:prediction",
        "write:28",
    ],
    "paper": [
        "frame:2",
        "epoch:3",
        "write:13",  # half of what the network leaves behind
        "started:prediction",
        "finished:prediction",
        "finished:report",
    ],
}
CASES = [
    *SHORT.items(),
    *(pytest.param(case, marks=pytest.mark.nightly, id=f"{case[0]}, more moments") for case in LONG.items()),
]


@pytest.fixture(scope="module", params=CASES, ids=lambda case: case[0])
def case(request) -> tuple[str, list[str]]:
    return request.param


@pytest.fixture(scope="module")
def method(case) -> str:
    return case[0]


@pytest.fixture(scope="module")
def folders(case, tmp_path_factory) -> Path:
    """One folder a moment, killed there and run again, and "never"."""
    root, (method, moments) = tmp_path_factory.mktemp("killed"), case
    done = subprocess.run(
        [sys.executable, SCRIPT, root, method, "never", *moments],
        capture_output=True,
        text=True,
        timeout=TIMEOUT_S,
        check=False,
    )
    expected = ["never 0", *(f"{moment} {-signal.SIGKILL} 0" for moment in moments)]
    assert done.stdout.splitlines() == expected, done.stderr
    return root


def results_of(folder: Path) -> dict[str, bytes]:
    """What a user takes from a folder, as bytes."""
    names = ["probabilities.npz", "priors.csv", "history.csv", *(f"masks/{index:04d}.png" for index in range(5))]
    return {name: (folder / name).read_bytes() for name in names}


def test_a_run_killed_and_started_again_gives_the_same_bytes(folders, case):
    for moment in case[1]:
        folder = folders / moment.replace(":", "-")
        assert results_of(folder) == results_of(folders / "never"), moment
        manifest = read_json(folder / "manifest.json")
        assert manifest["state"] == "finished"
        assert manifest["result"] == read_json(folders / "never" / "manifest.json")["result"], moment
        assert not list(folder.rglob("*.partial"))


def test_the_masks_compared_are_not_empty(folders):
    with np.load(folders / "never" / "probabilities.npz") as arrays:
        assert arrays["probabilities"].max() > 0.5
    assert read_json(folders / "never" / "manifest.json")["result"]["frames_with_object"] == 5


@pytest.mark.nightly
def test_a_process_killed_from_outside_leaves_a_folder_that_another_finishes(folders, method, tmp_path, monkeypatch):
    code = (
        "import sys; from pathlib import Path; from fewpoint.learning import checkpoints; "
        "from tiny_runs import run_into; checkpoints.LEAST_SECONDS = 0; run_into(Path(sys.argv[1]), sys.argv[2])"
    )
    paths = [str(SCRIPT.parent), *filter(None, [os.environ.get("PYTHONPATH")])]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(paths)}
    folder = tmp_path / "run"
    with subprocess.Popen([sys.executable, "-c", code, folder, method], env=environment) as process:
        deadline = time.monotonic() + TIMEOUT_S
        checkpoint = folder / "stages" / "checkpoint.pt"
        while not checkpoint.exists() and process.poll() is None and time.monotonic() < deadline:
            time.sleep(0.005)
        process.kill()
    assert process.returncode == -signal.SIGKILL
    assert read_json(folder / "manifest.json")["state"] == "running"
    monkeypatch.setattr(run_module, "write_report", lambda *given: None)
    task = make_task(METHODS[method])
    with RunFolder.open(folder, task.identity()) as run:
        run_module.run_task(task, run)
    assert results_of(folder) == results_of(folders / "never")
