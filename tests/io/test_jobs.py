"""Jobs from projects, TOML and JSON."""

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from fewpoint.bench.suite import read_suite
from fewpoint.core import Box, Words, actions
from fewpoint.core.job import EVERY, GivenBound, GivenWords, Job, OutlineFile, OutputChoice, PlainPoints
from fewpoint.core.source import Reading
from fewpoint.errors import InputError, SettingsError
from fewpoint.io.jobs import join_bounds, load_job, parse_changes, read_changes, settle_job, write_job
from fewpoint.io.projects import ProjectLog
from fewpoint.methods.paper import PAPER
from fewpoint.methods.resolve import change_settings


def make_project(folder: Path, *more: actions.Action) -> Path:
    """Two objects, one of them with a box, on three frames of 10 x 20."""
    np.save(folder / "scan.npy", np.zeros((3, 10, 20), np.uint8))
    log = ProjectLog.create(folder / "scan.fewpoint", folder / "scan.npy", (3, 10, 20))
    said = (
        actions.AddPoint("object", 0, 4, 5),
        actions.AddObject("spleen"),
        actions.AddPoint("spleen", 1, 6, 7),
        actions.SetBox("spleen", 1, 2, 3, 7, 13),
        actions.SetFraction(0.3),
        actions.SetSettings("fast", 7),
    )
    for action in (*said, *more):
        log.do(action)
    log.close()
    return folder / "scan.fewpoint"


BOX = GivenBound(box=(1, 2, 3, 7, 13))


@pytest.mark.parametrize("named", ["input", "points", "both"])
def test_all_that_a_project_says_counts_however_it_is_named(tmp_path, named):
    path, frames = str(make_project(tmp_path)), str(tmp_path / "scan.npy")
    given = {
        "input": {"input": path},
        "points": {"input": frames, "points": path},
        "both": {"input": path, "points": path},
    }
    job = settle_job(Job(**given[named]))
    assert (job.input, job.preset, job.seed) == (frames, "fast", 7)
    assert job.bounds == ((EVERY, GivenBound(0.3)), ("spleen", BOX))
    assert isinstance(job.points, PlainPoints)
    assert (job.points.rows, job.points.objects) == (((0, 4, 5), (1, 6, 7)), ("object", "spleen"))
    assert settle_job(job) == job


def test_the_words_of_a_project_go_into_the_job(tmp_path):
    drawn = (actions.Brush("object", 1, ((0, 5),)), actions.SetSize("object", 1.5), actions.SetSize("spleen", 0.8, 2))
    path = make_project(tmp_path, *drawn)
    spleen = Words(boxes=(Box(1, 2, 3, 7, 13),), sizes={2: 0.8})
    job = settle_job(Job(input=str(path)))
    assert job.words == (("object", Words({1: ((0, 5),)}, size=1.5)), ("spleen", spleen))
    own = settle_job(Job(input=str(path), words=(("object", Words(size=3.0)),)))
    assert own.words == (("object", Words(size=3.0)), ("spleen", spleen))
    assert Job.from_table(json.loads(json.dumps(job.as_table()))) == job == settle_job(job)


def test_a_project_in_which_nothing_was_said_says_so(tmp_path):
    path = make_project(tmp_path, actions.ClearBox("spleen"))
    assert settle_job(Job(input=str(path), refine="earlier")).words == ()


def test_the_words_about_a_single_object_hold_whatever_other_points_call_it(tmp_path):
    path = make_project(tmp_path, actions.RemoveObject("spleen"), actions.SetSize("object", 2.0))
    assert settle_job(Job(input=str(path))).words == ((EVERY, Words(size=2.0)),)


def test_an_object_that_is_only_outlined_needs_no_point(tmp_path):
    brush = actions.Brush("object", 1, ((0, 3), (20, 3), (40, 3)))
    path = make_project(tmp_path, actions.RemoveObject("spleen"), actions.RemovePoint(1), brush)
    job = settle_job(Job(input=str(path)))
    assert (job.points.rows, job.points.objects) == (((1, 1, 1),), ("object",))


def test_outlines_in_the_place_of_points_are_enough():
    given = (("", GivenWords((OutlineFile("m.png", 3),))),)
    assert settle_job(Job(input="scan", added_words=given)).points == ""
    assert settle_job(Job(input="scan", words=(("", Words({1: ((0, 5),)})),))).points == ""


def test_what_a_job_says_itself_wins_over_the_project(tmp_path):
    path = make_project(tmp_path)
    said = Job(input=str(path), preset="auto", seed=0, bounds=(("spleen", GivenBound(0.1)),))
    job = settle_job(said)
    assert (job.preset, job.seed) == ("auto", 0)
    assert job.bounds == ((EVERY, GivenBound(0.3)), ("spleen", GivenBound(0.1)))
    for_all = settle_job(replace(said, bounds=((EVERY, GivenBound(0.2)),)))
    assert for_all.bounds == ((EVERY, GivenBound(0.2)),)


def test_the_preset_of_a_project_does_not_change_the_settings_of_a_run_that_is_refined(tmp_path):
    assert settle_job(Job(input=str(make_project(tmp_path)), refine="earlier")).preset is None


def test_the_box_of_a_single_object_holds_for_all(tmp_path):
    path = make_project(tmp_path, actions.RemoveObject("object"))
    assert settle_job(Job(input=str(path))).bounds == ((EVERY, BOX),)


def test_a_project_without_a_point_is_named(tmp_path):
    path = make_project(tmp_path, actions.RemoveObject("object"), actions.RemovePoint(3))
    with pytest.raises(InputError, match=r"scan\.fewpoint.*no object has a point"):
        settle_job(Job(input=str(path)))


def test_points_must_come_from_somewhere(tmp_path):
    with pytest.raises(InputError, match="points on the object are needed and scan comes with none"):
        settle_job(Job(input="scan"))


def test_bounds_given_for_all_leave_no_others():
    own, others = (("a", BOX),), (("a", GivenBound(0.2)), ("b", GivenBound(0.3)))
    assert join_bounds(own, others) == (("a", BOX), ("b", GivenBound(0.3)))
    assert join_bounds(((EVERY, BOX),), others) == ((EVERY, BOX),)
    assert join_bounds((), others) == others


def test_a_toml_file_changes_what_it_names(tmp_path):
    path = tmp_path / "a.toml"
    path.write_text('[training]\nbatch = 3\nweight_decay = 1\n[network]\nnorm = "group"\n[tracking]\nenabled = false\n')
    changed = change_settings("", PAPER, read_changes(path))
    assert (changed.training.batch, changed.training.weight_decay) == (3, 1.0)
    assert (changed.network.norm, changed.tracking.enabled) == ("group", False)
    assert changed.phases == PAPER.phases


@pytest.mark.parametrize(
    ("text", "fragment"),
    [
        ("batch = 3", r"batch must stand in a table such as \[training\]"),
        ("[training]\nbach = 3", "did you mean training.batch"),
        ("[trainning]\nbatch = 3", "did you mean training.batch"),
        ("[training]\nbatch = true", "a whole number, got True"),
        ("[training]\nbatch = [3]", r"training\.batch must be text, a number"),
        ("[training", "must be readable TOML"),
        (None, "must be readable TOML"),
        ("\xff", "must be readable TOML"),
    ],
)
def test_a_toml_file_that_cannot_be_used_is_a_settings_error(tmp_path, text, fragment):
    path = tmp_path / "a.toml"
    if text is not None:
        path.write_bytes(text.encode("latin-1"))
    with pytest.raises(SettingsError, match=fragment):
        change_settings("", PAPER, read_changes(path))


def test_infinity_travels_as_text(tmp_path):
    path = tmp_path / "a.toml"
    path.write_text("[risk]\nbeta = inf\n")
    assert read_changes(path) == (("risk.beta", "inf"),)


def test_an_assignment_needs_an_equals_sign():
    with pytest.raises(SettingsError, match=r"section\.key=value"):
        parse_changes(["training.batch"])


def test_a_job_is_read_from_its_file_with_paths_from_there(tmp_path):
    job = Job(
        input="scan.npy",
        points=PlainPoints(((0, 1, 2),), objects=("a",), absent=(1,)),
        reading=Reading("axial", (0,), ("t2.npy",), (0.0, 80.0)),
        bounds=((EVERY, GivenBound(0.3)), ("a", BOX)),
        preset="fast",
        changes=(("training.batch", 3), ("risk.beta", "inf")),
        seed=4,
        outputs=OutputChoice(("nifti",), probabilities=True, report=False),
        refine="earlier",
        words=(("a", Words({1: ((0, 5),)})),),
        added_words=(("a", GivenWords((OutlineFile("m.png", 2), OutlineFile("v.npy")))),),
    )
    write_job(job, tmp_path / "job.json")
    read = load_job(tmp_path / "job.json")
    reading = replace(job.reading, added=(str(tmp_path / "t2.npy"),))
    drawn = GivenWords((OutlineFile(str(tmp_path / "m.png"), 2), OutlineFile(str(tmp_path / "v.npy"))))
    there = {"input": str(tmp_path / "scan.npy"), "refine": str(tmp_path / "earlier")}
    assert read == replace(job, **there, reading=reading, added_words=(("a", drawn),))


def test_a_fault_of_a_job_s_file_names_the_file(tmp_path):
    path = tmp_path / "job.json"
    path.write_text(json.dumps({**Job().as_table(), "seed": "many"}))
    with pytest.raises(InputError, match=r"job\.json.*seed must be a whole number, got 'many'"):
        load_job(path)


@pytest.mark.nightly
@pytest.mark.parametrize("read", [read_changes, read_suite])
@pytest.mark.parametrize(
    "text",
    ["a = " + "[" * 100_000, "a." * 20_000 + "b = 1", "[a]\nx = " + "9" * 5000, "x = {" * 3000],
    ids=["lists", "dots", "digits", "tables"],
)
def test_settings_that_overstrain_the_reader_of_toml_are_one_line(tmp_path, read, text):
    (tmp_path / "a.toml").write_text(text)
    with pytest.raises(SettingsError) as caught:
        read(tmp_path / "a.toml")
    assert "\n" not in str(caught.value) and len(str(caught.value)) < 1000
