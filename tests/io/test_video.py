"""Videos are read frame by frame, each once, in the order of showing."""

from types import SimpleNamespace

import av
import numpy as np
import pytest

from fewpoint.errors import InputError
from fewpoint.io.images import read_sequence
from fewpoint.io.video import ENCODERS, write_video
from videos import COLOUR, save_video


@pytest.mark.parametrize(
    ("name", "codec", "pixels"), [("v.avi", "ffv1", "bgr0"), ("v.mkv", "ffv1", "bgr0"), ("V.MOV", "png", "rgb24")]
)
def test_lossless_videos_are_read_exactly(tmp_path, name, codec, pixels):
    sequence = read_sequence(save_video(tmp_path / name, COLOUR, codec, pixels))
    np.testing.assert_array_equal(sequence.frames, COLOUR)
    assert sequence.source.format == "video"


def test_grey_videos_have_one_channel(tmp_path):
    grey = COLOUR[..., 0]
    sequence = read_sequence(save_video(tmp_path / "v.mkv", grey, pixels="gray"))
    np.testing.assert_array_equal(sequence.frames[..., 0], grey)


def test_frames_of_a_changing_rate_come_once_each(tmp_path):
    times = [0, 3, 50, 52, 90, 300, 301]
    np.testing.assert_array_equal(read_sequence(save_video(tmp_path / "v.mkv", COLOUR, times=times)).frames, COLOUR)


def test_mp4_with_frames_stored_out_of_order_keeps_the_order_of_showing(tmp_path):
    ramp = np.broadcast_to(np.arange(0, 240, 10, dtype=np.uint8)[:, None, None, None], (24, 32, 48, 3))
    path = save_video(tmp_path / "v.mp4", ramp, "mpeg4", "yuv420p")
    levels = read_sequence(path).frames.mean(axis=(1, 2, 3))
    assert len(levels) == 24
    assert (np.diff(levels) > 0).all()


def test_frames_lie_on_disk_and_not_in_memory(tmp_path):
    frames = read_sequence(save_video(tmp_path / "v.mkv", COLOUR)).frames
    while not isinstance(frames, np.memmap):
        assert frames.base is not None, "the frames own their memory"
        frames = frames.base


@pytest.mark.usefixtures("trusting")
def test_a_video_larger_than_the_disk_is_refused(tmp_path, monkeypatch):
    monkeypatch.setattr("shutil.disk_usage", lambda path: SimpleNamespace(free=3 * COLOUR[0].nbytes))
    with pytest.raises(InputError, match="TMPDIR"):
        read_sequence(save_video(tmp_path / "v.mkv", COLOUR))


@pytest.mark.parametrize("data", [b"", b"no video", b"\0" * 5000])
def test_what_is_no_video_is_refused(tmp_path, data):
    (tmp_path / "v.mp4").write_bytes(data)
    with pytest.raises(InputError, match=r"v\.mp4") as caught:
        read_sequence(tmp_path / "v.mp4")
    assert "\n" not in str(caught.value)


def test_sound_alone_is_refused(tmp_path):
    with av.open(str(tmp_path / "v.mkv"), "w") as container:
        stream = container.add_stream("pcm_s16le", rate=8000)
        sound = av.AudioFrame.from_ndarray(np.zeros((1, 800), np.int16), format="s16", layout="mono")
        sound.sample_rate = 8000
        container.mux(stream.encode(sound))
        container.mux(stream.encode())
    with pytest.raises(InputError, match="holds no images"):
        read_sequence(tmp_path / "v.mkv")


@pytest.mark.usefixtures("trusting")
def test_without_the_extra_the_error_names_it(tmp_path, monkeypatch):
    path = save_video(tmp_path / "v.mkv", COLOUR)
    monkeypatch.setitem(__import__("sys").modules, "av", None)
    with pytest.raises(InputError, match=r"pip install 'fewpoint\[video\]'"):
        read_sequence(path)


def test_the_encoder_under_the_gpl_is_taken_only_if_there_is_no_other(tmp_path, monkeypatch):
    """PyAV's wheels bring x264 along, and others."""
    used = []
    real = av.container.OutputContainer.add_stream

    class Watched:
        def __init__(self, path, mode) -> None:
            self._container = av.container.open(path, mode)

        def __enter__(self):
            return self

        def __exit__(self, *reason) -> None:
            self._container.close()

        def __getattr__(self, name):
            return getattr(self._container, name)

        def add_stream(self, codec, **options):
            used.append(codec)
            return real(self._container, codec, **options)

    monkeypatch.setattr(av, "open", Watched)
    write_video(COLOUR, tmp_path / "a.mp4")
    assert list(ENCODERS)[-1] == "libx264" and used and used != ["libx264"]
