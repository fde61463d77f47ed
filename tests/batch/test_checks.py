"""Every row tried before anything starts."""

import json

import pytest

from fewpoint.batch import checks
from fewpoint.batch.checks import Defaults, check_rows, choose_job, read_checks, write_checks
from fewpoint.batch.manifest import read_rows
from fewpoint.batch.worker import ItemOrder
from fewpoint.core.job import EVERY, GivenBound, Job, OutputChoice
from fewpoint.core.settings import as_table, from_table, override
from fewpoint.errors import FewpointError
from fewpoint.io.rows import Row
from fewpoint.methods.default import FAST
from fewpoint.methods.paper import PAPER
from fewpoint.methods.resolve import resolve_settings
from fewpoint.runs.jobs import read_job
from tiny_runs import TINY, TINY_PAPER


def build(tmp_path, defaults=Defaults(Job(preset="fast")), **values) -> Job:
    return choose_job(Row("line 2", tmp_path, {"input": "a.npy", "points": "a.csv", **values}), defaults)


def test_every_bad_row_is_listed_with_its_reason_and_the_others_are_ready(study):
    (study.folder / "broken").mkdir()
    (study.folder / "broken" / "0.png").write_bytes(b"no picture")
    (study.folder / "far.csv").write_text("frame,y,x\n9,1,1\n", encoding="utf-8")
    study.write(
        "good,p0/frames,p0/points.csv,0.3",
        "gone,p9/frames,p0/points.csv,0.3",
        "broken,broken,p0/points.csv,0.3",
        "far,p0/frames,far.csv,0.3",
        "pointless,p0/frames,,0.3",
        "huge,p0/frames,p0/points.csv,3",
        "words,p0/frames,p0/points.csv,many",
        "Good,p1/frames,p1/points.csv,0.3",
        "../up,p1/frames,p1/points.csv,0.3",
        "long,p1/frames,p1/points.csv,0.3,surplus",
        "fine,p1/frames,p1/points.csv,",
    )
    checked = study.check()
    assert [each.job.name for each in checked.items] == ["good", "fine"]
    reasons = {row.name: row.reason for row in checked.bad}
    assert [row.place for row in checked.bad] == [f"line {line}" for line in range(3, 12)]
    assert "p9" in reasons["gone"]
    assert "0.png" in reasons["broken"]
    assert "frame 9" in reasons["far"]
    assert "fill in the column points" in reasons["pointless"]
    assert "between 0 and 1" in reasons["huge"]
    assert reasons["words"] == "max_fraction must be a share of a frame, as 5% or 0.05, got many"
    assert reasons["Good"].startswith("each row needs a name of its own, Good is that of line 2")
    assert "names a folder" in reasons["../up"]
    assert "surplus" in reasons["long"]


def test_a_reader_that_fails_in_its_own_way_costs_its_row_alone(study, monkeypatch):
    def fail(item):
        raise MemoryError("too large")

    monkeypatch.setattr(checks, "read_job", fail)
    assert {row.reason for row in study.check().bad} == {"it could not be read: MemoryError: too large"}


def test_unchanged_files_are_not_read_again_and_changed_ones_are(study, monkeypatch):
    first = study.check()
    write_checks(first.items, study.folder / "kept.json")
    known = read_checks(study.folder / "kept.json")
    read = []
    monkeypatch.setattr(checks, "read_job", lambda job: read.append(job.name) or read_job(job))

    def check():
        return check_rows(read_rows(study.manifest), study.defaults, known, lambda *done: None)

    assert check() == first and read == []
    points = study.folder / "p1" / "points.csv"
    points.write_text(points.read_text(encoding="utf-8") + "\n", encoding="utf-8")
    assert check().items[1].identity == first.items[1].identity and read == ["case1"]


def test_a_row_says_all_that_segment_is_told(tmp_path):
    (tmp_path / "own.toml").write_text("[training]\nbatch = 7\n", encoding="utf-8")
    batch = (("training.batch", "3"),)
    job = build(
        tmp_path,
        Defaults(Job(preset="fast", device="cpu", changes=batch, outputs=OutputChoice.of(["nifti"]))),
        **{
            "name": "left-lung",
            "largest_box": "2,10,20,30,40",
            "seed": "5",
            "axis": "axial",
            "channels": "0,2",
            "with": "t2.npy; flair.npy",
            "window": "lung",
            "warm_start": "earlier",
            "settings": "training.max_side=64; network.levels=3",
        },
    )
    assert (job.name, job.seed, job.reading.axis) == ("left-lung", 5, "axial")
    assert job.bounds == ((EVERY, GivenBound(box=(2, 10, 20, 30, 40))),)
    assert (job.reading.channels, job.reading.window) == ((0, 2), (-1350.0, 150.0))
    assert job.reading.added == (str(tmp_path / "t2.npy"), str(tmp_path / "flair.npy"))
    assert job.warm_start == str(tmp_path / "earlier")
    assert (job.device, job.outputs.formats) == ("cpu", ("nifti",))
    settings = resolve_settings(job)
    assert (settings.training.batch, settings.training.max_side, settings.network.levels) == (3, 64, 3)
    by_file = build(tmp_path, Defaults(Job(preset="fast", changes=batch)), settings="own.toml")
    assert resolve_settings(by_file) == override(FAST, "training.batch", 7)


def test_a_preset_of_a_row_goes_before_that_of_all(tmp_path):
    assert resolve_settings(build(tmp_path, preset="paper")) == PAPER
    assert resolve_settings(build(tmp_path)) == FAST
    on_gpu = build(tmp_path, Defaults(kind="cuda"))
    assert on_gpu == build(tmp_path, preset="accurate")


@pytest.mark.parametrize(
    ("values", "words"),
    [
        ({"max_fraction": "0.1", "largest_box": "0,0,0,1,1"}, "not both"),
        ({"largest_box": "1,2,3"}, "FRAME,Y0,X0,Y1,X1"),
        ({"channels": "red"}, "channels must be"),
        ({"seed": "-1"}, "whole number, 0 or above"),
        ({"preset": "swift"}, "preset must be one of"),
        ({"settings": "training.bach=2"}, "did you mean"),
        ({"settings": "missing.toml"}, "readable TOML"),
        ({"window": "dark"}, "LEVEL,WIDTH"),
    ],
)
def test_what_cannot_be_meant_is_refused(tmp_path, values, words):
    with pytest.raises(FewpointError, match=words):
        build(tmp_path, **values)


def test_a_job_survives_the_way_to_another_machine(tmp_path):
    order = ItemOrder(build(tmp_path, channels="1", window="40,80", largest_box="0,1,2,3,4"), "run", "progress", "log")
    assert ItemOrder.from_table(json.loads(json.dumps(order.as_table()))) == order


@pytest.mark.parametrize(("settings", "others"), [(PAPER, TINY_PAPER), (FAST, TINY)])
def test_settings_survive_as_plain_values(settings, others):
    assert from_table(others, json.loads(json.dumps(as_table(settings)))) == settings


def test_a_warm_start_that_is_no_model_is_a_bad_row(study):
    study.write("case0,p0/frames,p0/points.csv,p1", header="name,input,points,warm_start")
    (row,) = study.check().bad
    assert "model.npz" in row.reason
