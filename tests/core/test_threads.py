"""Several threads, one order, and no more at once than was asked for."""

import os
import time
from threading import Lock

import pytest

from fewpoint.core.threads import AHEAD, free_cores, work_ahead


@pytest.mark.parametrize(("told", "cores"), [("1", 1), ("3", 3), ("64", 4), ("", 4), ("0", 4), ("2,1", 4)])
def test_cores_are_those_given_or_fewer_where_the_environment_says_so(monkeypatch, told, cores):
    monkeypatch.setattr(os, "sched_getaffinity", lambda process: {0, 1, 2, 3}, raising=False)
    monkeypatch.setenv("OMP_NUM_THREADS", told)
    assert free_cores() == cores


def test_results_come_in_order_whichever_is_done_first():
    def work(number: int) -> int:
        time.sleep(0.001 * (5 - number % 5))
        return number

    assert list(work_ahead(work, range(40), jobs=4)) == list(range(40))


def test_threads_are_never_far_ahead_of_whoever_takes_the_results():
    begun, lock = [], Lock()

    def work(number: int) -> int:
        with lock:
            begun.append(number)
        return number

    results = work_ahead(work, range(100), jobs=2)
    assert next(results) == 0
    time.sleep(0.05)
    assert len(begun) <= 2 * AHEAD + 1
    assert list(results) == list(range(1, 100))


def test_an_error_reaches_whoever_takes_the_results():
    results = work_ahead(lambda number: 1 / number, [2, 0], jobs=2)
    assert next(results) == 0.5
    with pytest.raises(ZeroDivisionError):
        next(results)


def test_lists_of_different_lengths_are_refused():
    with pytest.raises(ValueError, match="shorter"):
        list(work_ahead(max, [1, 2], [1]))
