"""Nothing outside the root can be read, by whatever name."""

import os
import stat
from urllib.parse import quote

import numpy as np
import pytest
import SimpleITK
from starlette.testclient import TestClient

from fewpoint.errors import InputError
from fewpoint.io.images import read_sequence
from fewpoint.web.faults import MissingError
from fewpoint.web.places import Root
from fewpoint.web.server import create_app
from synthetic import save_frames
from web.visits import ADDRESS, make_options, open_frames

FRAMES = np.arange(2 * 8 * 8, dtype=np.uint8).reshape(2, 8, 8, 1)


@pytest.fixture
def outside(root):
    """Frames beside the root, which nobody may see."""
    return save_frames(FRAMES, root.parent / "secret")


TRICKS = [
    "..",
    "../secret",
    "frames/../../secret",
    "frames/../../root/../secret",
    "/etc",
    "//etc",
    "..\\secret",
    "C:\\secret",
    "C:secret",
    "\\\\server\\share",
    "frames\0",
    "~",
    "%2e%2e/secret",
    "..%2fsecret",
    "....//secret",
    "a" * 5000,
    "a/" * 2000,
]


@pytest.mark.parametrize("trick", TRICKS, ids=lambda text: text[:20].encode("unicode_escape").decode())
def test_no_name_leads_out_of_the_root(client, outside, trick):
    for answer in (
        client.get("/api/files", params={"path": trick}),
        client.get(f"/api/files?path={quote(quote(trick, safe=''), safe='')}"),
        client.post("/api/projects", json={"input": trick}),
        client.post("/api/projects", json={"project": trick}),
    ):
        assert answer.status_code in (404, 422), answer.text
        assert "0000.png" not in answer.text


@pytest.mark.parametrize("path", ["/static/../server.py", "/static/%2e%2e/server.py", "/static/..%2fserver.py"])
def test_static_files_are_those_of_the_page_alone(client, path):
    assert client.get(path).status_code == 404


def test_a_link_that_leads_out_is_neither_listed_nor_opened(client, root, outside):
    (root / "door").symlink_to(outside)
    (root / "window.npy").symlink_to(outside / "0000.png")
    names = [entry["name"] for entry in client.get("/api/files").json()["entries"]]
    assert "door" not in names and "window.npy" not in names and "frames" in names
    assert client.post("/api/projects", json={"input": "door"}).status_code == 404
    assert client.get("/api/files", params={"path": "door"}).status_code == 404


def test_a_link_that_stays_inside_is_followed(client, root):
    (root / "other").symlink_to(root / "frames")
    assert client.post("/api/projects", json={"input": "other"}).json()["frames"] == 6


def test_a_folder_of_frames_with_a_link_that_leads_out_is_refused(client, root, outside):
    (root / "frames" / "9999.png").symlink_to(outside / "0000.png")
    answer = client.post("/api/projects", json={"input": "frames"})
    assert (answer.status_code, "leads out of root" in answer.text) == (422, True)


@pytest.mark.parametrize("name", ["../secret/data.raw", "/{outside}/data.raw"])
def test_a_header_that_names_data_elsewhere_is_refused(client, root, outside, name):
    SimpleITK.WriteImage(SimpleITK.GetImageFromArray(FRAMES[..., 0]), str(root / "volume.mhd"))
    text = (root / "volume.mhd").read_text()
    (outside / "data.raw").write_bytes((root / "volume.raw").read_bytes())
    (root / "volume.mhd").write_text(text.replace("volume.raw", name.format(outside=outside)))
    assert client.post("/api/projects", json={"input": "volume.mhd"}).status_code == 422
    (root / "volume.mhd").write_text(text)
    assert client.post("/api/projects", json={"input": "volume.mhd"}).status_code == 200


def test_an_nrrd_header_that_names_data_elsewhere_is_refused(root, outside):
    header = "NRRD0004\ntype: uint8\ndimension: 3\nsizes: 8 8 2\nencoding: raw\ndata file: ../secret/data.raw\n\n"
    (root / "volume.nhdr").write_text(header)
    with pytest.raises(InputError, match="must lie next to it"):
        read_sequence(root / "volume.nhdr")


@pytest.mark.parametrize("start", [b"#EXTM3U\nfile:///etc/passwd", b"ffconcat version 1.0\nfile /etc/passwd"])
def test_a_list_of_files_is_not_taken_for_a_video(client, root, start):
    (root / "film.mp4").write_bytes(start)
    answer = client.post("/api/projects", json={"input": "film.mp4"})
    assert answer.status_code == 422 and "cannot read" in answer.text and "\\n" not in answer.text


def test_a_project_whose_input_lies_outside_is_refused(client, root, outside):
    project = open_frames(client)
    text = (root / "frames.fewpoint").read_text().replace('"frames"', '"../secret"').replace(str(root), str(outside))
    (root / "stranger.fewpoint").write_text(text)
    answer = client.post("/api/projects", json={"project": "stranger.fewpoint"})
    assert answer.status_code == 422 and "not below the root" in answer.text
    assert [entry["id"] for entry in client.get("/api/projects").json()] == [project["id"]]


def test_a_project_file_that_is_a_link_out_of_the_root_is_not_taken(client, root, tmp_path):
    stranger = tmp_path / "stranger.fewpoint"
    stranger.write_text("nobody may write here")
    (root / "frames.fewpoint").symlink_to(stranger)
    project = open_frames(client)
    assert project["path"].startswith(str(root.parent / "kept"))
    assert stranger.read_text() == "nobody may write here"


def test_what_runs_left_may_not_lead_elsewhere(root, outside):
    with TestClient(create_app(make_options(root)), base_url=ADDRESS) as client:
        open_frames(client)
    (root / "frames.fewpoint.runs" / "exports").mkdir()
    (root / "frames.fewpoint.runs" / "exports" / "run-1-png").symlink_to(outside)
    with TestClient(create_app(make_options(root)), base_url=ADDRESS) as client:
        answer = client.post("/api/projects", json={"input": "frames"})
        assert answer.status_code == 422 and "is a link that leads out" in answer.text


def test_uploads_do_not_follow_a_link_out_of_the_root(client, root, outside):
    (root / "fewpoint-uploads").symlink_to(outside)
    before = sorted(outside.iterdir())
    assert client.post("/api/uploads", files=[("files", ("a.npy", b"0"))]).status_code == 422
    assert sorted(outside.iterdir()) == before


def test_an_array_that_holds_objects_is_refused_and_never_unpickled(client, root):
    class Trap:
        def __reduce__(self):
            return os.mkdir, (str(root / "sprung"),)

    np.save(root / "trap.npy", np.array([Trap()], dtype=object), allow_pickle=True)
    assert client.post("/api/projects", json={"input": "trap.npy"}).status_code == 422
    assert not (root / "sprung").exists()


def test_hidden_files_and_what_runs_leave_are_not_listed(client, root):
    open_frames(client)
    (root / ".hidden").mkdir()
    listing = client.get("/api/files").json()
    assert [entry["name"] for entry in listing["entries"]] == ["frames", "frames.fewpoint", "truth"]
    assert [entry["kind"] for entry in listing["entries"]] == ["input", "project", "input"]
    assert listing["parent"] is None


def test_what_is_missing_and_what_is_forbidden_look_alike(root, outside):
    for name in ("../secret", "../nothing", "nothing"):
        with pytest.raises(MissingError, match=r"there is no .* below the root"):
            Root.of(root).resolve(name)


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write everywhere")
def test_where_the_folder_cannot_be_written_the_project_is_kept_with_the_user_and_told(client, root):
    check_kept_with_the_user(client, root)


def test_the_project_of_a_folder_that_cannot_be_written_lies_in_the_users_own(client, root, monkeypatch):
    monkeypatch.setattr("fewpoint.web.sessions.os.access", lambda path, mode: False)
    check_kept_with_the_user(client, root)


def check_kept_with_the_user(client, root):
    root.chmod(stat.S_IRUSR | stat.S_IXUSR)
    try:
        project = open_frames(client)
    finally:
        root.chmod(stat.S_IRWXU)
    assert project["path"].startswith(str(root.parent / "kept"))
    assert any(project["path"] in note for note in project["notes"])
    assert [entry["id"] for entry in client.get("/api/projects").json()] == [project["id"]]


HEADERS = {
    "v.mha": "ObjectType = Image\nNDims = 3\nDimSize = 8 8 2\nElementType = MET_UCHAR\nElementDataFile = {name}\n",
    "v.nrrd": "NRRD0004\ntype: uint8\ndimension: 3\nsizes: 8 8 2\nencoding: raw\ndata file: {name}\n\n",
}


@pytest.mark.parametrize("file", HEADERS)
def test_a_header_that_names_a_file_outside_the_root_opens_no_project(client, root, file):
    (root.parent / "hidden.raw").write_bytes(bytes(range(128)))
    (root / file).write_text(HEADERS[file].format(name=root.parent / "hidden.raw"))
    answer = client.post("/api/projects", json={"input": file})
    assert answer.status_code == 422 and "\n" not in answer.json()["detail"]
