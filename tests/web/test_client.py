"""A script drives the server as the page does."""

import subprocess
import sys
import zipfile
from pathlib import Path

import numpy as np
import pytest

from fewpoint.evaluation.phantom import make_phantom
from fewpoint.web import client as client_module
from fewpoint.web.client import Client, ServerError
from fewpoint.web.guard import Gate
from fewpoint.web.server import create_app
from web.visits import make_options, serve_in_thread

EXAMPLE = Path(__file__).resolve().parents[2] / "docs" / "examples" / "drive_annotator.py"


def test_the_client_is_short():
    assert len(Path(client_module.__file__).read_text(encoding="utf-8").splitlines()) < 200


def test_the_example_segments_a_sequence_through_a_server(live, tmp_path):
    clicks = [",".join(map(str, row)) for row in make_phantom(6, (48, 40)).points.coordinates.tolist()]
    done = subprocess.run(
        [sys.executable, EXAMPLE, live, "frames", *clicks], cwd=tmp_path, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    assert "of 6 frames show the object" in done.stdout
    assert len(zipfile.ZipFile(tmp_path / "masks.zip").namelist()) == 6


def test_all_that_a_person_can_do_a_script_can_do(live):
    server = Client(live)
    assert server.health()["version"]
    assert [entry["name"] for entry in server.files()] == ["frames", "truth"]
    assert "nifti" in [entry["name"] for entry in server.formats()]
    project = server.open_input("frames")
    project.add_point("object", frame=0, y=1, x=2)
    project.mark_absent("object", 3)
    project.set_box("object", frame=0, box=(0, 0, 24, 20))
    mask = np.zeros((48, 40), bool)
    mask[5:7, 5:9] = True
    project.brush("object", 1, mask)
    state = project.undo()
    assert state["objects"][0]["brushed"] == [] and state["objects"][0]["box"]["share"] == 0.25
    assert project.download().startswith(b'{"format": "fewpoint project"')
    assert [entry["id"] for entry in server.projects()] == [project.id]
    assert server.open_project("frames.fewpoint").id == project.id


def test_a_refusal_carries_the_servers_words_and_status(live):
    project = Client(live).open_input("frames")
    with pytest.raises(ServerError, match="frames go from 0 to 5") as caught:
        project.add_point("object", frame=9, y=0, x=0)
    assert caught.value.status == 422


def test_a_server_that_is_not_there_is_told():
    with pytest.raises(ServerError, match="start fewpoint annotate"):
        Client("http://127.0.0.1:9").health()


def test_the_token_is_sent_where_one_is_given(root):
    gate = Gate.for_host("0.0.0.0")
    with serve_in_thread(create_app(make_options(root, gate=gate))) as address:
        assert Client(address, gate.token).health()["version"]
        with pytest.raises(ServerError, match="token is needed"):
            Client(address).health()
