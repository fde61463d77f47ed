"""Ctrl-C stops a run with one line, and the same command finishes it."""

import signal
import subprocess
import time

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


def start_training(arguments: list[str], case: Case) -> subprocess.Popen:
    """The command in a process of its own, about to learn or learning."""
    process = start(*arguments)
    deadline = time.monotonic() + 120
    while not (case.out / "stages" / "superpixels.npz").exists():
        assert process.poll() is None, process.stderr.read()
        assert time.monotonic() < deadline, "no superpixels after two minutes"
        time.sleep(0.02)
    return process
