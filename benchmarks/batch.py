"""How many sequences a batch does in a time: two jobs beside one, and Ray beside plain processes, in turns.

Phantoms are segmented by `fewpoint batch`'s own worker, with few epochs, so that starting processes weighs more than in
real work; a job that does nothing shows what an engine costs by itself.
"""

import argparse
import os
import statistics
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import numpy as np

from fewpoint.batch.worker import WORK, ItemOrder
from fewpoint.core import job as jobs
from fewpoint.engines.cluster import RayEngine
from fewpoint.engines.jobs import Engine, Job, run_jobs
from fewpoint.engines.processes import LocalEngine
from fewpoint.evaluation.phantom import make_phantom
from fewpoint.io.jobs import parse_changes
from fewpoint.io.points import write_points

FRAMES, SIDE = 8, 64
SHORTER = ["warmup.epochs=3", "rounds.round_epochs=3", "training.frames_per_epoch=16"]
NOTHING = "builtins:len"


def write_phantoms(folder: Path, count: int) -> list[jobs.Job]:
    bounds = ((jobs.EVERY, jobs.GivenBound(0.25)),)
    same = jobs.Job(preset="fast", changes=parse_changes(SHORTER), bounds=bounds, device="cpu")
    items = []
    for seed in range(count):
        phantom = make_phantom(FRAMES, (SIDE, SIDE), seed)
        frames, points = folder / f"{seed}.npy", folder / f"{seed}.csv"
        np.save(frames, phantom.sequence.frames)
        write_points(phantom.points, points)
        items.append(replace(same, name=f"phantom{seed}", input=str(frames), points=str(points)))
    return items


def order(item: jobs.Job, out: Path) -> Job:
    files = (out / item.name, out / f"{item.name}.json", out / f"{item.name}.log")
    return Job(item.name, "item", WORK, ItemOrder(item, *map(str, files)).as_table(), files[-1])


def clock(jobs: list[Job], engine: Engine) -> float:
    """Seconds for all jobs; a failure is an error. Connecting to the cluster is not counted."""
    started = []
    outcomes = run_jobs(jobs, engine, lambda standing: started or started.append(time.perf_counter()))
    seconds = time.perf_counter() - started[0]
    failed = [outcome for outcome in outcomes if outcome.error]
    if failed:
        raise SystemExit(f"{failed[0].job.name} failed: {failed[0].error}")
    return seconds


@contextmanager
def start_ray(cores: int) -> Iterator[str]:
    """A cluster of one node on this machine, its workers warm; its address."""
    from ray.cluster_utils import Cluster

    cluster = Cluster(initialize_head=True, head_node_args={"num_cpus": cores, "include_dashboard": False})
    try:
        run_jobs([nothing(index) for index in range(2 * cores)], RayEngine(cluster.address), lambda standing: None)
        yield cluster.address
    finally:
        cluster.shutdown()


def nothing(index: int) -> Job:
    return Job(f"nothing {index}", "nothing", NOTHING, {}, Path(os.devnull))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--items", type=int, default=4, help="phantoms a turn")
    parser.add_argument("--turns", type=int, default=3)
    parser.add_argument("--empty", type=int, default=40, help="jobs that do nothing, a turn")
    options = parser.parse_args()
    cores = os.cpu_count() or 1
    times: dict[str, list[float]] = {}
    with tempfile.TemporaryDirectory() as name, start_ray(2) as address:
        items = write_phantoms(Path(name), options.items)
        empty = [nothing(index) for index in range(options.empty)]
        for turn in range(options.turns):
            for what, engine in {
                "1 job": LocalEngine(1),
                "2 jobs": LocalEngine(2),
                "2 jobs, Ray": RayEngine(address),
            }.items():
                out = Path(name) / f"{turn}-{what}"
                out.mkdir()
                times.setdefault(what, []).append(clock([order(item, out) for item in items], engine))
                times.setdefault(f"empty, {what}", []).append(clock(empty, engine) / options.empty)
                print(turn, what, *(f"{times[key][-1]:.2f} s" for key in (what, f"empty, {what}")), flush=True)
    one, two, ray = (statistics.median(times[what]) / options.items for what in ("1 job", "2 jobs", "2 jobs, Ray"))
    plain, placed = (statistics.median(times[f"empty, {what}"]) for what in ("2 jobs", "2 jobs, Ray"))
    print(f"{options.items} phantoms a turn, {options.turns} turns, {cores} cores, medians")
    print(f"1 job: {one:.2f} s a sequence; 2 jobs: {two:.2f} s; throughput x {one / two:.2f}")
    print(f"2 jobs placed by Ray: {ray:.2f} s a sequence, x {ray / two:.2f} of the time of plain processes")
    print(f"a job that does nothing: {1000 * plain:.0f} ms in plain processes, {1000 * placed:.0f} ms placed by Ray")


if __name__ == "__main__":
    main()
