"""Jobs in processes of this machine."""

import os
import time
from pathlib import Path

import pytest

from engines.orders import make_job
from fewpoint.engines import processes
from fewpoint.engines.jobs import run_jobs
from fewpoint.engines.processes import GpuShares, LocalEngine, find_gpus
from fewpoint.errors import DeviceError, SettingsError

REFUSE = "from fewpoint.errors import InputError; raise InputError('no frames')"


def run(*codes: str, jobs: int = 2, listener=lambda standing: None, retries: int = 0):
    all_jobs = [make_job(code, f"job {index}") for index, code in enumerate(codes)]
    return {outcome.job.name: outcome for outcome in run_jobs(all_jobs, LocalEngine(jobs), listener, retries)}


def test_a_crash_and_a_kill_are_reported_and_stop_nothing_else(tmp_path):
    outcomes = run(
        "raise ValueError('no frames')",
        "import os; os.kill(os.getpid(), 9)",
        "raise SystemExit(4)",
        f"open({str(tmp_path / 'made')!r}, 'w').close()",
    )
    assert outcomes["job 0"].error.endswith("ValueError: no frames")
    assert outcomes["job 1"].error == "the worker was killed by SIGKILL; out of memory?"
    assert outcomes["job 2"].error == "the worker exited with code 4 and no message"
    assert outcomes["job 3"].error == ""
    assert (tmp_path / "made").exists()


def test_much_that_is_said_does_not_block_a_worker():
    outcomes = run("import sys; sys.stderr.write('x' * 300000); print('y' * 300000)")
    assert outcomes["job 0"].error == ""


def test_no_more_run_at_once_than_there_is_room_for_and_all_are_counted():
    seen = []
    run(*["import time; time.sleep(0.05)"] * 5, jobs=2, listener=seen.append)
    assert max(len(standing.running) for standing in seen) == 2
    assert {standing.total for standing in seen} == {5}
    assert [standing.done for standing in seen if standing.ended] == [1, 2, 3, 4, 5]
    assert seen[0].seconds_left is None and seen[-1].seconds_left == 0


def test_a_job_that_fails_is_tried_again_after_the_others_and_each_failure_is_told(tmp_path):
    mark = tmp_path / "mark"
    once = f"import os; p = {str(mark)!r}; os.path.exists(p) or (open(p, 'w').close(), os.kill(os.getpid(), 9))"
    seen = []
    outcomes = run(once, "", jobs=1, listener=seen.append, retries=2)
    assert {name: (outcome.error, outcome.attempt) for name, outcome in outcomes.items()} == {
        "job 0": ("", 2),
        "job 1": ("", 1),
    }
    assert [standing.ended.job.name for standing in seen if standing.ended] == ["job 1", "job 0"]
    assert [standing.failed.attempt for standing in seen if standing.failed] == [1]


def test_after_so_many_retries_a_job_has_failed():
    outcome = run("import os; os.kill(os.getpid(), 9)", retries=2)["job 0"]
    assert outcome.attempt == 3 and "SIGKILL" in outcome.error


def test_a_job_that_is_refused_is_not_tried_again():
    outcome = run(REFUSE, retries=5)["job 0"]
    assert (outcome.attempt, outcome.refused) == (1, True)
    assert outcome.error.endswith("InputError: no frames")


def test_workers_share_the_cores_unless_told_otherwise(tmp_path, monkeypatch):
    monkeypatch.delenv("OMP_NUM_THREADS", raising=False)
    path = tmp_path / "threads"
    code = f"import os; open({str(path)!r}, 'w').write(os.environ['OMP_NUM_THREADS'])"
    run(code, jobs=2)
    assert int(path.read_text()) == max(1, os.cpu_count() // 2)
    monkeypatch.setenv("OMP_NUM_THREADS", "7")
    run(code, jobs=2)
    assert path.read_text() == "7"


def test_on_ctrl_c_no_worker_is_left_running(tmp_path):
    path = tmp_path / "pid"
    code = f"import os, time; open({str(path)!r}, 'w').write(str(os.getpid())); time.sleep(600)"

    def interrupt(standing):
        while len(standing.running) == 2 and not (path.exists() and path.read_text()):
            time.sleep(0.01)
        if len(standing.running) == 2:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        run(code, "import time; time.sleep(600)", listener=interrupt)
    with pytest.raises(ProcessLookupError):
        os.kill(int(path.read_text()), 0)


def test_each_job_sees_one_gpu_and_all_gpus_are_filled_alike(tmp_path, monkeypatch):
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "4,7")
    code = f"import os; open({str(tmp_path)!r} + '/' + str(os.getpid()), 'w').write(os.environ['CUDA_VISIBLE_DEVICES'])"
    engine = LocalEngine(gpus_per_job=0.5)
    assert engine.slots == 4
    assert all(not outcome.error for outcome in run_jobs([make_job(code)] * 4, engine, lambda standing: None))
    assert sorted(path.read_text() for path in tmp_path.iterdir()) == ["4", "4", "7", "7"]


def test_jobs_may_be_fewer_than_the_gpus_hold_but_not_more(monkeypatch):
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "0,1")
    assert [LocalEngine(jobs, 1 / 3).slots for jobs in (None, 2, 60)] == [6, 2, 6]


def test_a_share_of_a_gpu_that_is_not_there_is_refused(monkeypatch):
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "-1")
    assert find_gpus() == ()
    with pytest.raises(DeviceError, match="shows none; leave it out"):
        LocalEngine(gpus_per_job=0.5)
    with pytest.raises(SettingsError, match="must lie in 0 to 1, got 2"):
        GpuShares(("0",), 2.0)


def count_open_files() -> int:
    return len(os.listdir("/proc/self/fd"))


def measure_memory_mb() -> float:
    """Memory that this process holds now."""
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE") / 2**20


@pytest.mark.nightly
@pytest.mark.skipif(not Path("/proc/self/fd").exists(), reason="counts open files as Linux shows them")
def test_a_thousand_jobs_leave_the_driver_no_larger(monkeypatch):
    """No open file more, and less than 8 MiB: a kilobyte a job for its outcome, and what the allocator holds."""
    monkeypatch.setattr(processes, "POLL_SECONDS", 0.01)
    # A worker that does nothing: what is measured is the driver, and Python itself would take a minute to start.
    monkeypatch.setattr(processes, "COMMAND", ("/bin/sh", "-c", "read line"))
    run(*[""] * 20)
    files, memory = count_open_files(), measure_memory_mb()
    assert len(run(*[""] * 1000)) == 1000
    assert count_open_files() == files
    assert measure_memory_mb() - memory < 8
