"""Jobs, how they ended, and the one loop that runs them on any engine."""

from collections import Counter, defaultdict, deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Protocol, Self

TICK_SECONDS = 1.0


@dataclass(frozen=True, eq=False)
class Job:
    """One order for a worker.

    kind: jobs of one kind take about as long as each other. work: "module:function", called with the order, plain
    values, in its own process. errors: file in which a person finds why it failed; engines do not touch it.
    """

    name: str
    kind: str
    work: str
    order: dict[str, Any]
    errors: Path


@dataclass(frozen=True)
class Outcome:
    """An attempt at a job that is over.

    error: what the worker said last, empty if all went well. refused: it was the job's own fault, such as an input
    that cannot be read, so that another attempt cannot help. attempt: counts from 1. lost: the machine was, not the
    job, so that this was no attempt at it.
    """

    job: Job
    seconds: float
    error: str = ""
    refused: bool = False
    attempt: int = 1
    lost: bool = False


@dataclass(frozen=True)
class Standing:
    """How far all jobs are, reported when some start, when one ends and every second.

    ended: the job that has just ended for good, if one has. failed: an attempt that has just failed and is repeated,
    or a job whose machine has just been lost.
    """

    done: int
    total: int
    running: tuple[str, ...]
    seconds_left: float | None
    ended: Outcome | None = None
    failed: Outcome | None = None


Listener = Callable[[Standing], None]


class Engine(Protocol):
    """Where jobs are run. It is open inside `with`, and once that is left nothing that it started is still at work."""

    def __enter__(self) -> Self: ...

    def __exit__(self, *reason: object) -> None: ...

    @property
    def slots(self) -> int:
        """How many jobs run at once, as far as is known."""
        ...

    @property
    def has_room(self) -> bool:
        """Whether it takes another job now."""
        ...

    @property
    def running(self) -> tuple[str, ...]:
        """Names of the jobs at work, longest first; a job that was taken may still wait for a machine."""
        ...

    def start(self, job: Job) -> None:
        """Take a job."""
        ...

    def wait(self, seconds: float) -> list[Outcome]:
        """The attempts that have ended; waits for one, but not longer than these seconds."""
        ...


def run_jobs(jobs: Sequence[Job], engine: Engine, listener: Listener, retries: int = 0) -> list[Outcome]:
    """Run jobs in the order given and say how each ended; on Ctrl-C none is left running.

    retries: further attempts at a job that failed through no fault of its own; they come after all other jobs. One
    whose machine was lost comes first again, as soon as the engine has room, and however often that happens.
    """
    waiting, attempts, outcomes = deque(jobs), Counter(), []
    pace = Pace(jobs)
    with engine:

        def describe() -> Standing:
            left = pace.estimate_seconds_left(max(1, engine.slots))
            return Standing(len(outcomes), len(jobs), engine.running, left)

        while len(outcomes) < len(jobs):
            while waiting and engine.has_room:
                engine.start(waiting.popleft())
            listener(describe())
            for ended in engine.wait(TICK_SECONDS):
                if ended.lost:
                    waiting.appendleft(ended.job)
                    listener(replace(describe(), failed=replace(ended, attempt=attempts[id(ended.job)] + 1)))
                    continue
                attempts[id(ended.job)] += 1
                outcome = replace(ended, attempt=attempts[id(ended.job)])
                if outcome.error and not outcome.refused and outcome.attempt <= retries:
                    waiting.append(outcome.job)
                    listener(replace(describe(), failed=outcome))
                    continue
                outcomes.append(outcome)
                pace.add(outcome)
                listener(replace(describe(), ended=outcome))
    return outcomes


class Pace:
    """Times of the jobs that are over, and how many of each kind are not."""

    def __init__(self, jobs: Sequence[Job]) -> None:
        self._ahead = Counter(job.kind for job in jobs)
        self._seconds: defaultdict[str, float] = defaultdict(float)
        self._over: Counter[str] = Counter()

    def add(self, outcome: Outcome) -> None:
        """A job is over."""
        kind = outcome.job.kind
        self._ahead[kind] -= 1
        self._over[kind] += 1
        self._seconds[kind] += outcome.seconds

    def estimate_seconds_left(self, slots: int) -> float | None:
        """Time for the others: each takes the mean of its kind, or of all if none of its kind is over.

        >>> slow, quick = (Job(kind, kind, "", {}, Path()) for kind in ("slow", "quick"))
        >>> pace = Pace([slow, quick, slow, slow, quick])
        >>> pace.add(Outcome(slow, 60.0)); pace.add(Outcome(quick, 2.0))
        >>> pace.estimate_seconds_left(slots=2)
        61.0
        """
        if not self._over:
            return None
        every = sum(self._seconds.values()) / self._over.total()
        return sum(count * self._mean(kind, every) for kind, count in self._ahead.items()) / slots

    def _mean(self, kind: str, every: float) -> float:
        return self._seconds[kind] / self._over[kind] if self._over[kind] else every


def summarise_error(text: str) -> str:
    """The last line of a traceback, without the module of the exception's class.

    >>> summarise_error("Traceback …\\nfewpoint.errors.InputError: no frames\\n")
    'InputError: no frames'
    """
    lines = [line for line in text.splitlines() if line.strip()]
    last = lines[-1].strip() if lines else "no reason given"
    kind, colon, reason = last.partition(": ")
    return f"{kind.rpartition('.')[2]}: {reason}" if colon and " " not in kind else last
