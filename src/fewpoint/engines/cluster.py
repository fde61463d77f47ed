"""Jobs on the machines of a Ray cluster. Ray places them; each runs in a process as on one machine."""

import os
import re
import socket
import time
from collections.abc import Iterator
from contextlib import chdir, suppress
from dataclasses import dataclass
from importlib import import_module
from typing import Any, Self

from fewpoint.engines.jobs import Job, Outcome
from fewpoint.engines.processes import WorkerProcess
from fewpoint.errors import FewpointError, SettingsError
from fewpoint.io.apart.forker import TRUST

GIB = 2**30
STARTED = "started"
PATIENCE_SECONDS = 10.0
FIRST_SECONDS, MOST_SECONDS = 1.0, 60.0  # between two questions whether a machine is there again
GONE_SECONDS = 600.0
LOSSES = ("NodeDiedError", "LocalRayletDiedError", "OwnerDiedError", "RaySystemError")


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
    A worker that is lost ends the attempt of its job. If a machine is, its jobs are begun again without counting as
    tried, once the cluster has one that can hold them; asked for ever less often, and in vain for GONE_SECONDS at most.
    """

    def __init__(self, address: str | None = None, jobs: int | None = None, needs: Needs = Needs()) -> None:
        check_address(address)
        self._ray = _import_ray()
        self._address, self._most, self._needs = address, jobs, needs
        self._tasks: dict[Any, _Task] = {}
        self._perform: Any = None
        self._lost = _Lost()

    def __enter__(self) -> Self:
        self._connect()
        return self

    def _connect(self) -> None:
        try:
            with chdir(os.sep):  # Ray lets its workers import from the folder that it is called in, which has the data
                self._ray.init(address=self._address, log_to_driver=False, logging_level="error")
        except (ConnectionError, ValueError, RuntimeError) as error:
            place = self._address or "this machine"
            raise SettingsError(f"no Ray cluster could be used at {place}: {_first_line(error)}") from error
        # Attempts are counted and repeated by run_jobs, as on one machine, so that every loss is reported.
        task = self._ray.remote(num_returns="streaming", max_retries=0)(perform)
        self._perform = task.options(**self._needs.as_options())

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
        return not self._lost.waits and (self._most is None or len(self._tasks) < self._most)

    @property
    def running(self) -> tuple[str, ...]:
        at_work = [(task.started, task.job.name) for task in self._tasks.values() if task.started is not None]
        return tuple(name for _, name in sorted(at_work, key=lambda entry: entry[0]))

    def start(self, job: Job) -> None:
        self._tasks[self._perform.remote(job.work, job.order, self._needs.gpus > 0, os.environ.get(TRUST, ""))] = _Task(
            job
        )

    def wait(self, seconds: float) -> list[Outcome]:
        if self._lost.waits:
            seconds = self._lost.pause(seconds, nothing_else=not self._tasks)
            if self._lost.is_due:
                self._lost.asked(self._find_machine())
        streams = list(self._tasks)
        if not streams or not self._ray.wait(streams, num_returns=1, timeout=seconds)[0]:
            return []
        ready, _ = self._ray.wait(streams, num_returns=len(streams), timeout=0)
        outcomes = [outcome for outcome in map(self._hear, ready) if outcome is not None]
        for outcome in outcomes:
            self._lost.note(outcome.lost)
        return outcomes

    def _hear(self, stream: Any) -> Outcome | None:
        """What a task says next: that it has started, or how it ended."""
        task = self._tasks[stream]
        try:
            said, lost = self._ray.get(next(stream)), False
        except self._ray.exceptions.RayError as error:
            said, lost = (_first_line(error), False), self._is_loss(error, task)
        if said[0] == STARTED:
            task.started, task.machine = time.monotonic(), str(said[1])
            return None
        del self._tasks[stream]
        error, refused = said
        seconds = 0.0 if task.started is None else time.monotonic() - task.started
        return Outcome(task.job, seconds, error, refused, lost=lost)

    def _is_loss(self, error: Exception, task: "_Task") -> bool:
        """Whether a task ended because its machine did, or our own part of the cluster."""
        kinds = tuple(getattr(self._ray.exceptions, name) for name in LOSSES)
        return isinstance(error, kinds) or (task.machine != "" and task.machine not in self._list_machines())

    def _list_machines(self) -> dict[str, dict[str, float]]:
        """What each machine that is now in the cluster has, by its identifier."""
        try:
            return {node["NodeID"]: node["Resources"] for node in self._ray.nodes() if node["Alive"]}
        except Exception:  # whatever Ray raises if nobody answers
            return {}

    def _find_machine(self) -> bool:
        """Whether the cluster has a machine for a job; if ours is no part of it any more, join it anew."""
        machines = self._list_machines()
        if self._ray.is_initialized() and self._ray.get_runtime_context().get_node_id() in machines:
            needed = {"CPU": self._needs.cpus, "GPU": self._needs.gpus, "memory": self._needs.memory_gib * GIB}
            return any(all(has.get(name, 0.0) >= much for name, much in needed.items()) for has in machines.values())
        if self._tasks:  # each of them says first that it was lost
            return False
        self._ray.shutdown()
        with suppress(SettingsError):
            self._connect()
            return True
        return False


@dataclass(eq=False)
class _Task:
    """A job in Ray's hands. started: when it was heard of, None while it waits for a machine. machine: on which."""

    job: Job
    started: float | None = None
    machine: str = ""


class _Lost:
    """Whether a machine was lost, and when to ask next whether the cluster has another: after 1, 2, 4 … seconds."""

    def __init__(self) -> None:
        self.waits = False
        self._since = self._next = 0.0
        self._delay = FIRST_SECONDS

    def note(self, lost: bool) -> None:
        """An attempt has ended, because its machine was lost or otherwise."""
        if not lost:
            self._delay = FIRST_SECONDS
        elif not self.waits:
            self.waits, self._since = True, time.monotonic()
            self._next, self._delay = self._since + self._delay, min(2 * self._delay, MOST_SECONDS)

    def pause(self, seconds: float, nothing_else: bool) -> float:
        """Wait until it is time to ask, or for these seconds if there is nothing else to do; the seconds left."""
        if nothing_else:
            time.sleep(max(0.0, min(seconds, self._next - time.monotonic())))
        return 0.0 if nothing_else else seconds

    @property
    def is_due(self) -> bool:
        return time.monotonic() >= self._next

    def asked(self, found: bool) -> None:
        """Whether a machine was found just now; FewpointError if none was for too long."""
        now = time.monotonic()
        if not found and now - self._since > GONE_SECONDS:
            raise FewpointError(
                f"the Ray cluster has had no machine for these jobs for {GONE_SECONDS / 60:.0f} minutes; "
                "bring one back and run the same command again, which goes on from here"
            )
        self.waits = not found
        self._next, self._delay = now + self._delay, min(2 * self._delay, MOST_SECONDS)


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


def perform(
    work: str, order: dict[str, Any], on_gpu: bool, trust: str = ""
) -> Iterator[tuple[str, str] | tuple[str, bool]]:
    """On a machine of the cluster: say that it starts, run the process, say how it ended.

    trust: what TRUST is set to where the job comes from.
    Ray shows a job the GPUs that it asked for; one that asked for none must see none.
    """
    yield STARTED, import_module("ray").get_runtime_context().get_node_id()
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
