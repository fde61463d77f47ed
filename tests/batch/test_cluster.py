"""A batch on a real Ray cluster of three nodes, of which workers, a node and the driver are lost."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from batch import pretend
from batch.studies import Study
from bench.datasets import Dataset
from clusters import start_cluster
from fewpoint.batch import run as batch_run
from fewpoint.batch.run import run_batch
from fewpoint.bench.run import run_suite
from fewpoint.bench.suite import read_suite
from fewpoint.core import Message
from fewpoint.engines.cluster import RayEngine
from fewpoint.io.atomic import read_json
from fewpoint.io.masks import read_masks
from fewpoint.runs.jobs import read_job
from fewpoint.runs.runner import run_task
from tiny_runs import TINY

ITEMS = 3
# Enough epochs that there is time to be lost in the middle of them.
SETTINGS = replace(TINY, warmup=replace(TINY.warmup, epochs=8))
DRIVER = """
import sys
from pathlib import Path
from batch import pretend
from batch.studies import Study
from fewpoint.batch import run
from fewpoint.engines.cluster import RayEngine
run.WORK = pretend.WITHOUT_REPORT
study = Study(Path(sys.argv[1]))
run.run_batch(study.check(), study.out.path, RayEngine(sys.argv[2], jobs=2), lambda told: None, retries=2)
"""

pytestmark = pytest.mark.ray


@pytest.fixture(scope="module")
def cluster():
    with start_cluster() as cluster:
        yield cluster


@pytest.fixture(autouse=True)
def quickly(monkeypatch):
    monkeypatch.setattr(batch_run, "WORK", pretend.WITHOUT_REPORT)


@pytest.fixture(scope="module")
def expected(tmp_path_factory) -> list[np.ndarray]:
    """Masks of the items, made in this process and not disturbed."""
    study = Study.make(tmp_path_factory.mktemp("reference"), ITEMS, SETTINGS)
    return [run_task(read_job(each.job)).masks for each in study.check().items]


def is_learning(study: Study, name: str) -> bool:
    """Whether an item has a checkpoint to go on from."""
    path = study.out.progress(name)
    progress = read_json(path) if path.exists() else {}
    return progress.get("stage") == "learning" and progress["done"] >= 1


class Misfortune:
    """A listener that kills the process of one item, then Ray's worker of another, then the node of a third."""

    def __init__(self, study: Study, cluster) -> None:
        self._study, self._cluster = study, cluster
        self._waiting = [self._kill_process, self._kill_worker, self._remove_node]
        self._hit: set[str] = set()
        self.failed: list[str] = []

    def __call__(self, told) -> None:
        if isinstance(told, Message):
            return
        if told.failed is not None:
            self.failed.append(told.failed.error)
        for name in told.running:
            if self._waiting and name not in self._hit and is_learning(self._study, name):
                self._hit.add(name)
                pid = read_json(self._study.out.progress(name))["pid"]
                with stopped(pid):
                    if is_learning(self._study, name) and self._waiting[0](pid):
                        self._waiting.pop(0)

    def _kill_process(self, pid: int) -> bool:
        os.kill(pid, signal.SIGKILL)
        return True

    def _kill_worker(self, pid: int) -> bool:
        os.kill(read_parent(pid), signal.SIGKILL)
        return True

    def _remove_node(self, pid: int) -> bool:
        """Not the first node, without which there is no cluster."""
        raylet = read_parent(read_parent(pid))
        for node in self._cluster.list_all_nodes()[1:]:
            if raylet in [info.process.pid for infos in node.all_processes.values() for info in infos]:
                self._cluster.remove_node(node, allow_graceful=False)
                return True
        self._hit.clear()
        return False

    @property
    def complete(self) -> bool:
        return not self._waiting


@contextmanager
def stopped(pid: int) -> Iterator[None]:
    """A process that cannot finish what it does in the meantime."""
    with suppress(ProcessLookupError):
        os.kill(pid, signal.SIGSTOP)
    yield
    with suppress(ProcessLookupError):
        os.kill(pid, signal.SIGCONT)


def read_parent(pid: int) -> int:
    return int(Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[1])


@pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="finds the parents of processes as Linux shows them")
def test_workers_and_a_node_lost_cost_attempts_and_all_masks_are_as_without(cluster, expected, tmp_path):
    study = Study.make(tmp_path, ITEMS, SETTINGS)
    misfortune = Misfortune(study, cluster)
    result = run_batch(study.check(), study.out.path, RayEngine(cluster.address), misfortune, retries=3)
    assert misfortune.complete and len(misfortune.failed) >= 3
    assert result.failures == ()
    assert {row["state"] for row in study.read_summary().values()} == {"finished"}
    assert sum(int(row["attempts"]) for row in study.read_summary().values()) == ITEMS + len(misfortune.failed)
    for index, masks in enumerate(expected):
        assert np.array_equal(read_masks(study.out.run(f"case{index}")), masks)


def test_a_driver_that_is_killed_and_started_again_keeps_finished_work(cluster, expected, tmp_path):
    study = Study.make(tmp_path, ITEMS, SETTINGS)
    driver = subprocess.Popen([sys.executable, "-c", DRIVER, str(tmp_path), cluster.address])
    deadline = time.monotonic() + 120

    def list_finished() -> list[str]:
        runs = study.out.path.glob("runs/*/manifest.json")
        return [path.parent.name for path in runs if read_json(path)["state"] == "finished"]

    while not list_finished():
        assert driver.poll() is None and time.monotonic() < deadline
        time.sleep(0.05)
    driver.send_signal(signal.SIGKILL)
    driver.wait()
    before = set(list_finished())
    result = run_batch(study.check(), study.out.path, RayEngine(cluster.address), lambda told: None, retries=2)
    assert before <= set(result.kept) and 1 <= len(result.kept) < ITEMS
    assert result.failures == ()
    for index, masks in enumerate(expected):
        assert np.array_equal(read_masks(study.out.run(f"case{index}")), masks)


def test_a_suite_of_the_bench_runs_on_the_same_engine(cluster, tmp_path, monkeypatch):
    monkeypatch.delenv("FEWPOINT_DATA", raising=False)
    dataset = Dataset.make(tmp_path)
    suite = read_suite(dataset.write_suite('sequences = ["ball/first"]'))
    result = run_suite(suite, tmp_path / "out", lambda standing: None, engine=RayEngine(cluster.address))
    assert result.failures == ()
    assert [(row.method, row.delta is not None) for row in result.rows] == [("all-positive", True), ("half-disc", True)]
