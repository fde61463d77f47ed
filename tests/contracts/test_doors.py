"""One project gives one run, whichever door it comes in by: the same identity and the same masks to the bit."""

import json
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import pytest

import fewpoint
from fewpoint.cli.main import run
from fewpoint.core.actions import AddObject, AddPoint, Brush, RenameObject, SetBox, SetFraction, SetSettings, SetSize
from fewpoint.core.job import Job
from fewpoint.core.run_lengths import encode_mask
from fewpoint.evaluation.phantom import make_objects
from fewpoint.io.given_words import parse_words
from fewpoint.io.jobs import read_changes
from fewpoint.io.points import write_points
from fewpoint.io.projects import ProjectLog, read_project, runs_folder
from fewpoint.io.rows import Row, build_job
from fewpoint.io.runs import load_result, read_told
from fewpoint.methods.default import FAST
from fewpoint.methods.resolve import change_settings
from fewpoint.runs.jobs import read_job, run_job
from fewpoint.web.orders import result_folder
from synthetic import save_frames, save_settings
from tiny_runs import TINY

SEED = 5
SIZE = (48, 40)


@dataclass(frozen=True)
class Study:
    """A project of two objects, one with an outlined frame, one with a box and a size, and settings of a second."""

    folder: Path

    @classmethod
    def make(cls, folder: Path) -> "Study":
        phantom = make_objects(n_frames=4, size=SIZE)
        save_frames(phantom.sequence.frames, folder / "frames")
        save_settings(TINY, folder / "tiny.toml")
        log = ProjectLog.create(folder / "both.fewpoint", folder / "frames", (4, *SIZE))
        log.do(RenameObject("object", "object 1"))
        log.do(AddObject("object 2"))
        for (frame, y, x), name in zip(phantom.points.coordinates.tolist(), phantom.points.objects, strict=True):
            log.do(AddPoint(name, frame, y, x))
        y, x = phantom.points.of_object("object 2").coordinates[1, 1:].tolist()
        said = (
            Brush("object 1", 2, encode_mask(phantom.labels[2] == 1)),
            SetBox("object 2", 1, y - 12, x - 10, min(y + 12, SIZE[0]), min(x + 10, SIZE[1])),
            SetSize("object 2", 1.2),
            SetSize("object 2", 0.8, 3),
            SetFraction(0.4),
            SetSettings("fast", SEED),
        )
        for action in said:
            log.do(action)
        log.close()
        return cls(folder)

    @property
    def project(self) -> Path:
        return self.folder / "both.fewpoint"

    @property
    def config(self) -> Path:
        return self.folder / "tiny.toml"

    def by_command(self) -> Path:
        out = self.folder / "by-command"
        options = ["--out", out, "--config", self.config, "--device", "cpu"]
        assert run(["segment", str(self.project), *map(str, options)]) == 0
        return out

    def by_batch(self) -> Path:
        out = self.folder / "by-batch"
        manifest = self.folder / "study.csv"
        manifest.write_text("name,input\nboth,both.fewpoint\n", encoding="utf-8")
        assert run(["batch", str(manifest), "--out", str(out), "--config", str(self.config), "--device", "cpu"]) == 0
        return out / "runs" / "both"

    def by_batch_of_points(self) -> Path:
        """The project as points of a row that names the frames."""
        out = self.folder / "by-points"
        manifest = self.folder / "points.csv"
        manifest.write_text("name,input,points\nboth,frames,both.fewpoint\n", encoding="utf-8")
        assert run(["batch", str(manifest), "--out", str(out), "--config", str(self.config), "--device", "cpu"]) == 0
        return out / "runs" / "both"

    def by_page(self) -> Path:
        """What the server makes of the project, in a process of its own."""
        pytest.importorskip("fastapi", reason="the annotator is not installed")
        from starlette.testclient import TestClient

        from fewpoint.web.places import Root
        from fewpoint.web.server import Options, create_app
        from web.visits import ADDRESS, start_run, wait_for

        job = Job(changes=read_changes(self.config), device="cpu")
        options = Options(Root.of(self.folder), job=job, store=self.folder / "kept")
        with TestClient(create_app(options), base_url=ADDRESS) as client:
            project = client.post("/api/projects", json={"project": "both.fewpoint"}).json()["id"]
            number = start_run(client, project)
            assert wait_for(client, project, number)["state"] == "finished"
        return result_folder(runs_folder(self.project) / str(number))

    def by_json(self) -> Path:
        """A job that travelled as JSON, run from Python."""
        out = self.folder / "by-json"
        job = Job(input=str(self.project), changes=read_changes(self.config), device="cpu")
        run_job(Job.from_table(json.loads(json.dumps(job.as_table()))), out)
        return out


@pytest.fixture(scope="module")
def study(tmp_path_factory) -> Study:
    return Study.make(tmp_path_factory.mktemp("doors"))


@pytest.fixture(scope="module")
def by_command(study) -> Path:
    return study.by_command()


def identity_of(folder: Path) -> dict:
    return json.loads((folder / "manifest.json").read_text(encoding="utf-8"))["identity"]


def test_the_run_is_what_the_project_says(study, by_command):
    identity = identity_of(by_command)
    box = read_project(study.project).project.bound_of("object 2").fraction
    assert identity["seed"] == SEED
    assert identity["bound"] == f"0.4, object 2={box!r}"
    words = dict(read_told(by_command)[1])
    assert words == dict(read_project(study.project).project.to_words())
    assert list(words["object 1"].outlined) == [2]
    assert ([box.frame for box in words["object 2"].boxes], words["object 2"].size) == ([1], 1.2)
    assert identity["words"] != "none"


@pytest.mark.parametrize(
    "door",
    [
        Study.by_batch,
        pytest.param(Study.by_batch_of_points, marks=pytest.mark.nightly),
        Study.by_json,
        Study.by_page,
    ],
    ids=lambda door: door.__name__,
)
def test_every_door_gives_the_run_of_the_command_line(study, by_command, door):
    other = door(study)
    assert identity_of(other) == identity_of(by_command)
    assert read_told(other)[1] == read_told(by_command)[1]
    here, there = load_result(by_command), load_result(other)
    assert [each.label for each in here.objects] == [each.label for each in there.objects]
    for one, two in zip(here.objects, there.objects, strict=True):
        assert one.masks.any()
        np.testing.assert_array_equal(one.masks, two.masks)
        np.testing.assert_array_equal(one.probabilities.values, two.probabilities.values)


def test_python_gives_the_masks_of_the_command_line(study, by_command):
    project = read_project(study.project).project
    result = fewpoint.segment(
        fewpoint.read_sequence(study.folder / "frames"),
        fewpoint.read_points(study.project, fewpoint.read_sequence(study.folder / "frames")),
        {each.name: project.bound_of(each.name).fraction for each in project.objects},
        words=dict(project.to_words()),
        settings=change_settings("", FAST, read_changes(study.config)),
        seed=project.seed,
    )
    for one, two in zip(load_result(by_command).objects, result.objects, strict=True):
        np.testing.assert_array_equal(one.masks, two.masks)


def test_the_words_of_a_project_can_be_given_as_options_and_columns(study, by_command, tmp_path):
    """The same words about the same points, but for the project: masks from a file, boxes and sizes as text."""
    words, frames = dict(read_told(by_command)[1]), study.folder / "frames"
    np.save(tmp_path / "drawn.npy", np.array([words["object 1"].mask(2, SIZE)]))
    box = words["object 2"].boxes[0]
    text = f"object 2={box.frame},{box.top},{box.left},{box.bottom},{box.right}"
    write_points(read_told(by_command)[0], tmp_path / "points.csv")
    jobs = [
        Job(added_words=parse_words(["object 1=2=drawn.npy"], [text], ["object 2=1.2", "object 2=3:0.8"])).with_paths(
            lambda path: str(tmp_path / path)
        ),
        build_job(
            Row(
                "line 2",
                tmp_path,
                {
                    "input": str(frames),
                    "points": "points.csv",
                    "outlined": "object 1=2=drawn.npy",
                    "boxes": text,
                    "size": "object 2=1.2; object 2=3:0.8",
                },
            ),
            Job(),
        ),
    ]
    for job in jobs:
        task = read_job(
            replace(job, input=str(frames), points=str(tmp_path / "points.csv"), preset="fast", device="cpu")
        )
        assert dict(task.words) == words
        assert task.identity().words == identity_of(by_command)["words"]


@pytest.mark.nightly
def test_a_seed_of_0_can_be_asked_for_although_the_project_has_another(study):
    out = study.folder / "seed-0"
    options = ["--out", out, "--config", study.config, "--device", "cpu", "--seed", "0"]
    assert run(["segment", str(study.project), *map(str, options)]) == 0
    assert identity_of(out)["seed"] == 0
