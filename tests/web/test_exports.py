"""Masks in every format, as `fewpoint convert` writes them, with what was drawn."""

import zipfile
from io import BytesIO
from urllib.parse import quote

import numpy as np
import pytest

from fewpoint.core import (
    AreaBound,
    PriorEstimate,
    PriorHistory,
    ProbabilityMaps,
    Result,
)
from fewpoint.core.job import FILM
from fewpoint.core.project import NamedObject
from fewpoint.io.formats import FILES, FILM_FILE
from fewpoint.io.masks import read_masks
from fewpoint.runs.exports import join_objects
from fewpoint.web.exporting import LABELS, ExportOrder, draw, find_export, write_export
from fewpoint.web.faults import MissingError
from web.visits import do

DRAWN = [[0, 40]]  # the first row


@pytest.fixture(scope="module")
def drawn(shared_client, finished):
    """A finished run, and a frame that was drawn after it."""
    project, run, _ = finished
    do(shared_client, project, "brush", object="object", frame=2, runs=DRAWN)
    yield project, run
    do(shared_client, project, "undo")


def test_every_format_of_the_package_is_offered():
    assert set(LABELS) == {*FILES, FILM}


@pytest.mark.parametrize("name", [name for name in LABELS if name not in ("dicom-seg", "rtstruct")])
def test_masks_are_written_in_every_format(shared_client, shared_root, drawn, name):
    """The same order that the process of its own gets, in this process."""
    project, run = drawn
    folder = shared_root / "frames.fewpoint.runs"
    out = folder / "exports" / f"run-{run}-{name}"
    version = shared_client.get(f"/api/projects/{project}").json()["version"]
    order = ExportOrder(str(shared_root / "frames.fewpoint"), version, run, name, False, str(out))
    files = write_export(order)
    expected = FILM_FILE if name == FILM else FILES[name]
    assert files and all(file.startswith(expected) for file in files)
    if name not in (FILM, "coco"):
        masks = read_masks(out / expected)
        assert masks[2].sum() == 40 and masks[2, 0].all() and masks[1].any()
    download = shared_client.get(f"/api/projects/{project}/exports/run-{run}-{name}")
    assert download.status_code == 200 and download.headers["content-disposition"].startswith("attachment")
    if len(files) > 1:
        assert zipfile.ZipFile(BytesIO(download.content)).namelist() == files


def test_an_export_over_http_is_made_and_downloaded(shared_client, drawn, tmp_path):
    project, run = drawn
    made = shared_client.post(
        f"/api/projects/{project}/runs/{run}/exports", json={"format": "nifti", "probabilities": True}
    )
    assert made.status_code == 200, made.text
    assert made.json()["files"] == ["masks.nii.gz", "probabilities.nii.gz"]
    download = shared_client.get(f"/api/projects/{project}/exports/{made.json()['name']}")
    zipfile.ZipFile(BytesIO(download.content)).extractall(tmp_path)
    assert read_masks(tmp_path / "masks.nii.gz", axis="2").shape == (6, 48, 40)


@pytest.mark.parametrize(
    ("name", "reason"), [("dicom-seg", "DICOM series"), ("rtstruct", "DICOM series"), ("gif", "must be one of")]
)
def test_a_format_that_cannot_be_written_says_why(shared_client, drawn, name, reason):
    project, run = drawn
    answer = shared_client.post(f"/api/projects/{project}/runs/{run}/exports", json={"format": name})
    assert answer.status_code == 422 and reason in answer.json()["detail"]


@pytest.mark.parametrize(
    "name", ["..", "run-1-png/..", "run-1-png.zip", "../order.json", "run-9-png", "", "run-1-../x"]
)
def test_nothing_but_exports_can_be_downloaded(shared_client, drawn, name):
    project, _ = drawn
    session = shared_client.app.state.fewpoint.workspace.find(project)
    with pytest.raises(MissingError):
        find_export(session, name)
    if name != "..":  # which a client resolves before it asks
        assert shared_client.get(f"/api/projects/{project}/exports/{quote(name, safe='')}").status_code in (404, 405)


def make_part(likely: list[float], mask: list[bool]) -> Result:
    """One frame of a few pixels."""
    maps = ProbabilityMaps(np.array([[likely]], np.float32))
    priors = PriorEstimate(np.array([0.1]), np.array([0.0]), np.array([0.1]))
    return Result.single(np.array([[mask]]), maps, priors, PriorHistory.empty(1), AreaBound(0.5), ("0",))


def test_of_several_objects_the_likeliest_gets_a_pixel_and_the_first_of_equals():
    first = make_part([0.9, 0.6, 0.7, 0.9], [True, True, True, False])
    second = make_part([0.1, 0.8, 0.7, 0.2], [False, True, True, True])
    (a, b), _ = join_objects((first.only, second.only))
    assert (a.masks + 2 * b.masks).tolist() == [[[1, 2, 1, 2]]]


def test_what_a_person_drew_beats_what_another_network_thinks():
    drawn = draw(make_part([0.1, 0.1], [False, False]), NamedObject(0, "a", "#000000", brushed={0: ((0, 1),)}))
    other = make_part([0.99, 0.99], [True, True])
    (a, b), _ = join_objects((drawn.only, other.only))
    assert (a.masks + 2 * b.masks).tolist() == [[[1, 2]]]


def test_the_brushed_frame_of_an_export_is_what_was_drawn_and_others_are_the_runs(shared_client, drawn):
    project, run = drawn
    found = shared_client.get(f"/api/projects/{project}/runs/{run}/masks/2", params={"object": "object"}).json()
    assert found["runs"] == DRAWN
    other = shared_client.get(f"/api/projects/{project}/runs/{run}/masks/3", params={"object": "object"}).json()
    assert np.array(other["runs"]).sum() > 0
