"""Jobs on the machines of a Ray cluster. Ray places them; each runs in a process as on one machine."""

import os
import re
import socket
import time
from collections.abc import Iterator
from contextlib import chdir
from dataclasses import dataclass
from importlib import import_module
from typing import Any, Self

from fewpoint.engines.jobs import Job, Outcome
from fewpoint.engines.processes import WorkerProcess
from fewpoint.errors import SettingsError
from fewpoint.io.apart.forker import TRUST

GIB = 2**30
STARTED = "started"
PATIENCE_SECONDS = 10.0


@dataclass(frozen=True)
class Needs:
    """What Ray sets aside for a job. gpus: a number or a share. memory_gib: 0 leaves memory out of it."""

    cpus: float = 1.0
    gpus: float = 0.0
    memory_gib: float = 0.0

    def as_options(self) -> dict[str, Any]:
        """
        >>> Needs(cpus=2, gpus=0.5).as_options()
        {'num_cpus': 2, 'num_gpus': 0.5}
        """
        memory = {"memory": int(self.memory_gib * GIB)} if self.memory_gib else {}
        return {"num_cpus": self.cpus, "num_gpus": self.gpus, **memory}


class RayEngine:
    """Jobs as Ray tasks, all handed to Ray at once, or so many at a time.

    address: of a cluster, HOST:PORT; if it is None, RAY_ADDRESS, the cluster of this machine, or a new one on it.
    A worker or machine that is lost ends the attempts on it.
    """

    def __init__(self, address: str | None = None, jobs: int | None = None, needs: Needs = Needs()) -> None:
        check_address(address)
        self._ray = _import_ray()
        self._address, self._most, self._needs = address, jobs, needs
        self._tasks: dict[Any, _Task] = {}
        self._perform: Any = None

    def __enter__(self) -> Self:
        try:
            with chdir(os.sep):  # Ray lets its workers import from the folder that it is called in, which has the data
                self._ray.init(address=self._address, log_to_driver=False, logging_level="error")
        except (ConnectionError, ValueError, RuntimeError) as error:
            place = self._address or "this machine"
            raise SettingsError(f"no Ray cluster could be used at {place}: {_first_line(error)}") from error
        # Attempts are counted and repeated by run_jobs, as on one machine, so that every loss is reported.
        task = self._ray.remote(num_returns="streaming", max_retries=0)(perform)
        self._perform = task.options(**self._needs.as_options())
        return self

    def __exit__(self, *reason: object) -> None:
        """Leave the cluster; Ray then ends the tasks of this driver, and their processes end with them."""
        self._tasks.clear()
        self._ray.shutdown()

    @property
    def slots(self) -> int:
        """Jobs that the machines now in the cluster hold."""
        there = self._ray.cluster_resources()
        needed = {"CPU": self._needs.cpus, "GPU": self._needs.gpus, "memory": self._needs.memory_gib * GIB}
        fits = [int(there.get(name, 0.0) / amount) for name, amount in needed.items() if amount]
        if self._most:
            fits.append(self._most)
        return min(fits, default=1)

    @property
    def has_room(self) -> bool:
        return self._most is None or len(self._tasks) < self._most

    @property
    def running(self) -> tuple[str, ...]:
        at_work = [(task.started, task.job.name) for task in self._tasks.values() if task.started is not None]
        return tuple(name for _, name in sorted(at_work, key=lambda entry: entry[0]))

    def start(self, job: Job) -> None:
        self._tasks[self._perform.remote(job.work, job.order, self._needs.gpus > 0, os.environ.get(TRUST, ""))] = _Task(
            job
        )

    def wait(self, seconds: float) -> list[Outcome]:
        streams = list(self._tasks)
        if not self._ray.wait(streams, num_returns=1, timeout=seconds)[0]:
            return []
        ready, _ = self._ray.wait(streams, num_returns=len(streams), timeout=0)
        return [outcome for outcome in map(self._hear, ready) if outcome is not None]

    def _hear(self, stream: Any) -> Outcome | None:
        """What a task says next: that it has started, or how it ended."""
        task = self._tasks[stream]
        try:
            said = self._ray.get(next(stream))
        except self._ray.exceptions.RayError as error:
            said = (_first_line(error), False)
        if said == STARTED:
            task.started = time.monotonic()
            return None
        del self._tasks[stream]
        error, refused = said
        seconds = 0.0 if task.started is None else time.monotonic() - task.started
        return Outcome(task.job, seconds, error, refused)


@dataclass(eq=False)
class _Task:
    """A job in Ray's hands. started: when it was heard of, None while it waits for a machine."""

    job: Job
    started: float | None = None


def check_address(address: str | None) -> None:
    """Raise SettingsError if nobody answers at HOST:PORT; Ray itself would try for minutes."""
    if address in (None, "auto", "local"):
        return
    found = re.fullmatch(r"([\w.-]+):(\d+)", address)
    if not found:
        raise SettingsError(f"start on a machine of the cluster and give --address HOST:6379, got {address}")
    try:
        socket.create_connection((found[1], int(found[2])), PATIENCE_SECONDS).close()
    except (OSError, OverflowError) as error:
        raise SettingsError(
            f"no Ray cluster answers at {address} ({error}); start one with ray start, or correct --address"
        ) from error


def perform(work: str, order: dict[str, Any], on_gpu: bool, trust: str = "") -> Iterator[str | tuple[str, bool]]:
    """On a machine of the cluster: say that it starts, run the process, say how it ended.

    trust: what TRUST is set to where the job comes from.
    Ray shows a job the GPUs that it asked for; one that asked for none must see none.
    """
    yield STARTED
    hidden = {} if on_gpu else {"CUDA_VISIBLE_DEVICES": ""}
    told = {TRUST: trust} if trust else {}
    process = WorkerProcess(work, order, {"OMP_WAIT_POLICY": "PASSIVE", **os.environ, **hidden, **told})
    process.wait()
    yield process.collect()


def _import_ray() -> Any:
    os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")  # a cluster that is started here sends nothing home
    try:
        return import_module("ray")
    except ImportError as error:
        raise SettingsError(
            "--engine ray needs Ray, which is not installed; run: pip install 'fewpoint[ray]'"
        ) from error


def _first_line(error: BaseException) -> str:
    text = str(error).strip()
    return f"{type(error).__name__}: {text.splitlines()[0]}" if text else type(error).__name__
