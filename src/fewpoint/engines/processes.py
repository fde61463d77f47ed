"""Jobs in processes of this machine."""

import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping
from contextlib import suppress
from typing import IO, Any, Self, cast

from fewpoint.core.workers import safe_environment
from fewpoint.engines.jobs import Job, Outcome
from fewpoint.engines.worker import COMMAND, REFUSED, write_line
from fewpoint.errors import DeviceError, SettingsError

POLL_SECONDS = 0.05
SLACK = 1e-6  # three thirds of a GPU are one


class LocalEngine:
    """So many processes at once.

    gpus_per_job: share of one GPU that a job takes, which then sees that GPU alone; 0 leaves GPUs to the jobs.
    jobs: as many as the GPUs hold if it is None, or one if jobs take none. apart: whether each job has a session of its
    own, so that Ctrl-C reaches only us; in ours it can be halted with us, and has our priority between sessions.
    """

    def __init__(self, jobs: int | None = None, gpus_per_job: float = 0.0, *, apart: bool = True) -> None:
        self._apart = apart
        self._shares = GpuShares(find_gpus(), gpus_per_job) if gpus_per_job else None
        most = self._shares.slots if self._shares else jobs or 1
        self.slots = min(jobs or most, most)
        self._running: list[tuple[Job, WorkerProcess, str | None]] = []

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *reason: object) -> None:
        for _, process, _ in self._running:
            process.kill()
        self._running.clear()

    @property
    def has_room(self) -> bool:
        return len(self._running) < self.slots

    @property
    def running(self) -> tuple[str, ...]:
        return tuple(job.name for job, _, _ in self._running)

    def start(self, job: Job) -> None:
        gpu = self._shares.take() if self._shares else None
        own = {} if gpu is None else {"CUDA_VISIBLE_DEVICES": gpu}
        process = WorkerProcess(job.work, job.order, {**share_cores(self.slots), **os.environ, **own}, self._apart)
        self._running.append((job, process, gpu))

    def wait(self, seconds: float) -> list[Outcome]:
        deadline = time.monotonic() + seconds
        while not (ended := [entry for entry in self._running if entry[1].ended]) and time.monotonic() < deadline:
            time.sleep(POLL_SECONDS)
        for entry in ended:
            self._running.remove(entry)
            if self._shares is not None and entry[2] is not None:
                self._shares.give_back(entry[2])
        return [Outcome(job, process.seconds, *process.collect()) for job, process, _ in ended]


class WorkerProcess:
    """A worker at work. Apart, it has its own session, so that Ctrl-C reaches only us, and we end it."""

    def __init__(self, work: str, order: dict[str, Any], environment: Mapping[str, str], apart: bool = True) -> None:
        self._started = time.monotonic()
        self._errors: IO[bytes] = tempfile.TemporaryFile()  # noqa: SIM115 - closed in _close
        self._process = subprocess.Popen(
            COMMAND,
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            stderr=self._errors,
            env=safe_environment(environment),
            start_new_session=apart,
        )
        self._orders = cast(IO[bytes], self._process.stdin)  # a pipe, as was asked for
        with suppress(BrokenPipeError):  # it may be dead already; its exit code will say so
            self._orders.write(write_line(work, order))
            self._orders.flush()

    @property
    def ended(self) -> bool:
        return self._process.poll() is not None

    @property
    def seconds(self) -> float:
        return time.monotonic() - self._started

    def wait(self) -> None:
        self._process.wait()

    def collect(self) -> tuple[str, bool]:
        """What the ended process said, empty if all went well, and whether it refused; closes what was open."""
        self._errors.seek(0)
        text = self._errors.read().decode("utf-8", "replace")
        self._close()
        return explain_exit(self._process.returncode, text), self._process.returncode == REFUSED

    def kill(self) -> None:
        self._process.kill()
        self._process.wait()
        self._close()

    def _close(self) -> None:
        self._errors.close()
        with suppress(BrokenPipeError):
            self._orders.close()


class GpuShares:
    """How much of each GPU is taken.

    >>> shares = GpuShares(("0", "1"), 0.5)
    >>> shares.slots, [shares.take() for _ in range(4)]
    (4, ['0', '1', '0', '1'])
    """

    def __init__(self, gpus: tuple[str, ...], per_job: float) -> None:
        if not 0 < per_job <= 1:
            raise SettingsError(
                f"a job uses one GPU or a share of it: --gpus-per-job must lie in 0 to 1, got {per_job:g}"
            )
        if not gpus:
            raise DeviceError("--gpus-per-job needs a CUDA GPU, this machine shows none; leave it out")
        self._per_job = per_job
        self._taken = dict.fromkeys(gpus, 0)

    @property
    def slots(self) -> int:
        """Jobs that fit on all GPUs together."""
        return len(self._taken) * int(1 / self._per_job + SLACK)

    def take(self) -> str:
        """The GPU with the fewest jobs, of several the first."""
        gpu = min(self._taken, key=self._taken.__getitem__)
        self._taken[gpu] += 1
        return gpu

    def give_back(self, gpu: str) -> None:
        self._taken[gpu] -= 1


def find_gpus() -> tuple[str, ...]:
    """The CUDA GPUs that this process may use, as CUDA_VISIBLE_DEVICES names them."""
    visible = os.environ.get("CUDA_VISIBLE_DEVICES")
    if visible is not None:
        return tuple(name.strip() for name in visible.split(",") if name.strip() not in ("", "-1"))
    import torch  # takes seconds, and is asked only if jobs are to share GPUs

    return tuple(map(str, range(torch.cuda.device_count())))


def share_cores(jobs: int) -> dict[str, str]:
    """Threads for each of so many jobs; more than there are cores make all of them slower."""
    return {"OMP_NUM_THREADS": str(max(1, (os.cpu_count() or 1) // jobs)), "OMP_WAIT_POLICY": "PASSIVE"}


def explain_exit(code: int, errors: str) -> str:
    """Why a process left with a code, given what it said; empty if all went well."""
    if code == 0:
        return ""
    if code > 0:
        return errors.strip() or f"the worker exited with code {code} and no message"
    name = signal.Signals(-code).name
    hint = "; out of memory?" if name == "SIGKILL" and sys.platform != "win32" else ""
    return f"{errors}\nthe worker was killed by {name}{hint}".strip()
