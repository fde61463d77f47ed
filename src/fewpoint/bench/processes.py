"""Many jobs, each in a process of its own: one that crashes or is killed takes no other with it."""

import json
import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

POLL_SECONDS = 0.05


@dataclass(frozen=True)
class Job:
    """One order for a worker.

    kind: jobs of one kind take about as long as each other. errors: file for what a failed worker said.
    """

    name: str
    kind: str
    order: dict[str, Any]
    errors: Path


@dataclass(frozen=True)
class Outcome:
    """A job that is over. error: what the worker said last, empty where all went well."""

    job: Job
    seconds: float
    error: str = ""


@dataclass(frozen=True)
class Standing:
    """How far all jobs are, told when one starts or ends. ended: the job that has just ended, if one has."""

    done: int
    total: int
    running: tuple[str, ...]
    seconds_left: float | None
    ended: Outcome | None = None


def run_jobs(
    jobs: Sequence[Job], workers: int, command: Sequence[str], listener: Callable[[Standing], None]
) -> list[Outcome]:
    """Run jobs in the order given, so many at once, and say how each ended; on Ctrl-C none is left running.

    command: starts a worker, which reads its order as a line of JSON from standard input.
    """
    waiting, running, outcomes = list(jobs), [], []
    try:
        while waiting or running:
            while waiting and len(running) < workers:
                running.append(_Process(waiting.pop(0), command, workers))
                listener(_describe(outcomes, running, waiting, workers))
            time.sleep(POLL_SECONDS)
            for process in [process for process in running if process.ended]:
                running.remove(process)
                outcomes.append(process.collect())
                listener(_describe(outcomes, running, waiting, workers, ended=outcomes[-1]))
    finally:
        for process in running:
            process.kill()
    return outcomes


def estimate_seconds_left(outcomes: Sequence[Outcome], jobs: Sequence[Job], workers: int) -> float | None:
    """Time for further jobs: each takes the mean of its kind, or of all where none of its kind is over.

    >>> slow, quick = Job("a", "slow", {}, Path()), Job("b", "quick", {}, Path())
    >>> estimate_seconds_left([Outcome(slow, 60.0), Outcome(quick, 2.0)], [slow, slow, quick], workers=2)
    61.0
    """
    if not outcomes:
        return None
    times: dict[str, list[float]] = {}
    for outcome in outcomes:
        times.setdefault(outcome.job.kind, []).append(outcome.seconds)
    every = [outcome.seconds for outcome in outcomes]
    means = [sum(known) / len(known) for known in (times.get(job.kind, every) for job in jobs)]
    return sum(means) / workers


def _describe(outcomes: list, running: list, waiting: list, workers: int, ended: Outcome | None = None) -> Standing:
    ahead = [*(process.job for process in running), *waiting]
    left = estimate_seconds_left(outcomes, ahead, workers)
    total = len(outcomes) + len(ahead)
    return Standing(len(outcomes), total, tuple(process.job.name for process in running), left, ended)


class _Process:
    """A worker at work. It has a session of its own, so that Ctrl-C reaches only us, and we end it."""

    def __init__(self, job: Job, command: Sequence[str], workers: int) -> None:
        self.job = job
        self._started = time.monotonic()
        self._errors: IO[bytes] = tempfile.TemporaryFile()  # noqa: SIM115 - closed in _close
        self._process = subprocess.Popen(
            command,
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            stderr=self._errors,
            env={**_share_cores(workers), **os.environ},
            start_new_session=True,
        )
        with suppress(BrokenPipeError):  # it may be dead already; its exit code will say so
            self._process.stdin.write(json.dumps(job.order).encode() + b"\n")
            self._process.stdin.flush()

    @property
    def ended(self) -> bool:
        return self._process.poll() is not None

    def collect(self) -> Outcome:
        """How the ended process ended; closes what was open."""
        seconds = time.monotonic() - self._started
        self._errors.seek(0)
        text = self._errors.read().decode("utf-8", "replace")
        self._close()
        return Outcome(self.job, seconds, _explain(self._process.returncode, text))

    def kill(self) -> None:
        self._process.kill()
        self._process.wait()
        self._close()

    def _close(self) -> None:
        self._errors.close()
        with suppress(BrokenPipeError):
            self._process.stdin.close()


def _share_cores(workers: int) -> dict[str, str]:
    """Threads for each of so many workers; more than there are cores make all of them slower."""
    return {"OMP_NUM_THREADS": str(max(1, (os.cpu_count() or 1) // workers)), "OMP_WAIT_POLICY": "PASSIVE"}


def _explain(code: int, errors: str) -> str:
    if code == 0:
        return ""
    if code > 0:
        return errors.strip() or f"the worker left with code {code} and without a word"
    name = signal.Signals(-code).name
    hint = "; out of memory?" if name == "SIGKILL" and sys.platform != "win32" else ""
    return f"{errors}\nthe worker was killed by {name}{hint}".strip()
