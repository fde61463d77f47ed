"""A batch in processes of this machine, with work that only pretends."""

import os
import signal
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path

import pytest

from batch import pretend
from fewpoint.batch import run as batch_run
from fewpoint.batch.page import list_concerns, render_index
from fewpoint.batch.run import BatchResult, run_after_first, run_batch
from fewpoint.batch.status import read_status
from fewpoint.core import Message
from fewpoint.engines.processes import LocalEngine
from fewpoint.errors import InputError, RunConflictError
from fewpoint.io.atomic import read_json
from fewpoint.report.health import FIGURES, Health

DRIVER = """
import sys
from pathlib import Path
from batch import pretend
from batch.studies import Study
from fewpoint.batch import run
from fewpoint.engines.processes import LocalEngine
run.WORK = pretend.WORK
study = Study(Path(sys.argv[1]))
run.run_batch(study.check(), study.out.path, LocalEngine(2), lambda told: None)
"""


@pytest.fixture(autouse=True)
def pretending(monkeypatch):
    monkeypatch.setattr(batch_run, "WORK", pretend.WORK)


def run(study, retries=0, checked=None) -> tuple[BatchResult, list]:
    told = []
    return run_batch(checked or study.check(), study.out.path, LocalEngine(2), told.append, retries), told


def wish(study, name: str, what: str) -> None:
    (study.folder / name / "wish.txt").write_text(what, encoding="utf-8")


def messages(told: list) -> list[str]:
    return [each.text for each in told if isinstance(each, Message)]


def test_every_item_has_a_run_folder_a_log_and_a_row(study):
    result, _ = run(study)
    assert result.failures == () and result.kept == ()
    rows = study.read_summary()
    assert list(rows) == ["case0", "case1", "case2"]
    assert {row["state"] for row in rows.values()} == {"finished"}
    assert {(row["seconds"], row["memory_mb"], row["device"], row["warnings"]) for row in rows.values()} == {
        ("1.0", "10.0", "cpu", "pretended")
    }
    assert len({row["largest_prior"] for row in rows.values()}) == 3
    for name in rows:
        assert read_json(study.out.run(name) / "manifest.json")["state"] == "finished"
        assert f'href="runs/{name}/report.html"' in study.out.index.read_text(encoding="utf-8")
    status = read_status(study.out.path)
    assert (status.state, status.counts, status.running) == ("finished", {"finished": 3}, {})


def test_failures_stay_alone_and_are_reported_after_their_retries_with_a_log(study):
    wish(study, "p0", "die")
    wish(study, "p1", "refuse")
    result, _ = run(study, retries=2)
    assert [entry.name for entry in result.failures] == ["case0", "case1"]
    rows = study.read_summary()
    assert (rows["case0"]["state"], rows["case0"]["attempts"]) == ("failed", "3")
    assert rows["case0"]["error"] == "the worker was killed by SIGKILL; out of memory?"
    assert (rows["case1"]["attempts"], rows["case1"]["error"]) == ("1", "InputError: the object is too shy")
    assert rows["case2"]["state"] == "finished"
    assert study.out.log("case0").read_text(encoding="utf-8").count("failed: the worker was killed by SIGKILL") == 3
    assert "Traceback" in study.out.log("case1").read_text(encoding="utf-8")
    page = study.out.index.read_text(encoding="utf-8")
    assert page.index("case0") < page.index("case2") and 'href="logs/case0.log"' in page


def test_what_is_killed_once_is_finished_by_its_retry(study):
    wish(study, "p0", "die once")
    result, told = run(study, retries=1)
    assert result.failures == ()
    assert study.read_summary()["case0"]["attempts"] == "2"
    assert [each.failed.job.name for each in told if not isinstance(each, Message) and each.failed] == ["case0"]


def test_the_same_batch_again_keeps_what_is_finished_and_tries_what_failed(study):
    wish(study, "p0", "refuse")
    run(study)
    before = {name: (study.out.run(name) / "manifest.json").stat().st_mtime_ns for name in ("case1", "case2")}
    (study.folder / "p0" / "wish.txt").unlink()
    result, told = run(study)
    assert result.kept == ("case1", "case2") and result.failures == ()
    assert messages(told) == ["2 of 3 were already finished and are kept"]
    assert {name: (study.out.run(name) / "manifest.json").stat().st_mtime_ns for name in before} == before
    assert {row["state"] for row in study.read_summary().values()} == {"finished"}


@pytest.mark.nightly
def test_changed_points_bounds_and_settings_are_run_again_and_said(study):
    run(study)
    points = study.folder / "p0" / "points.csv"
    lines = points.read_text(encoding="utf-8").splitlines()
    points.write_text("\n".join(lines[:-1]) + "\n", encoding="utf-8")
    study.write(
        "case0,p0/frames,p0/points.csv,0.3,",
        "case1,p1/frames,p1/points.csv,0.4,",
        "case2,p2/frames,p2/points.csv,0.3,training.batch=3",
        header="name,input,points,max_fraction,settings",
    )
    result, told = run(study)
    assert result.kept == () and result.failures == ()
    assert messages(told) == [
        "case0 is run again: different points",
        "case1 is run again: different size limit (0.3, now 0.4)",
        "case2 is run again: different settings",
    ]
    assert run(study)[0].kept == ("case0", "case1", "case2")


@pytest.mark.nightly
def test_a_result_that_was_removed_is_made_again(study):
    run(study)
    (study.out.run("case1") / "masks").rmdir()
    assert run(study, checked=study.check())[0].kept == ("case0", "case2")


def test_rows_left_out_stand_in_the_summary(study):
    study.write("case0,p0/frames,p0/points.csv,0.3", "gone,p9/frames,p0/points.csv,0.3")
    run(study)
    row = study.read_summary()["gone"]
    assert row["state"] == "bad" and "p9" in row["error"]
    assert "left out" in study.out.index.read_text(encoding="utf-8")


@pytest.mark.nightly
def test_ctrl_c_keeps_what_is_finished_and_leaves_nothing_half_written(study):
    wish(study, "p1", "sleep")
    checked = study.check()

    def interrupt(told) -> None:
        if not isinstance(told, Message) and told.done == 2:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        run_batch(checked, study.out.path, LocalEngine(2), interrupt)
    assert {name: row["state"] for name, row in study.read_summary().items()} == {
        "case0": "finished",
        "case1": "waiting",
        "case2": "finished",
    }
    assert read_status(study.out.path).state == "stopped"
    assert not list(study.out.path.rglob("*.partial")) and not list((study.out.path / "progress").iterdir())
    (study.folder / "p1" / "wish.txt").unlink()
    assert run(study)[0].kept == ("case0", "case2")


def is_alive(pid: int) -> bool:
    """Whether a process still works; one that has ended may wait for its new parent to take note."""
    try:
        os.kill(pid, 0)
        state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except (ProcessLookupError, FileNotFoundError):
        return False
    return state != "Z"


@pytest.mark.nightly
def test_while_it_runs_another_shell_is_told_and_a_second_driver_refused_and_its_death_costs_nothing(study):
    wish(study, "p1", "sleep")
    driver = subprocess.Popen([sys.executable, "-c", DRIVER, str(study.folder)])
    deadline = time.monotonic() + 120
    while not study.out.status.exists() or read_status(study.out.path).counts.get("finished") != 2:
        assert driver.poll() is None and time.monotonic() < deadline
        time.sleep(0.05)
    status = read_status(study.out.path)
    assert (status.state, list(status.running)) == ("running", ["case1"])
    assert status.running["case1"].startswith("reading on ")
    with pytest.raises(RunConflictError, match="another process works in"):
        run(study)
    worker = read_json(study.out.progress("case1"))["pid"]
    driver.send_signal(signal.SIGKILL)
    driver.wait()
    assert read_status(study.out.path).state == "stopped"
    (study.folder / "p1" / "wish.txt").unlink()
    result, _ = run(study)
    assert result.kept == ("case0", "case2") and result.failures == ()
    while is_alive(worker):
        assert time.monotonic() < deadline
        time.sleep(0.05)


@pytest.mark.nightly
def test_a_result_that_only_another_machine_has_is_a_failure_that_says_so(study, monkeypatch):
    def unseen(*given):
        raise InputError("cannot read manifest.json")

    monkeypatch.setattr(batch_run, "read_finished", unseen)
    result, _ = run(study)
    assert len(result.failures) == 3 and "visible to all machines" in result.failures[0].error


def test_a_folder_that_holds_something_else_is_refused_untouched(study):
    study.out.path.mkdir()
    (study.out.path / "thesis.txt").write_text("mine", encoding="utf-8")
    with pytest.raises(RunConflictError, match="holds no batch"):
        run(study)
    assert [entry.name for entry in study.out.path.iterdir()] == ["thesis.txt"]


def test_a_folder_without_a_batch_has_no_status(tmp_path):
    with pytest.raises(InputError, match="must be the folder of a batch"):
        read_status(tmp_path)


@pytest.mark.nightly
def test_worst_health_comes_first(study):
    result, _ = run(study)
    scores = {"case0": 0.9, "case1": 0.2, "case2": 0.5}
    entries = [
        replace(entry, health=Health(**{**dict.fromkeys(FIGURES, 0.7), "score": scores[entry.name]}))
        for entry in result.entries
    ]
    page = render_index("study", entries)
    assert page.index('id="case1"') < page.index('id="case2"') < page.index('id="case0"')
    assert len(list_concerns(entries[0])) == 3


def run_warm(study) -> tuple[BatchResult, list]:
    told = []
    return run_after_first(study.check(), study.check, study.out.path, LocalEngine(2), told.append), told


@pytest.mark.nightly
def test_the_first_item_that_leaves_networks_goes_ahead_and_the_others_start_from_them(study, monkeypatch):
    monkeypatch.setattr(batch_run, "WORK", pretend.WITHOUT_REPORT)
    (study.folder / "p0" / "points.csv").write_text("frame,y,x\n0,1,1\n", encoding="utf-8")
    study.write(
        "case0,p0/frames,p0/points.csv,0.0001",
        *(f"case{seed},p{seed}/frames,p{seed}/points.csv,0.3" for seed in (1, 2)),
    )
    result, told = run_warm(study)
    assert [entry.name for entry in result.failures] == ["case0"]  # the bound is smaller than what is clicked
    assert "the others start from the networks of case1" in messages(told)
    model = str(study.out.run("case1") / "model.npz")
    starts = {each.job.name: each.job.warm_start for each in study.check(Path(model)).items}
    assert starts == dict.fromkeys(["case0", "case1", "case2"], model)
    epochs = {name: read_json(study.out.run(name) / "manifest.json")["result"]["epochs"] for name in ("case1", "case2")}
    assert epochs["case2"] < epochs["case1"]  # a warm start takes fewer
    again, told = run_warm(study)
    assert set(again.kept) == {"case1", "case2"}


@pytest.mark.nightly
def test_where_no_item_leaves_networks_all_are_run_as_without(study):
    result, told = run_warm(study)
    assert result.failures == () and not any("start from" in text for text in messages(told))
    assert set(study.read_summary()) == {"case0", "case1", "case2"}
