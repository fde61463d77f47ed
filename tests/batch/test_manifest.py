"""Rows of a manifest, and of a folder."""

import numpy as np
import pytest

from fewpoint.batch.manifest import read_rows
from fewpoint.core import AreaBound, Box
from fewpoint.core.actions import AddPoint, SetBox, SetSettings
from fewpoint.core.job import GivenWords, Job, OutlineFile
from fewpoint.errors import InputError
from fewpoint.evaluation.phantom import make_phantom
from fewpoint.io.projects import ProjectLog
from fewpoint.io.rows import COLUMNS, Row, build_job
from fewpoint.runs.jobs import read_job
from synthetic import save_dataset_sequence


def test_a_row_holds_what_was_written_with_its_line_and_where_its_paths_start(tmp_path):
    path = tmp_path / "study.csv"
    path.write_text("\ufeffinput, points ,name\n a.npy ,a.csv,\n\n b.npy,,second\n", encoding="utf-8")
    first, second = read_rows(path)
    assert (first.place, first.values) == ("line 2", {"input": "a.npy", "points": "a.csv"})
    assert (second.place, second.values) == ("line 4", {"input": "b.npy", "name": "second"})
    assert first.find("a.npy") == tmp_path / "a.npy"
    assert first.find("/far/a.npy").as_posix() == "/far/a.npy"


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("input,pionts\na,b\n", "did you mean points"),
        ("points\nb\n", "must have a column input"),
        ("input,input\na,b\n", "each column once"),
        ("input\n", "it has none"),
        ("", "must have a column input"),
    ],
)
def test_a_manifest_that_is_none_is_refused_in_words(tmp_path, text, words):
    path = tmp_path / "study.csv"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(InputError, match=words):
        read_rows(path)


def test_a_manifest_that_is_missing_or_not_text_is_refused(tmp_path):
    with pytest.raises(InputError, match=r"none\.csv does not exist"):
        read_rows(tmp_path / "none.csv")
    (tmp_path / "study.csv").write_bytes(b"\xff\xfe\x00")
    with pytest.raises(InputError, match="must be a CSV in UTF-8"):
        read_rows(tmp_path / "study.csv")


def test_in_a_folder_points_of_the_same_name_make_a_row(tmp_path):
    save_dataset_sequence(make_phantom(n_frames=2, size=(16, 16)), tmp_path / "from-paper")
    for name in ("a.nii.gz", "a.csv", "b.mp4", "b.mrk.json", "c.points.csv", "alone.nii.gz", "notes.txt"):
        (tmp_path / name).touch()
    (tmp_path / "c").mkdir()
    assert [row.values for row in read_rows(tmp_path)] == [
        {"input": "a.nii.gz", "points": "a.csv"},
        {"input": "b.mp4", "points": "b.mrk.json"},
        {"input": "c", "points": "c.points.csv"},
        {"input": "from-paper"},
    ]


def test_in_a_folder_a_project_makes_a_row_with_all_that_a_person_said(tmp_path):
    np.save(tmp_path / "scan.npy", np.arange(400, dtype=np.uint16).reshape(2, 10, 20))
    log = ProjectLog.create(tmp_path / "scan.fewpoint", tmp_path / "scan.npy", (2, 10, 20))
    for action in (AddPoint("object", 0, 4, 5), SetBox("object", 0, 2, 3, 7, 13), SetSettings("fast", 7)):
        log.do(action)
    log.close()
    (row,) = read_rows(tmp_path)
    bound = AreaBound.from_box((2, 3, 7, 13), (10, 20)).fraction
    assert row.values == {"input": "scan.fewpoint"}
    job = build_job(row, Job())
    assert (job.name, job.input, job.preset) == ("scan", str(tmp_path / "scan.npy"), "fast")
    task = read_job(job)
    assert task.points.coordinates.tolist() == [[0, 4, 5]]
    assert (task.bound.fraction, task.seed) == (bound, 7)


def test_the_words_of_a_row_are_read_with_paths_from_its_folder(tmp_path):
    values = {"input": "a", "points": "a.csv", "outlined": "3=m.png; liver=drawn.npy", "size": "1.2;liver=4:0.8"}
    (_, every), (name, liver) = build_job(
        Row("line 2", tmp_path, {**values, "boxes": "liver=0,1,2,3,4; liver=1 1 2 3 4"}), Job()
    ).added_words
    assert every == GivenWords((OutlineFile(str(tmp_path / "m.png"), 3),), size=1.2)
    boxes = (Box(0, 1, 2, 3, 4), Box(1, 1, 2, 3, 4))
    assert (name, liver) == ("liver", GivenWords((OutlineFile(str(tmp_path / "drawn.npy")),), boxes, sizes=((4, 0.8),)))
    with pytest.raises(InputError, match="a size must be"):
        build_job(Row("line 2", tmp_path, {**values, "size": "large"}), Job())


def test_a_folder_without_points_is_refused(tmp_path):
    np.save(tmp_path / "a.npy", np.zeros((2, 4, 4)))
    with pytest.raises(InputError, match="no sequence with points found"):
        read_rows(tmp_path)


def test_every_column_is_explained():
    assert all(COLUMNS.values())
