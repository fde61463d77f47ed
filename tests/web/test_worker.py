"""The process of a run, in this process."""

import json
import shutil
import subprocess
import threading
from dataclasses import dataclass
from io import StringIO
from pathlib import Path

import numpy as np
import pytest

from fewpoint.core.actions import Action, AddObject, AddPoint, Brush, RemoveObject, RenameObject, SetFraction
from fewpoint.core.job import Changes, Job, OutputChoice
from fewpoint.errors import InputError
from fewpoint.evaluation.phantom import make_objects
from fewpoint.io.jobs import honour_project, read_changes
from fewpoint.io.projects import ProjectLog, RunRecord, read_project, runs_folder
from fewpoint.io.runs import load_result
from fewpoint.runs.jobs import StoppedError
from fewpoint.web import worker
from fewpoint.web.exporting import ExportOrder, write_export
from fewpoint.web.orders import Order, result_folder, shown_folder
from fewpoint.web.shown import read_plane
from fewpoint.web.worker import Teller, work
from synthetic import save_frames
from web.visits import QUICK_WORKER

SIZE = (48, 40)


@dataclass(frozen=True)
class Work:
    """A project of two objects, and the orders that a server makes of it."""

    root: Path

    @classmethod
    def make(cls, root: Path) -> "Work":
        phantom = make_objects(n_frames=6, size=SIZE)
        shutil.rmtree(root / "frames")
        save_frames(phantom.sequence.frames, root / "frames")
        log = ProjectLog.create(root / "frames.fewpoint", root / "frames", (6, *SIZE))
        log.do(RenameObject("object", "object 1"))
        log.do(AddObject("object 2"))
        for (frame, y, x), name in zip(phantom.points.coordinates.tolist(), phantom.points.objects, strict=True):
            log.do(AddPoint(name, frame, y, x))
        log.do(SetFraction(0.4))
        log.close()
        return cls(root)

    def do(self, *actions: Action) -> None:
        log = ProjectLog.open(self.root / "frames.fewpoint")
        for action in actions:
            log.do(action)
        log.close()

    def order(self, number: int = 1, refined: int | None = None, changes: Changes = ()) -> Order:
        file = read_project(self.root / "frames.fewpoint")
        runs = runs_folder(file.path)
        job = Job(
            changes=(*read_changes(self.root / "tiny.toml"), *changes),
            device="cpu",
            outputs=OutputChoice(report=False),
            refine=None if refined is None else str(result_folder(runs / str(refined))),
        )
        job = honour_project(job, file.project, str(self.root / "frames"))
        return Order(job, str(runs / str(number)), {each.name: each.id for each in file.project.clicked})


@pytest.fixture
def project(root) -> Work:
    return Work.make(root)


def run(order: Order, stop: threading.Event | None = None) -> list[dict]:
    stream = StringIO()
    work(order, Teller(stream), stop or threading.Event())
    return [json.loads(line) for line in stream.getvalue().splitlines()]


def mask_of(order: Order, name: str, frame: int = 1) -> np.ndarray:
    found = read_plane(shown_folder(Path(order.folder), order.objects[name]) / "masks.npy", 0, frame, SIZE)
    assert found is not None
    return found


def test_all_objects_are_one_run_and_each_is_shown_by_itself(project):
    order = project.order()
    events = run(order)
    assert events[-1] == {"kind": "ended", "state": "finished", "error": ""}
    learning = [event["epoch"] for event in events if event["kind"] == "progress" and event["epochs"]]
    assert learning == sorted(learning)
    assert {event["object"] for event in events if event["kind"] == "priors"} == set(order.objects.values())
    result = load_result(result_folder(Path(order.folder)))
    assert [each.name for each in result.objects] == sorted(order.objects)
    for each in result.objects:
        np.testing.assert_array_equal(mask_of(order, each.name), each.masks[1])
        assert (shown_folder(Path(order.folder), order.objects[each.name]) / "preview.npy").exists()
        assert (shown_folder(Path(order.folder), order.objects[each.name]) / "uncertainty.json").exists()


def test_an_export_has_the_objects_as_the_project_now_has_them(project):
    order = project.order()
    run(order)
    log = ProjectLog.open(project.root / "frames.fewpoint")
    log.record_run(RunRecord(1, log.history.version, tuple(order.objects.values()), "finished", best=True))
    log.close()
    project.do(RenameObject("object 1", "spleen"), Brush("spleen", 2, ((0, 7),)))

    def export() -> list[str]:
        version = read_project(project.root / "frames.fewpoint").history.version
        out = project.root / "export"
        write_export(ExportOrder(str(project.root / "frames.fewpoint"), version, 1, "coco", False, str(out)))
        table = json.loads((out / "masks.json").read_text(encoding="utf-8"))
        return [each["name"] for each in table["categories"]]

    assert export() == ["spleen", "object 2"]
    project.do(RemoveObject("object 2"))
    assert export() == ["spleen"]
    project.do(AddObject("other"), RemoveObject("spleen"))
    with pytest.raises(InputError, match="none of the objects of this run is left"):
        export()


def test_an_order_survives_the_way_to_the_process(project):
    order = project.order()
    assert Order.from_table(json.loads(json.dumps(order.as_table()))) == order


@pytest.mark.nightly
def test_a_setting_by_its_old_name_breaks_no_run(project):
    """In a process of its own, as the server starts it."""
    order = project.order(changes=(("refinement.taper", 0.5), ("refinement.rounds", 0)))
    pipes = dict.fromkeys(("stdin", "stdout", "stderr"), subprocess.PIPE)
    with subprocess.Popen(QUICK_WORKER, text=True, **pipes) as process:
        process.stdin.write(json.dumps(order.as_table()) + "\n")
        process.stdin.flush()
        *_, ended = process.stdout
        assert "is now called rounds.taper" in process.stderr.read()
    assert json.loads(ended) == {"kind": "ended", "state": "finished", "error": ""}
    manifest = json.loads((result_folder(Path(order.folder)) / "manifest.json").read_text(encoding="utf-8"))
    assert manifest["state"] == "finished"
    assert manifest["settings"]["rounds"]["taper"] == 0.5


def test_a_bound_that_cannot_be_is_told_in_one_line(project):
    project.do(SetFraction(0.0001))
    ended = run(project.order())[-1]
    assert ended["state"] == "failed" and "superpixels under the points already cover" in ended["error"]


def test_an_error_nobody_foresaw_is_told_with_its_cause(project, monkeypatch, capsys):
    def burst(*given):
        raise ZeroDivisionError("of all things")

    monkeypatch.setattr(worker, "run_order", burst)
    assert run(project.order())[-1]["error"] == "the training stopped with ZeroDivisionError: of all things"
    assert "Traceback" in capsys.readouterr().err


def test_a_stop_before_the_first_look_leaves_nothing(project):
    stop = threading.Event()
    stop.set()
    order = project.order()
    assert run(order, stop)[-1] == {"kind": "ended", "state": "cancelled", "error": ""}
    assert not any(shown_folder(Path(order.folder), number).exists() for number in order.objects.values())


def test_a_stop_after_a_look_keeps_what_was_seen_of_each_object(project):
    stop = threading.Event()
    order = project.order(changes=(("warmup.epochs", 400),))

    class Impatient(Teller):
        def say(self, event):
            super().say(event)
            if event.kind == "preview":
                stop.set()

    stream = StringIO()
    work(order, Impatient(stream), stop)
    assert json.loads(stream.getvalue().splitlines()[-1])["state"] == "cancelled"
    result = load_result(result_folder(Path(order.folder)))
    for each in result.objects:
        np.testing.assert_array_equal(mask_of(order, each.name), each.masks[1])


def test_a_refinement_goes_on_from_the_networks_of_a_run_and_takes_negative_points(project):
    first = project.order()
    run(first)
    project.do(AddPoint("object 1", 1, 0, 0, positive=False))
    second = project.order(2, refined=1)
    refined = run(second)
    assert refined[-1]["state"] == "finished", refined[-1]
    assert not mask_of(second, "object 1")[0, 0]
    manifest = json.loads((result_folder(Path(second.folder)) / "manifest.json").read_text())
    assert manifest["refined_from"] == str(result_folder(Path(first.folder)))
    phases = [event["phase"] for event in refined if event["kind"] == "progress"]
    assert "refinement" in phases and "warm-up" not in phases


@pytest.mark.nightly
def test_an_object_that_is_new_to_a_refinement_is_trained_from_scratch(project):
    run(project.order())
    project.do(AddObject("late"), AddPoint("late", 1, 40, 4), AddPoint("late", 3, 40, 4))
    second = project.order(2, refined=1)
    refined = run(second)
    assert refined[-1]["state"] == "finished", refined[-1]
    phases = {event["phase"] for event in refined if event["kind"] == "progress"}
    assert "warm-up" in phases and "refinement" not in phases  # nothing was said about the others
    assert mask_of(second, "late").any()


def test_the_process_ends_with_the_server(project):
    """Its standard input ends when the server dies, by whatever means."""
    order = project.order(changes=(("warmup.epochs", 4000),))
    Path(order.folder).mkdir(parents=True)
    table = json.dumps(order.as_table()) + "\n"
    done = subprocess.run(QUICK_WORKER, input=table, capture_output=True, text=True, check=False, timeout=120)
    assert done.returncode == 1 and '"kind":"ended"' not in done.stdout


def test_a_stop_is_not_taken_for_an_error_of_the_user():
    from fewpoint.errors import FewpointError

    assert not issubclass(StoppedError, FewpointError)
