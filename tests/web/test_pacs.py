"""The PACS behind a server: series opened from it, masks stored back, and nobody led elsewhere."""

import os
from pathlib import Path

import numpy as np
import pydicom
import pytest
from starlette.testclient import TestClient

from dicom_series import SERIES, STUDY, save_series
from fewpoint.cli import annotate
from fewpoint.evaluation.phantom import make_phantom
from fewpoint.web import queueing
from fewpoint.web.server import create_app
from pacs_servers import fake_pacs
from web.visits import ADDRESS, QUICK_WORKER, click_everywhere, make_options, start_run, wait_for


@pytest.fixture
def held(tmp_path):
    with fake_pacs() as held:
        frames = make_phantom(n_frames=6, size=(48, 40)).sequence.frames[..., 0].astype(np.uint16)
        held.keep(save_series(tmp_path / "series", frames, SeriesDescription="venous", PatientName="Doe^Jane"))
        held.token = "geheim"
        yield held


@pytest.fixture
def visitor(held, root, monkeypatch):
    monkeypatch.setattr(queueing, "COMMAND", QUICK_WORKER)
    with TestClient(create_app(make_options(root, pacs=held.pacs)), base_url=ADDRESS) as visitor:
        yield visitor


def fetch(visitor) -> str:
    answer = visitor.post("/api/pacs/series", json={"study": STUDY, "series": SERIES})
    assert answer.status_code == 200, answer.text
    return answer.json()["path"]


def test_a_study_is_found_fetched_once_opened_and_its_masks_stored_back(held, visitor, root):
    assert visitor.get("/api/health").json()["pacs"] == held.address
    (study,) = visitor.get("/api/pacs/studies", params={"patient": "1"}).json()
    (series,) = visitor.get(f"/api/pacs/studies/{study['uid']}/series").json()
    assert (series["description"], series["images"]) == ("venous", 6)
    path = fetch(visitor)
    assert fetch(visitor) == path
    assert len([each for each in held.asked("GET") if each.endswith(SERIES)]) == 1
    assert "Doe" not in path and (root / path).is_dir()

    project = visitor.post("/api/projects", json={"input": path}).json()
    assert project["from_pacs"] and project["frames"] == 6
    click_everywhere(visitor, project["id"])
    run = start_run(visitor, project["id"])
    assert wait_for(visitor, project["id"], run)["state"] == "finished"
    first, again = (visitor.post(f"/api/projects/{project['id']}/runs/{run}/store").json() for _ in range(2))
    assert (first["is_new"], again["is_new"]) == (True, False)
    seg = held.objects[first["instance"]].header
    assert seg.ReferencedSeriesSequence[0].SeriesInstanceUID == SERIES
    assert isinstance(seg, pydicom.Dataset) and seg.Modality == "SEG"


def test_images_from_elsewhere_are_not_stored(visitor):
    project = visitor.post("/api/projects", json={"input": "frames"}).json()
    assert not project["from_pacs"]
    refused = visitor.post(f"/api/projects/{project['id']}/runs/1/store")
    assert refused.status_code == 422 and "did not come from the PACS" in refused.json()["detail"]


@pytest.mark.parametrize("uid", ["../../x", "1.2/..", "", "1" * 65])
def test_a_visitor_cannot_name_anything_but_uids(visitor, held, uid):
    before = len(held.heard)
    assert visitor.post("/api/pacs/series", json={"study": uid, "series": SERIES}).status_code == 422
    assert len(held.heard) == before


def test_without_a_pacs_there_is_nothing_to_list(client):
    assert client.get("/api/health").json()["pacs"] == ""
    answer = client.get("/api/pacs/studies")
    assert answer.status_code == 404 and "has no PACS" in answer.json()["detail"]


def test_credentials_leave_the_environment_before_workers_are_started(held, monkeypatch):
    monkeypatch.setenv("FEWPOINT_DICOMWEB_TOKEN", held.token)
    pacs = annotate.reach_pacs(held.address)
    assert pacs is not None and pacs.list_studies()
    assert "FEWPOINT_DICOMWEB_TOKEN" not in os.environ


def test_links_that_lead_out_of_the_root_are_not_written_through(visitor, root, tmp_path):
    (tmp_path / "outside").mkdir()
    Path(root, "fewpoint-uploads").symlink_to(tmp_path / "outside")
    refused = visitor.post("/api/pacs/series", json={"study": STUDY, "series": SERIES})
    assert refused.status_code == 422
    assert list((tmp_path / "outside").iterdir()) == []
