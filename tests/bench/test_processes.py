"""Jobs in processes of their own."""

import os
import sys
import time
from pathlib import Path

import pytest

from fewpoint.bench.processes import Job, run_jobs

# A worker that does what its order says: Python code.
COMMAND = (sys.executable, "-c", "import json, sys; exec(json.loads(sys.stdin.readline())['code'])")


def make_job(code: str, name: str = "job") -> Job:
    return Job(name, "kind", {"code": code}, Path("unused"))


def run(*codes: str, workers: int = 2, listener=lambda standing: None):
    jobs = [make_job(code, f"job {index}") for index, code in enumerate(codes)]
    return {outcome.job.name: outcome for outcome in run_jobs(jobs, workers, COMMAND, listener)}


def test_a_crash_and_a_kill_are_reported_and_stop_nothing_else(tmp_path):
    outcomes = run(
        "raise ValueError('no frames')",
        "import os; os.kill(os.getpid(), 9)",
        "raise SystemExit(3)",
        f"open({str(tmp_path / 'made')!r}, 'w').close()",
    )
    assert outcomes["job 0"].error.endswith("ValueError: no frames")
    assert outcomes["job 1"].error == "the worker was killed by SIGKILL; out of memory?"
    assert outcomes["job 2"].error == "the worker left with code 3 and without a word"
    assert outcomes["job 3"].error == ""
    assert (tmp_path / "made").exists()


def test_much_that_is_said_does_not_block_a_worker():
    outcomes = run("import sys; sys.stderr.write('x' * 300000); print('y' * 300000)")
    assert outcomes["job 0"].error == ""


def test_no_more_run_at_once_than_there_are_workers_and_all_are_counted():
    seen = []
    run(*["import time; time.sleep(0.05)"] * 5, workers=2, listener=seen.append)
    assert max(len(standing.running) for standing in seen) == 2
    assert {standing.total for standing in seen} == {5}
    assert [standing.done for standing in seen if standing.ended] == [1, 2, 3, 4, 5]
    assert seen[0].seconds_left is None and seen[-1].seconds_left == 0


def test_workers_share_the_cores_unless_told_otherwise(tmp_path, monkeypatch):
    monkeypatch.delenv("OMP_NUM_THREADS", raising=False)
    path = tmp_path / "threads"
    code = f"import os; open({str(path)!r}, 'w').write(os.environ['OMP_NUM_THREADS'])"
    run(code, workers=2)
    assert int(path.read_text()) == max(1, os.cpu_count() // 2)
    monkeypatch.setenv("OMP_NUM_THREADS", "7")
    run(code, workers=2)
    assert path.read_text() == "7"


def test_on_ctrl_c_no_worker_is_left_running(tmp_path):
    path = tmp_path / "pid"
    code = f"import os, time; open({str(path)!r}, 'w').write(str(os.getpid())); time.sleep(60)"

    def interrupt(standing):
        while len(standing.running) == 2 and not (path.exists() and path.read_text()):
            time.sleep(0.01)
        if len(standing.running) == 2:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        run(code, "import time; time.sleep(60)", listener=interrupt)
    with pytest.raises(ProcessLookupError):
        os.kill(int(path.read_text()), 0)
