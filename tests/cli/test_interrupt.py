"""Ctrl-C stops a run with one line, and the same command finishes it."""

import signal
import subprocess
import time

import pytest

from commands import Case, start
from fewpoint.io.atomic import read_json


def test_ctrl_c_says_how_to_go_on_and_the_same_command_finishes(case, call):
    command = case.segment("--set", "phases.final_epochs=60")
    with start_training(command, case) as process:
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=180)
    assert (process.returncode, out) == (130, "")
    assert err.splitlines()[-1] == "fewpoint: stopped; run the same command to continue"
    assert "Traceback" not in err
    assert read_json(case.out / "manifest.json")["state"] == "running"
    assert not list(case.out.rglob("*.partial"))

    outcome = call(*command)
    assert outcome.code == 0
    assert "superpixels: already finished" in outcome.err
    assert read_json(case.out / "manifest.json")["state"] == "finished"
    assert len(list((case.out / "masks").glob("*.png"))) == 6


@pytest.mark.nightly
def test_a_run_that_starts_from_networks_of_another_goes_on_to_the_same_bits(case, call):
    assert call(*case.segment("--out", case.folder / "other", "--seed", "1")).code == 0
    warm = ("--warm-start", case.folder / "other", "--set", "phases.final_epochs=60", "--seed", "3")
    assert call(*case.segment("--out", case.folder / "whole", *warm)).code == 0
    command = case.segment(*warm)
    with start_training(command, case) as process:
        process.send_signal(signal.SIGINT)
        assert "run the same command again" in process.communicate(timeout=180)[1]
    assert read_json(case.out / "manifest.json")["state"] == "running"
    assert call(*command).code == 0
    for mask in (case.out / "masks").glob("*.png"):
        assert mask.read_bytes() == (case.folder / "whole" / "masks" / mask.name).read_bytes()
    moved = case.folder / "other"
    moved.rename(case.folder / "elsewhere")  # what it starts from counts, not where that lies
    outcome = call(*case.segment(*warm[2:], "--warm-start", case.folder / "elsewhere" / "model.npz"))
    assert outcome.code == 0, outcome.err


def start_training(arguments: list[str], case: Case) -> subprocess.Popen:
    """The command in a process of its own, about to learn or learning."""
    process = start(*arguments)
    deadline = time.monotonic() + 120
    while not (case.out / "stages" / "superpixels.npz").exists():
        assert process.poll() is None, process.stderr.read()
        assert time.monotonic() < deadline, "no superpixels after two minutes"
        time.sleep(0.02)
    return process
