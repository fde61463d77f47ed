"""Jobs on a real Ray cluster of three nodes."""

import os
import time
from pathlib import Path

import pytest

from clusters import STORE_BYTES, start_cluster
from engines.orders import make_job
from engines.test_processes import REFUSE, count_open_files, measure_memory_mb
from fewpoint.engines.cluster import Needs, RayEngine
from fewpoint.engines.jobs import run_jobs
from fewpoint.errors import SettingsError

pytestmark = pytest.mark.ray


@pytest.fixture(scope="module")
def address():
    with start_cluster() as cluster:
        yield cluster.address


def run(address, *codes: str, listener=lambda standing: None, retries: int = 0, **options):
    jobs = [make_job(code, f"job {index}") for index, code in enumerate(codes)]
    outcomes = run_jobs(jobs, RayEngine(address, **options), listener, retries)
    return {outcome.job.name: outcome for outcome in outcomes}


def test_three_nodes_of_one_core_run_three_jobs_at_once_which_end_as_on_one_machine(address, tmp_path):
    seen = []
    meet = (
        f"import os, time; folder = {str(tmp_path)!r}; open(folder + '/' + str(os.getpid()), 'w').close()\n"
        "while len(os.listdir(folder)) < 3: time.sleep(0.05)"
    )
    outcomes = run(
        address,
        "raise ValueError('no frames')",
        "import os; os.kill(os.getpid(), 9)",
        REFUSE,
        *[meet] * 3,
        listener=seen.append,
    )
    assert outcomes["job 0"].error.endswith("ValueError: no frames")
    assert outcomes["job 1"].error == "the worker was killed by SIGKILL; out of memory?"
    assert outcomes["job 2"].refused and outcomes["job 2"].error.endswith("InputError: no frames")
    assert [outcomes[f"job {index}"].error for index in (3, 4, 5)] == [""] * 3
    assert [standing.done for standing in seen if standing.ended] == [1, 2, 3, 4, 5, 6]


def test_a_worker_of_ray_that_is_killed_costs_an_attempt_and_its_process_ends_with_it(address, tmp_path):
    mark, pid = tmp_path / "mark", tmp_path / "pid"
    code = (
        f"import os, signal, time\nif not os.path.exists({str(mark)!r}):\n"
        f"    open({str(mark)!r}, 'w').close()\n    open({str(pid)!r}, 'w').write(str(os.getpid()))\n"
        "    os.kill(os.getppid(), signal.SIGKILL)\n    time.sleep(600)"
    )
    outcome = run(address, code, retries=1)["job 0"]
    assert (outcome.error, outcome.attempt) == ("", 2)
    deadline = time.monotonic() + 180
    while Path(f"/proc/{pid.read_text()}").exists():
        assert time.monotonic() < deadline
        time.sleep(0.05)


def test_no_more_than_asked_for_are_in_hand_at_once(address):
    seen = []
    run(address, *["import time; time.sleep(0.2)"] * 4, listener=seen.append, jobs=1)
    assert max(len(standing.running) for standing in seen) == 1


def test_a_thousand_jobs_leave_the_driver_no_larger(address):
    """Work that does nothing, in Ray's own worker: what is measured is the driver.

    Against the first hundred at most twenty open files more, for Ray opens connections as it likes, and less than
    16 MiB: it keeps some kilobytes of each task.
    """
    engine = RayEngine(address)
    jobs = [make_job("") for _ in range(1000)]
    with engine:
        engine._perform = _nothing(engine)
        _drain(engine, jobs[:100])
        files, memory = count_open_files(), measure_memory_mb()
        _drain(engine, jobs)
        assert engine.running == () and count_open_files() <= files + 20
        assert measure_memory_mb() - memory < 16


def _drain(engine, jobs) -> None:
    for job in jobs:
        engine.start(job)
    ended = []
    while len(ended) < len(jobs):
        ended += engine.wait(1.0)
    assert {outcome.error for outcome in ended} == {""}


def _nothing(engine):
    def perform(work, order, on_gpu, trust):
        yield "started", "here"
        yield "", False

    return engine._ray.remote(num_returns="streaming", max_retries=0)(perform)


def test_workers_of_ray_import_nothing_from_the_folder_that_they_are_called_in(address, tmp_path, monkeypatch):
    ran = tmp_path / "ran"
    for name in ("fewpoint", "pyarrow", "random"):  # all of which a worker imports
        (tmp_path / f"{name}.py").write_text(f"open({str(ran)!r}, 'w')\nraise ImportError")
    monkeypatch.chdir(tmp_path)
    assert run(address, "pass")["job 0"].error == ""
    assert not ran.exists() and Path.cwd() == tmp_path


def test_a_job_that_asks_for_no_gpu_sees_none(address, tmp_path):
    path = tmp_path / "seen"
    code = f"import os; open({str(path)!r}, 'w').write(repr(os.environ.get('CUDA_VISIBLE_DEVICES')))"
    assert run(address, code)["job 0"].error == ""
    assert path.read_text() == "''"


def test_needs_limit_how_many_fit(address):
    with RayEngine(address, needs=Needs(cpus=1.0)) as engine:
        assert engine.slots == 3
    with RayEngine(address, jobs=2) as engine:
        assert engine.slots == 2


@pytest.mark.parametrize(
    ("address", "words"),
    [("ray://head:10001", "give --address HOST:6379"), ("127.0.0.1:1", "no Ray cluster answers at 127.0.0.1:1")],
)
def test_a_cluster_that_cannot_be_reached_is_one_line(address, words):
    with pytest.raises(SettingsError, match=words):
        RayEngine(address)


def test_without_ray_the_error_names_the_extra(monkeypatch):
    monkeypatch.setitem(__import__("sys").modules, "ray", None)
    with pytest.raises(SettingsError, match=r"pip install 'fewpoint\[ray\]'"):
        RayEngine()


def test_no_job_is_left_when_the_driver_leaves(address, tmp_path):
    path = tmp_path / "pid"
    code = f"import os, time; open({str(path)!r}, 'w').write(str(os.getpid())); time.sleep(600)"

    def interrupt(standing):
        if path.exists() and path.read_text():
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        run(address, code, listener=interrupt)
    deadline = time.monotonic() + 180
    while os.path.exists(f"/proc/{path.read_text()}"):
        assert time.monotonic() < deadline
        time.sleep(0.05)


def test_the_loss_of_the_only_machine_costs_no_attempt_and_its_jobs_go_on_with_the_next(tmp_path):
    """One that holds what Ray knows, but no job, and another for the jobs, which is lost twice."""
    mark, told = tmp_path / "mark", []
    wait = f"while os.path.getsize({str(mark)!r}) < 3: time.sleep(0.05)"
    code = f"import os, time\nopen({str(mark)!r}, 'a').write('x')\n{wait}"
    with start_cluster(nodes=1, cpus=0) as cluster:
        machines = [cluster.add_node(num_cpus=1, object_store_memory=STORE_BYTES)]

        def listen(standing):
            told.extend([standing.failed] if standing.failed else [])
            begun = mark.stat().st_size if mark.exists() else 0
            if begun == len(machines) <= 2:
                cluster.remove_node(machines[-1])
                machines.append(None)
            elif machines[-1] is None and len(told) == len(machines) - 1:
                machines[-1] = cluster.add_node(num_cpus=1, object_store_memory=STORE_BYTES)

        outcome = run(cluster.address, code, listener=listen, retries=0)["job 0"]
    assert (outcome.error, outcome.attempt) == ("", 1)
    assert [(each.lost, each.attempt) for each in told] == [(True, 1)] * 2
