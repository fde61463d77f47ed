"""Pixels of open projects are kept within bounds, and a film is shown while it is still decoded."""

import threading
from io import BytesIO

import numpy as np
import pytest
from PIL import Image

from fewpoint.core import ImageSequence
from fewpoint.io import video
from fewpoint.io.video import write_video
from fewpoint.web.frames import Pixels, PixelStore, is_mapped, without_pixels


def write_film(path, count: int, size: tuple[int, int]) -> None:
    write_video((np.full((*size, 3), 15 * index, np.uint8) for index in range(count)), path)


def make(value: int, size: int = 1000) -> Pixels:
    return Pixels(ImageSequence.from_array(np.full((1, 1, size), value, np.uint8)))


def test_what_was_used_longest_ago_goes_and_is_read_again():
    store, read = PixelStore(most_bytes=2500), []

    def get(key: int) -> Pixels:
        return store.get(str(key), lambda: read.append(key) or make(key))

    for key in (1, 2, 1, 3, 1, 2):
        assert get(key).cut(0, 0)[0, 0, 0] == key
        assert store.size_bytes <= 2500
    assert read == [1, 2, 3, 2]


def test_the_input_looked_at_is_kept_however_large_it_is():
    store = PixelStore(most_bytes=10)
    store.keep("a", make(1))
    store.keep("b", make(2))
    assert store.size_bytes == 1000


def test_a_sequence_without_pixels_takes_no_memory_and_keeps_its_shape():
    whole = ImageSequence.from_array(np.ones((50, 100, 100), np.float32))
    light = without_pixels(whole)
    assert light.shape == whole.shape and light.names == whole.names
    assert light.frames.strides == (0, 0, 0, 0)


def test_six_volumes_opened_one_after_another_stay_within_bounds_and_can_all_be_looked_at(client, root):
    workspace = client.app.state.fewpoint.workspace
    workspace.pixels.most_bytes = 300_000
    opened = []
    for number in range(6):
        np.savez(root / f"v{number}.npz", np.full((10, 100, 100), 40 * number, np.uint8))
        opened.append(client.post("/api/projects", json={"input": f"v{number}.npz"}).json()["id"])
    assert workspace.pixels.size_bytes <= 300_000
    for number, project in enumerate(opened):
        value = client.get(f"/api/projects/{project}/value", params={"frame": 3, "y": 5, "x": 6}).json()
        assert value == {"values": [40.0 * number]}
        assert workspace.pixels.size_bytes <= 300_000


@pytest.mark.usefixtures("trusting")
def test_the_first_frame_of_a_film_is_shown_before_the_others_are_decoded(client, root, monkeypatch):
    pytest.importorskip("av")
    write_film(root / "film.mp4", 12, (48, 64))
    go_on, real = threading.Event(), video._decode

    def decode(path):
        frames = real(path)
        yield next(frames)
        go_on.wait()
        yield from frames

    monkeypatch.setattr(video, "_decode", decode)
    project = client.post("/api/projects", json={"input": "film.mp4"}).json()
    assert (project["frames"], project["kind"]) == (12, "video")
    first = client.get(f"/api/projects/{project['id']}/frames/0")
    assert np.asarray(Image.open(BytesIO(first.content))).shape == (48, 64, 3)
    go_on.set()
    assert client.get(f"/api/projects/{project['id']}/frames/11").status_code == 200


def test_a_film_read_bit_by_bit_has_the_frames_of_one_read_at_once(tmp_path):
    pytest.importorskip("av")
    write_film(tmp_path / "film.mp4", 12, (48, 64))
    film = video.FilmReading(tmp_path / "film.mp4")
    film.wait_for(11)
    whole = video.read_video(tmp_path / "film.mp4").voxels.transpose(2, 1, 0, 3)
    assert np.array_equal(film.frames, whole)
    film.close()


@pytest.mark.parametrize("trust", ["0", "1"])
@pytest.mark.parametrize("large", [2**27, 1])
def test_an_array_that_is_cut_short_while_it_is_open_does_not_end_the_server(tmp_path, monkeypatch, trust, large):
    monkeypatch.setenv("FEWPOINT_TRUST", trust)
    monkeypatch.setattr("fewpoint.core.paging.LARGE_BYTES", large)
    path = tmp_path / "a.npy"
    np.save(path, np.arange(3 * 64 * 64, dtype=np.uint16).reshape(3, 64, 64))
    pixels = Pixels.read(path)
    assert not is_mapped(pixels.sequence.frames)  # which would be a bus error below
    path.write_bytes(b"")
    assert pixels.cut(0, 2)[63, 63, 0] == 3 * 64 * 64 - 1


def test_an_input_that_was_replaced_by_another_while_it_is_open_is_a_line_and_not_the_end(client, root):
    np.save(root / "a.npy", np.zeros((3, 16, 16), np.uint8))
    project = client.post("/api/projects", json={"input": "a.npy"}).json()["id"]
    (root / "a.npy").write_bytes(b"")
    assert client.get(f"/api/projects/{project}/frames/1").status_code == 200
    client.app.state.fewpoint.workspace.pixels.drop(project)  # as if others had taken its place in memory
    answer = client.get(f"/api/projects/{project}/frames/2")
    assert answer.status_code == 422 and "a.npy" in answer.text
