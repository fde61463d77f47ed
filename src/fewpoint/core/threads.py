"""Several frames at once. Threads suffice: what takes long in NumPy and SciPy runs outside the interpreter's lock."""

import os
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any, TypeVar

from fewpoint.core.stopping import check_stop

Result = TypeVar("Result")

AHEAD = 2  # results per core that may wait to be consumed: memory is for a few frames, not for all


def free_cores() -> int:
    """Cores that this process may use: those that it is given, or fewer if OMP_NUM_THREADS says so."""
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    limit = os.environ.get("OMP_NUM_THREADS", "")
    return min(cores, int(limit)) if limit.isdigit() and int(limit) else cores


def work_ahead(work: Callable[..., Result], *given: Iterable[Any], jobs: int = 0) -> Iterator[Result]:
    """Like map, in the same order, but with several threads that never run far ahead of whoever takes the results.

    jobs: threads; 0 means one per free core.

    >>> list(work_ahead(lambda one, other: one * other, [1, 2, 3], [4, 5, 6], jobs=2))
    [4, 10, 18]
    """
    jobs = jobs or free_cores()
    with ThreadPoolExecutor(jobs) as pool:
        waiting = deque()
        for entries in zip(*given, strict=True):
            waiting.append(pool.submit(work, *entries))
            if len(waiting) > AHEAD * jobs:
                check_stop()
                yield waiting.popleft().result()
        while waiting:
            check_stop()
            yield waiting.popleft().result()
