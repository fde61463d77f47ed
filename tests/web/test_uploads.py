"""Files that a page sends."""

from io import BytesIO

import numpy as np
import pytest
from starlette.testclient import TestClient

from fewpoint.web.guard import Gate
from fewpoint.web.server import create_app
from web.visits import ADDRESS, make_options


def as_npy(shape=(3, 8, 8)) -> bytes:
    stream = BytesIO()
    np.save(stream, np.zeros(shape, np.uint8))
    return stream.getvalue()


def send(client, *files):
    return client.post("/api/uploads", files=[("files", (name, data)) for name, data in files])


def test_a_file_is_kept_below_the_root_and_can_be_opened(client, root):
    path = send(client, ("volume.npy", as_npy())).json()["path"]
    assert path.startswith("fewpoint-uploads/") and path.endswith("/volume.npy")
    assert client.post("/api/projects", json={"input": path}).json()["frames"] == 3


def test_frames_are_kept_together_and_opened_as_a_folder(client, root):
    frames = [(path.name, path.read_bytes()) for path in sorted((root / "frames").iterdir())]
    path = send(client, *frames).json()["path"]
    assert client.post("/api/projects", json={"input": path}).json()["frames"] == 6


def test_of_a_header_and_its_data_the_header_is_opened(client):
    assert send(client, ("a.raw", b"0"), ("a.mhd", b"0")).json()["path"].endswith("/a.mhd")


@pytest.mark.parametrize("name", ["../evil.npy", "/etc/evil.npy", "..\\evil.npy", "a/b/evil.npy"])
def test_only_the_last_part_of_a_name_is_taken(client, root, name):
    path = send(client, (name, as_npy())).json()["path"]
    assert path.endswith("/evil.npy") and (root / path).is_file()
    assert not (root.parent / "evil.npy").exists()


@pytest.mark.parametrize("name", [".htaccess", "..", "x" * 300])
def test_an_odd_name_is_refused_and_nothing_is_kept(client, root, name):
    assert send(client, ("fine.npy", as_npy()), (name, b"0")).status_code == 422
    assert not (root / "fewpoint-uploads").exists()


def test_no_file_and_two_of_one_name_are_refused(client):
    assert client.post("/api/uploads", data={"files": "text"}).status_code in (400, 422)
    assert send(client, ("a.npy", b"0"), ("b/a.npy", b"0")).status_code == 422


def test_an_upload_beyond_the_limit_is_refused_and_leaves_nothing(root):
    options = make_options(root, gate=Gate(largest_upload=10_000))
    with TestClient(create_app(options), base_url=ADDRESS) as client:
        assert send(client, ("a.npy", b"0" * 20_000)).status_code == 413
        assert send(client, ("a.npy", b"0" * 5_000)).status_code == 200
    assert len(list((root / "fewpoint-uploads").iterdir())) == 1
