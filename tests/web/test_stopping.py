"""Runs that are stopped, killed and taken up again as processes of their own: the page's and the command line's."""

import json
import signal
import subprocess
from pathlib import Path

import numpy as np
import pytest

from commands import launch, start
from fewpoint.core import Result
from fewpoint.core.job import EVERY, GivenBound, Job, OutputChoice, PlainPoints
from fewpoint.core.settings import override_from_text
from fewpoint.io.jobs import read_changes
from fewpoint.io.points import write_points
from fewpoint.io.runs import load_result
from fewpoint.runs.jobs import run_job
from fewpoint.web.orders import Order, result_folder, shown_folder
from fewpoint.web.shown import keep_preview, read_plane
from pipeline.test_groups import SETTINGS, SIDE, make_far_task
from synthetic import save_settings
from web.visits import QUICK_WORKER

pytestmark = pytest.mark.nightly
LONG = override_from_text(SETTINGS, ["warmup.epochs=40"])  # seconds for each of two groups
NUMBERS = {"far": 0, "near": 1, "small": 2}


@pytest.fixture(scope="module")
def study(tmp_path_factory) -> Path:
    """A folder with frames, points of three objects, of which two learn together after the first, and settings."""
    folder, task = tmp_path_factory.mktemp("study"), make_far_task()
    np.save(folder / "frames.npy", task.sequence.frames)
    write_points(task.points, folder / "points.csv")
    save_settings(LONG, folder / "tiny.toml")
    return folder


@pytest.fixture(scope="module")
def job(study) -> Job:
    return Job(
        input=str(study / "frames.npy"),
        points=PlainPoints.of(make_far_task().points),
        bounds=((EVERY, GivenBound(0.01)),),
        changes=read_changes(study / "tiny.toml"),
        device="cpu",
        outputs=OutputChoice(report=False),
    )


@pytest.fixture(scope="module")
def whole(job, tmp_path_factory) -> Result:
    return run_job(job, tmp_path_factory.mktemp("whole") / "run")


class Worker:
    """The page's process of one run."""

    def __init__(self, order: Order) -> None:
        pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "text": True}
        self.process = subprocess.Popen(QUICK_WORKER, **pipes)
        self.send(json.dumps(order.as_table()))

    def send(self, line: str) -> None:
        self.process.stdin.write(line + "\n")
        self.process.stdin.flush()

    def wait_until(self, **wanted: object) -> dict:
        """The first event that holds all of this."""
        for line in self.process.stdout:
            event = json.loads(line)
            if wanted.items() <= event.items():
                return event
        raise AssertionError(f"it ended without {wanted}")

    def end(self, signalled: int | None = None) -> None:
        if signalled is not None:
            self.process.send_signal(signalled)
        self.process.stdin.close()
        self.process.wait(60)
        self.process.stdout.close()


def assert_first_group_is_kept(order: Order, whole: Result) -> None:
    result = load_result(result_folder(Path(order.folder)))
    np.testing.assert_array_equal(result["far"].masks, whole["far"].masks)
    for name, number in NUMBERS.items():
        shown = read_plane(shown_folder(Path(order.folder), number) / "masks.npy", 0, 1, (SIDE, SIDE))
        np.testing.assert_array_equal(shown, result[name].masks[1])
        assert result[name].masks.sum() > 3  # more than its clicks
    assert not any("stopped before" in note for note in result.notes)


def test_what_the_first_group_found_is_the_preview_that_is_kept_if_the_process_is_ended(job, whole, tmp_path):
    """As the server does with a run that takes too long to write what it has."""
    order = Order(job, str(tmp_path / "run"), NUMBERS)
    worker = Worker(order)
    worker.wait_until(kind="priors", object=NUMBERS["small"])
    worker.end(signal.SIGKILL)
    folder = shown_folder(Path(order.folder), NUMBERS["far"])
    keep_preview(folder, make_far_task().points.of_object("far"))
    for frame, mask in enumerate(whole["far"].masks):
        np.testing.assert_array_equal(read_plane(folder / "masks.npy", 0, frame, (SIDE, SIDE)), mask)


def test_the_page_keeps_what_the_first_group_found_if_the_second_is_stopped(job, whole, tmp_path):
    order = Order(job, str(tmp_path / "run"), NUMBERS)
    worker = Worker(order)
    worker.wait_until(kind="priors", object=NUMBERS["small"])
    worker.send("stop")
    assert worker.wait_until(kind="ended")["state"] == "cancelled"
    worker.end()
    assert_first_group_is_kept(order, whole)


@pytest.mark.parametrize("moment", [{"phase": "starting"}, {"phase": "learning"}, {"phase": "warm-up"}])
def test_the_page_keeps_as_much_after_the_run_was_killed_and_taken_up_again(job, whole, tmp_path, moment):
    order = Order(job, str(tmp_path / "run"), NUMBERS)
    worker = Worker(order)
    worker.wait_until(kind="priors", object=NUMBERS["small"])
    worker.wait_until(kind="progress")  # the epoch is over, and what was seen of it on disk
    worker.end(signal.SIGKILL)
    worker = Worker(order)
    if moment["phase"] != "starting":
        worker.wait_until(kind="progress", **moment)
    worker.send("stop")
    assert worker.wait_until(kind="ended")["state"] == "cancelled"
    worker.end()
    assert_first_group_is_kept(order, whole)


def test_the_command_line_goes_on_in_the_second_group_to_the_same_bits(study, whole, tmp_path):
    out = tmp_path / "run"
    command = ["segment", study / "frames.npy", "--points", study / "points.csv", "--out", out]
    command += ["--config", study / "tiny.toml", "--device", "cpu", "--max-fraction", "0.01"]
    process = start(*command)
    for line in process.stderr:
        if "group 2 of 2" in line:
            break
    process.send_signal(signal.SIGINT)
    assert "run the same command again" in process.communicate(timeout=60)[1]
    outcome = launch(*command)
    assert outcome.code == 0, outcome.err
    found = load_result(out)
    for name in NUMBERS:
        np.testing.assert_array_equal(found[name].masks, whole[name].masks)
