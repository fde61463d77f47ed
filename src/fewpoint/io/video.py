"""Video: every frame once, in the order in which it is shown, whatever the frame rate."""

import shutil
import tempfile
from collections.abc import Iterable, Iterator
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Literal

import numpy as np

from fewpoint.errors import InputError
from fewpoint.io.atomic import write_file_atomically
from fewpoint.io.decoding import explaining_read_errors
from fewpoint.io.extras import need
from fewpoint.io.volumes import Volume

if TYPE_CHECKING:
    from av import VideoFrame

FORMAT, EXTRA = "video", "video"
SUFFIXES = (".mp4", ".avi", ".mov", ".mkv", ".m4v", ".webm", ".mpg", ".mpeg", ".wmv")
LARGEST_FRAME = 2**28  # pixels
MOST_FRAMES = 200_000
DISK_SHARE = 0.8
Encoder = Literal["libx264", "libopenh264", "mpeg4"]
ENCODERS: tuple[Encoder, ...] = ("libx264", "libopenh264", "mpeg4")  # the first that this build of ffmpeg has
FRAMES_PER_SECOND = 10


def read_video(path: Path) -> Volume:
    """Read all frames as colour, or as grey if the video has no colour.

    They are decoded once into a file that the system removes, and read from there, so that a long video does not have
    to fit into memory.
    """
    need("av", EXTRA)
    with explaining_read_errors(path), tempfile.TemporaryFile() as store:
        count, first = 0, None
        room = DISK_SHARE * shutil.disk_usage(tempfile.gettempdir()).free
        for frame in _decode(path):
            first = frame if first is None else first
            _check_frame(frame, first, count, path)
            if (count + 1) * frame.nbytes > room:
                raise InputError(
                    f"the frames of {path} must fit into {tempfile.gettempdir()}, where {room / 2**30:.1f} GiB may be "
                    "used; make room, set TMPDIR to another folder, or cut the video"
                )
            store.write(frame.tobytes())
            count += 1
        if first is None:
            raise InputError(f"{path} must hold at least one frame, it holds none; export it again")
        store.flush()
        frames = np.memmap(store, first.dtype, "r", shape=(count, *first.shape))
    return Volume(frames.transpose(2, 1, 0, 3), None, FORMAT, stacked=True)


def write_video(pictures: Iterable[np.ndarray], path: Path) -> None:
    """Write (H, W, 3) uint8 pictures of an even height and width as a video that any player shows."""
    need("av", EXTRA)
    write_file_atomically(path, lambda temporary: _encode(pictures, temporary))


def _encode(pictures: Iterable[np.ndarray], path: Path) -> None:
    import av

    codec: Encoder = next(name for name in ENCODERS if name in av.codecs_available)
    with av.open(str(path), "w") as container:
        stream = container.add_stream(codec, rate=FRAMES_PER_SECOND)
        stream.pix_fmt = "yuv420p"
        pictures = iter(pictures)
        first = next(pictures)
        stream.height, stream.width = first.shape[:2]
        for picture in chain([first], pictures):
            frame = av.VideoFrame.from_ndarray(np.ascontiguousarray(picture), format="rgb24")
            container.mux(stream.encode(frame))
        container.mux(stream.encode())


def _decode(path: Path) -> Iterator[np.ndarray]:
    """(H, W, 1 or 3) frames of the first video stream."""
    import av

    with av.open(str(path)) as container:
        if not container.streams.video:
            raise InputError(f"{path} must be a video, it holds no pictures; give another file")
        stream = container.streams.video[0]
        if stream.width * stream.height > LARGEST_FRAME:
            raise InputError(f"frames of {path} must be smaller than {LARGEST_FRAME} pixels; reduce them first")
        for frame in container.decode(stream):
            yield _to_array(frame)


def _to_array(frame: "VideoFrame") -> np.ndarray:
    is_grey = frame.format.name.startswith("gray")
    has_many_bits = max(component.bits for component in frame.format.components) > 8
    if is_grey:
        return frame.to_ndarray(format="gray16le" if has_many_bits else "gray")[..., np.newaxis]
    return frame.to_ndarray(format="rgb24")


def _check_frame(frame: np.ndarray, first: np.ndarray, count: int, path: Path) -> None:
    if frame.shape != first.shape:
        raise InputError(
            f"all frames of {path} must have one size, frame 0 is {first.shape[:2]} and frame {count} is "
            f"{frame.shape[:2]}; cut it there"
        )
    if count >= MOST_FRAMES:
        raise InputError(f"{path} must hold at most {MOST_FRAMES} frames; cut it into pieces")
