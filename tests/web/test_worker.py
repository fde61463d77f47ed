"""The process of a run, in this process."""

import json
import subprocess
import threading
from dataclasses import replace
from io import StringIO
from pathlib import Path

import pytest

from fewpoint.core.actions import AddObject, AddPoint, SetFraction
from fewpoint.evaluation.phantom import make_phantom
from fewpoint.io.points import hash_points
from fewpoint.io.projects import ProjectLog
from fewpoint.web import worker
from fewpoint.web.jobs import StoppedError
from fewpoint.web.orders import Order, result_folder, shown_folder
from fewpoint.web.shown import read_mask
from fewpoint.web.worker import Teller, work
from web.visits import QUICK_WORKER


@pytest.fixture
def order(root, monkeypatch) -> Order:
    """Two objects, of which the second is clicked on as the first is."""
    monkeypatch.setattr("fewpoint.pipeline.run.write_report", lambda *given: None)
    log = ProjectLog.create(root / "frames.fewpoint", root / "frames", (6, 48, 40))
    log.do(AddObject("b"))
    for name in ("object", "b"):
        for frame, y, x in make_phantom(n_frames=6, size=(48, 40)).points.coordinates.tolist():
            log.do(AddPoint(name, frame, y, x))
    log.do(SetFraction(0.3))
    log.close()
    folder = str(root / "frames.fewpoint.runs" / "1")
    version, objects = log.history.version, tuple(each.id for each in log.project.objects)
    settings = str(root / "tiny.toml")
    return Order(str(log.path), version, objects, str(root / "frames"), folder, device="cpu", config=settings)


def run(order: Order, stop: threading.Event | None = None) -> list[dict]:
    stream = StringIO()
    work(order, Teller(stream), stop or threading.Event())
    return [json.loads(line) for line in stream.getvalue().splitlines()]


def test_objects_are_segmented_one_after_another_as_one_course_of_epochs(order, root):
    events = run(order)
    assert events[-1] == {"kind": "ended", "state": "finished", "error": ""}
    progress = [event for event in events if event["kind"] == "progress"]
    assert any(event["phase"].startswith("object 1 of 2: ") for event in progress)
    assert any(event["phase"].startswith("object 2 of 2: ") for event in progress)
    learning = [event["epoch"] for event in progress if event["epochs"]]
    assert learning == sorted(learning) and max(learning) > progress[-1]["epochs"] / 2
    folder = root / "frames.fewpoint.runs" / "1"
    for number in order.objects:
        assert (result_folder(folder, number) / "manifest.json").exists()
        assert read_mask(shown_folder(folder, number) / "masks.npy", 1, (48, 40)).any()


def test_a_bound_that_cannot_be_is_told_in_one_line(order):
    log = ProjectLog.open(Path(order.project))
    log.do(SetFraction(0.0001))
    log.close()
    ended = run(replace(order, version=order.version + 1))[-1]
    assert ended["state"] == "failed" and "superpixels under the points already cover" in ended["error"]


def test_an_error_nobody_foresaw_is_told_with_its_cause(order, monkeypatch, capsys):
    def burst(*given):
        raise ZeroDivisionError("of all things")

    monkeypatch.setattr(worker, "run_order", burst)
    assert run(order)[-1]["error"] == "the training stopped with ZeroDivisionError: of all things"
    assert "Traceback" in capsys.readouterr().err


def test_a_stop_before_the_first_look_leaves_nothing(order, root):
    stop = threading.Event()
    stop.set()
    assert run(order, stop)[-1] == {"kind": "ended", "state": "cancelled", "error": ""}
    assert not shown_folder(root / "frames.fewpoint.runs" / "1", 0).exists()


def test_a_refinement_goes_on_from_the_networks_of_a_run_and_takes_negative_points(order, root):
    first = replace(order, objects=(0,))
    run(first)
    log = ProjectLog.open(Path(order.project))
    log.do(AddPoint("object", 1, 0, 0, positive=False))
    log.close()
    folder = str(root / "frames.fewpoint.runs" / "2")
    refined = run(
        replace(first, version=order.version + 1, folder=folder, refined_from=first.folder, objects=order.objects)
    )
    assert refined[-1]["state"] == "finished", refined[-1]
    assert not read_mask(shown_folder(Path(folder), 0) / "masks.npy", 1, (48, 40))[0, 0]
    manifest = json.loads((result_folder(Path(folder), 0) / "manifest.json").read_text())
    assert manifest["refined_from"] == str(result_folder(Path(first.folder), 0))
    points = log.project.objects[0].to_points()
    assert points.negatives.tolist() == [[1, 0, 0]] and manifest["identity"]["points"] == hash_points(points)
    # The second object was not in the first run.
    assert [event["text"] for event in refined if event["kind"] == "note"] == [
        "b was not in the run to be refined, so that it is trained anew"
    ]
    phases = [event["phase"] for event in refined if event["kind"] == "progress"]
    assert "object 1 of 2: refinement" in phases and "object 1 of 2: warm-up" not in phases
    assert "object 2 of 2: warm-up" in phases


def test_a_run_that_was_stopped_early_cannot_be_refined_and_says_so(order, root):
    stop = threading.Event()
    first = replace(order, objects=(0,))
    stop.set()
    run(first, stop)
    again = replace(first, folder=str(root / "frames.fewpoint.runs" / "2"), refined_from=first.folder)
    notes = [event["text"] for event in run(again, stop) if event["kind"] == "note"]
    assert len(notes) == 1 and notes[0].startswith("object is trained anew: ")


def test_the_process_ends_with_the_server(order):
    """Its standard input ends when the server dies, by whatever means."""
    Path(order.folder).mkdir(parents=True)
    long = replace(order, changes=("phases.warmup_epochs=4000",))
    done = subprocess.run(
        QUICK_WORKER, input=json.dumps(long.as_table()) + "\n", capture_output=True, text=True, check=False, timeout=120
    )
    assert done.returncode == 1 and '"kind":"ended"' not in done.stdout


def test_a_stop_is_not_taken_for_an_error_of_the_user():
    from fewpoint.errors import FewpointError

    assert not issubclass(StoppedError, FewpointError)
