"""A machine that is lost costs its jobs no attempt, and the engine waits for another."""

from collections import deque
from itertools import pairwise

import pytest

from engines.orders import make_job
from fewpoint.engines import cluster
from fewpoint.engines.jobs import Job, Outcome, run_jobs
from fewpoint.errors import FewpointError


class Clock:
    """Time that passes when somebody sleeps."""

    def __init__(self, monkeypatch) -> None:
        self.now, self.slept = 0.0, []
        monkeypatch.setattr(cluster, "time", self)

    def monotonic(self) -> float:
        return self.now

    def sleep(self, seconds: float) -> None:
        self.slept.append(seconds)
        self.now += seconds


class LosingEngine:
    """Loses the machine of every job so many times, and then runs it."""

    slots, running = 1, ()

    def __init__(self, losses: int, error: str = "") -> None:
        self._losses, self._error, self._job = losses, error, deque[Job]()

    def __enter__(self):
        return self

    def __exit__(self, *reason: object) -> None:
        pass

    @property
    def has_room(self) -> bool:
        return not self._job

    def start(self, job: Job) -> None:
        self._job.append(job)

    def wait(self, seconds: float) -> list[Outcome]:
        job, self._losses = self._job.popleft(), self._losses - 1
        if self._losses >= 0:
            return [Outcome(job, 0.0, "NodeDiedError: gone", lost=True)]
        return [Outcome(job, 1.0, self._error)]


def test_losses_are_no_attempts_and_the_job_comes_first_again():
    told = []
    jobs = [make_job("", name) for name in ("a", "b")]
    outcomes = run_jobs(jobs, LosingEngine(20), told.append, retries=0)
    assert [(each.job.name, each.error, each.attempt) for each in outcomes] == [("a", "", 1), ("b", "", 1)]
    lost = [each.failed for each in told if each.failed]
    assert len(lost) == 20 and {(each.job.name, each.attempt, each.lost) for each in lost} == {("a", 1, True)}


def test_what_fails_after_a_loss_has_all_its_retries():
    (outcome,) = run_jobs([make_job("")], LosingEngine(3, "ValueError: x"), lambda told: None, retries=2)
    assert (outcome.error, outcome.attempt) == ("ValueError: x", 3)


def test_whether_a_machine_is_there_is_asked_ever_less_often_and_not_for_ever(monkeypatch):
    clock, lost = Clock(monkeypatch), cluster._Lost()
    lost.note(lost=True)
    asked = []
    with pytest.raises(FewpointError, match="no machine for these jobs for 10 minutes; bring one back"):
        while True:
            lost.pause(1.0, nothing_else=True)
            if lost.is_due:
                asked.append(clock.now)
                lost.asked(found=False)
    assert asked[:7] == [1, 3, 7, 15, 31, 63, 123]
    assert max(later - earlier for earlier, later in pairwise(asked)) == 60
    assert max(clock.slept) <= 1.0  # whoever waits for the engine is not held up for longer than it said


def test_a_machine_that_is_found_ends_the_waiting_until_the_next_loss(monkeypatch):
    clock, lost = Clock(monkeypatch), cluster._Lost()
    lost.note(lost=True)
    clock.now = 1.0
    assert lost.waits and lost.is_due
    lost.asked(found=True)
    assert not lost.waits
    lost.note(lost=True)  # at once again: asked for later than the first time
    clock.now = 2.0
    assert lost.waits and not lost.is_due
    lost.note(lost=False)
    assert lost.waits
