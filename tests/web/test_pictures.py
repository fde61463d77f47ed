"""Frames are sent as images that are encoded once."""

from io import BytesIO

import numpy as np
import pytest
from PIL import Image

from fewpoint.report.tiles import render_frame
from fewpoint.superpixels.intensity import IntensityWindow
from fewpoint.web import pictures
from fewpoint.web.pictures import Picture, PictureCache, encode_frame, shade
from web.visits import open_frames


def decode(data: bytes) -> np.ndarray:
    return np.asarray(Image.open(BytesIO(data)))


def test_a_frame_shows_its_pixels_within_the_window(client, root):
    np.save(root / "ramp.npy", np.arange(4 * 6 * 10, dtype=np.uint16).reshape(4, 6, 10))
    project = client.post("/api/projects", json={"input": "ramp.npy"}).json()
    answer = client.get(f"/api/projects/{project['id']}/frames/1", params={"low": 60, "high": 119})
    assert answer.headers["content-type"] == "image/png"
    assert decode(answer.content).shape == (6, 10)
    assert decode(answer.content)[[0, -1], [0, -1]].tolist() == [0, 255]
    dark = client.get(f"/api/projects/{project['id']}/frames/1", params={"low": 200, "high": 239})
    assert decode(dark.content).max() == 0


def test_planes_across_the_frames_have_a_row_a_frame(client, root):
    values = np.zeros((4, 6, 10), np.uint8)
    values[2, 3, 7] = 200
    np.save(root / "dot.npy", values)
    project = client.post("/api/projects", json={"input": "dot.npy"}).json()["id"]
    at_row = decode(client.get(f"/api/projects/{project}/frames/3", params={"axis": 1}).content)
    at_column = decode(client.get(f"/api/projects/{project}/frames/7", params={"axis": 2}).content)
    assert at_row.shape == (4, 10) and np.argwhere(at_row).tolist() == [[2, 7]]
    assert at_column.shape == (4, 6) and np.argwhere(at_column).tolist() == [[2, 3]]
    assert client.get(f"/api/projects/{project}/frames/6", params={"axis": 1}).status_code == 404


def test_a_browser_keeps_a_frame_for_ever_under_the_key_of_the_frames_and_asks_again_without(client):
    project = open_frames(client)
    address = f"/api/projects/{project['id']}/frames/0"
    assert "immutable" in client.get(address, params={"v": project["frames_key"]}).headers["cache-control"]
    answer = client.get(address)
    assert "no-cache" in answer.headers["cache-control"]
    again = client.get(address, headers={"If-None-Match": answer.headers["etag"]})
    assert (again.status_code, again.content) == (304, b"")


@pytest.mark.parametrize("query", ["low=5&high=5", "low=nan&high=1", "low=inf&high=1", "axis=3", "axis=x", "zoom=2"])
def test_a_view_without_meaning_is_refused(client, query):
    project = open_frames(client)["id"]
    assert client.get(f"/api/projects/{project}/frames/0?{query}").status_code == 422


@pytest.mark.parametrize("frame", [-1, 6, 10**30])
def test_a_frame_that_is_not_there_is_missing(client, frame):
    project = open_frames(client)["id"]
    assert client.get(f"/api/projects/{project}/frames/{frame}").status_code in (404, 422)


@pytest.mark.parametrize("dtype", [np.uint8, np.uint16, np.float32])
@pytest.mark.parametrize("channels", [1, 2, 3])
def test_a_picture_has_the_shades_of_the_report(dtype, channels):
    pixels = np.random.default_rng(0).integers(0, 256, (20, 30, channels)).astype(dtype)
    window = IntensityWindow(np.full(channels, 30.0), np.full(channels, 200.0))
    expected = render_frame(pixels, window)
    assert np.array_equal(shade(pixels, window), expected if channels == 3 else expected[..., 0])


def test_large_frames_are_sent_as_jpeg_and_small_ones_to_the_bit():
    window = IntensityWindow(np.array([0.0]), np.array([255.0]))
    small = np.random.default_rng(0).integers(0, 256, (512, 512, 1), dtype=np.uint8)
    picture = encode_frame(small, window)
    assert picture.media_type == "image/png" and np.array_equal(decode(picture.data), small[..., 0])
    assert encode_frame(np.zeros((513, 512, 1), np.uint8), window).media_type == "image/jpeg"


@pytest.mark.nightly
def test_each_frame_of_a_long_large_sequence_is_encoded_once(client, root, monkeypatch):
    """500 frames of 1024 x 1024: the array is sparse on disk and read a frame at a time."""
    header = np.lib.format.open_memmap(root / "long.npy", "w+", np.uint8, (500, 1024, 1024))
    header[::100, 100:200, 100:200] = 200
    header.flush()
    encoded = []
    real = pictures.encode_frame
    monkeypatch.setattr("fewpoint.web.sessions.encode_frame", lambda *given: encoded.append(1) or real(*given))
    project = client.post("/api/projects", json={"input": "long.npy"}).json()["id"]
    for _ in range(3):
        for frame in range(0, 500, 25):
            answer = client.get(f"/api/projects/{project}/frames/{frame}")
            assert answer.headers["content-type"] == "image/jpeg" and len(answer.content) < 100_000
    assert len(encoded) == 20


def test_the_cache_keeps_what_was_used_last_within_its_bytes():
    cache = PictureCache(most_bytes=100)
    made = []

    def ask(key: str) -> None:
        cache.get(key, lambda: made.append(key) or Picture(b"0" * 40, "image/png"))

    for key in "ababcab":
        ask(key)
        assert cache.size_bytes <= 100
    assert "".join(made) == "abcab"


def test_a_picture_larger_than_the_cache_is_given_and_not_kept():
    cache = PictureCache(most_bytes=10)
    assert len(cache.get("a", lambda: Picture(b"0" * 40, "image/png")).data) == 40
    assert cache.size_bytes == 0
