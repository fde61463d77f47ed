"""Several points files: taken together without names, objects with them, and in one line which."""

from pathlib import Path

import numpy as np
import pytest

from fewpoint.core import PointSet
from fewpoint.io.atomic import read_json
from fewpoint.io.images import read_sequence
from fewpoint.io.points import read_points, write_points
from fewpoint.io.projects import ProjectLog
from fewpoint.io.runs import read_told


@pytest.fixture
def halves(case) -> tuple[Path, Path]:
    """The clicks of a case, on the first three frames in one file, on the others in another."""
    points = read_points(case.points, read_sequence(case.frames))
    files = case.folder / "first.csv", case.folder / "rest.csv"
    for file, chosen in zip(files, (points.frames < 3, points.frames >= 3), strict=True):
        write_points(PointSet.from_rows(points.coordinates[chosen]), file)
    return files


def call_with(call, case, *files: object, out: Path | None = None):
    """`fewpoint segment` with these points files in place of the case's own."""
    command = case.segment("--out", out or case.out)
    at = command.index("--points")
    given = [part for file in files for part in ("--points", str(file))]
    return call(*command[:at], *given, *command[at + 2 :])


def test_files_without_names_are_one_object_and_the_run_says_so(case, call, halves):
    outcome = call_with(call, case, *halves)
    assert outcome.code == 0, outcome.err
    told, _ = read_told(case.out)
    whole = read_points(case.points, read_sequence(case.frames))
    np.testing.assert_array_equal(told.coordinates, whole.coordinates)
    together = f"points of {halves[0]} and {halves[1]} are taken together; --points NAME=FILE makes objects of files"
    assert together in outcome.err.splitlines()
    asked = read_json(case.out / "manifest.json")["asked"]["Command"]
    assert f"--points {halves[0]} --points {halves[1]}" in asked
    assert call(*case.segment("--out", case.folder / "single")).code == 0
    for name in ("masks/0001.png", "masks/0005.png"):
        assert (case.out / name).read_bytes() == (case.folder / "single" / name).read_bytes()


def test_names_make_objects_of_files_and_the_run_says_which(case, call, halves):
    outcome = call_with(call, case, f"liver={halves[0]}", f"spleen={halves[1]}")
    assert outcome.code == 0, outcome.err
    assert f"points: liver from {halves[0]}, spleen from {halves[1]}" in outcome.err.splitlines()
    told, _ = read_told(case.out)
    assert told.object_names == ("liver", "spleen")
    assert {name for name, frame in zip(told.objects, told.frames, strict=True) if frame < 3} == {"liver"}


def test_a_name_may_be_that_of_several_files_and_of_a_single_one(case, call, halves):
    assert call_with(call, case, *(f"liver={half}" for half in halves)).code == 0
    assert call_with(call, case, f"liver={case.points}", out=case.folder / "single").code == 0
    assert read_told(case.out)[0].objects == read_told(case.folder / "single")[0].objects == ("liver",) * 6


def test_absent_frames_and_negatives_of_a_named_file_concern_its_object(case, call, halves):
    with open(halves[0], "a", encoding="utf-8") as stream:
        stream.write("5,absent\n")
    told = call_with(call, case, f"a={halves[0]}", f"b={halves[1]}")
    assert told.code == 0, told.err
    assert read_told(case.out)[0].absent_of == ((5, "a"),)


@pytest.mark.parametrize(
    ("named", "told"),
    [
        (("liver=first.csv", "rest.csv"), "must name the objects of all files or of none"),
        (("first.csv", "first.csv"), "is a duplicate"),
        (("liver=first.csv", "spleen=first.csv"), "is a duplicate"),
        (("first.csv", "named.csv"), "all points files or none must name their objects"),
        (("liver=named.csv",), "names objects itself: spleen; leave out liver="),
        (("first.csv", "study.fewpoint"), "takes a project alone"),
        (("first.csv", "missing.csv"), "missing.csv"),
        (("first.csv", "empty.csv"), "is empty"),
        (("liver=", "spleen=rest.csv"), "points"),
    ],
)
def test_files_that_do_not_go_together_are_refused_in_one_line(case, call, halves, monkeypatch, named, told):
    monkeypatch.chdir(case.folder)
    Path("named.csv").write_text("frame,y,x,object\n4,20,20,spleen\n", encoding="utf-8")
    Path("empty.csv").touch()
    ProjectLog.create(Path("study.fewpoint"), case.frames, (6, 48, 40)).close()
    outcome = call_with(call, case, *named)
    assert outcome.code in (1, 2) and told in outcome.err
    assert len(outcome.err.splitlines()) == 1 and "Traceback" not in outcome.err
    assert not (case.out / "manifest.json").exists()
