"""The seconds of a run are those of all its starts together, also of those that were killed or stopped."""

import os
import time
from pathlib import Path

import pytest

from fewpoint.core import EpochFinished
from fewpoint.core.progress import Event, WorkGoesOn
from fewpoint.errors import CancelledError
from fewpoint.io.atomic import read_json
from fewpoint.io.runs import RunFolder
from fewpoint.learning import checkpoints
from fewpoint.pipeline import costs
from fewpoint.runs.partial import LastLook, finish_early
from fewpoint.runs.runner import run_task
from tiny_runs import make_task

HOUR = 3600.0  # what an event takes by the clock of these tests


class Clock:
    """A clock that an event of a run puts on by an hour, and nothing else."""

    def __init__(self, monkeypatch) -> None:
        self.now, self.epochs = 0.0, 0
        monkeypatch.setattr(costs.time, "perf_counter", lambda: self.now)

    def __call__(self, event: Event) -> None:
        if not isinstance(event, WorkGoesOn):
            self.now += HOUR
        self.epochs += isinstance(event, EpochFinished)


@pytest.fixture
def clock(monkeypatch) -> Clock:
    monkeypatch.setattr(checkpoints, "LEAST_SECONDS", 0)
    return Clock(monkeypatch)


def add_up(folder: Path) -> float:
    return sum(read_json(folder / "manifest.json")["seconds"].values())


def start(folder: Path, listener, look: LastLook | None = None) -> None:
    task = make_task()
    with RunFolder.open(folder, task.identity()) as run:
        run_task(task, run, listener)


def test_the_seconds_of_one_start_are_all_of_it(clock, tmp_path):
    start(tmp_path / "run", clock)
    assert add_up(tmp_path / "run") == clock.now > 10 * HOUR
    assert (
        read_json(tmp_path / "run" / "summary.json")["seconds"]
        == read_json(tmp_path / "run" / "manifest.json")["seconds"]
    )


def test_those_of_starts_that_were_killed_are_added_but_for_what_came_after_the_last_beat(clock, tmp_path):
    killed = 0.0
    for epochs in (3, 5):
        clock.now, clock.epochs = 0.0, 0
        child = os.fork()
        if child == 0:

            def listen(event: Event, last=epochs) -> None:
                clock(event)
                if clock.epochs == last:
                    (tmp_path / f"killed-{last}").write_text(str(clock.now))
                    os._exit(9)

            start(tmp_path / "run", listen)
            os._exit(0)
        assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 9
        killed += float((tmp_path / f"killed-{epochs}").read_text()) - HOUR  # of the event in which it was killed
    clock.now = 0.0
    start(tmp_path / "run", clock)
    assert killed > 10 * HOUR
    assert add_up(tmp_path / "run") == killed + clock.now


def test_those_of_a_start_that_was_cancelled_are_added_to_the_last(clock, tmp_path):
    def cancel(event: Event) -> None:
        clock(event)
        if clock.epochs == 3:
            raise CancelledError("enough")

    with pytest.raises(CancelledError):
        start(tmp_path / "run", cancel)
    cancelled, clock.now = clock.now, 0.0
    start(tmp_path / "run", clock)
    assert add_up(tmp_path / "run") == cancelled + clock.now


def test_a_run_that_was_stopped_for_good_says_them_too(clock, tmp_path):
    task, look = make_task(), LastLook()

    def stop(event: Event) -> None:
        look(event)
        clock(event)
        if clock.epochs == 5:
            raise CancelledError("enough")

    with RunFolder.open(tmp_path / "run", task.identity()) as run:
        with pytest.raises(CancelledError):
            run_task(task, run, stop)
        finish_early(task, run, look)
    assert add_up(tmp_path / "run") == clock.now


def test_time_before_the_stages_counts_from_when_the_caller_began(clock, tmp_path):
    task = make_task()
    began, clock.now = clock.now, 5 * HOUR
    with RunFolder.open(tmp_path / "run", task.identity()) as run:
        run_task(task, run, clock, began)
    seconds = read_json(tmp_path / "run" / "manifest.json")["seconds"]
    assert seconds["preparing"] >= 5 * HOUR and sum(seconds.values()) == clock.now
    assert time.perf_counter() == clock.now
