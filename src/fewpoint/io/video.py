"""Video: every frame once, in the order in which it is shown, whatever the frame rate."""

import shutil
import tempfile
import threading
from collections.abc import Iterable, Iterator
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from fewpoint.core.paging import let_go, make_frames, map_store, open_store
from fewpoint.errors import FewpointError, InputError
from fewpoint.io.apart.calls import stream
from fewpoint.io.apart.pulse import beat
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
DENSEST, SLACK_BYTES = 2000, 2**28  # films of real scenes are packed 50 to 500 times
DISK_SHARE = 0.8
Encoder = Literal["libopenh264", "libvpx-vp9", "mpeg4", "libx264"]
# The first that this build of ffmpeg has; the last is under the GPL. VP9 is told to be quick, and good at any size.
ENCODERS: dict[Encoder, dict[str, str]] = {
    "libopenh264": {},
    "libvpx-vp9": {"crf": "28", "b": "0", "deadline": "realtime", "cpu-used": "8"},
    "mpeg4": {},
    "libx264": {},
}
FRAMES_PER_SECOND = 10
FRAMES_KEPT = 32  # in memory while a film is read


def read_video(path: Path) -> Volume:
    """Read all frames as colour, or as grey if the video has no colour.

    They are decoded once into a file that the system removes, and read from there, so that a long video does not have
    to fit into memory.
    """
    need("av", EXTRA)
    with explaining_read_errors(path), open_store() as store:
        count, first = 0, None
        room = DISK_SHARE * shutil.disk_usage(tempfile.gettempdir()).free
        for frame in _decode(path):
            first = frame if first is None else first
            _check_frame(frame, first, count, path)
            beat()
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
        frames = map_store(store, (count, *first.shape), first.dtype, "r")
    return Volume(frames.transpose(2, 1, 0, 3), None, FORMAT, stacked=True)


class FilmReading:
    """The frames of a film while they are decoded in the background, each as soon as it is there.

    shape: (T, H, W, C), with as many frames as the film has packets. The frames lie in a file without a name.
    """

    def __init__(self, path: Path) -> None:
        need("av", EXTRA)
        self.path = path
        self._decoded = stream(decode_film, path)
        count, first = next(self._decoded), next(self._decoded)
        self.shape = (count, *first.shape)
        _check_room(path, self.shape[0] * first.nbytes)
        self.frames = make_frames(self.shape, first.dtype)
        self.frames[0] = first
        self.done = 1
        self.error: FewpointError | None = None
        self._changed = threading.Condition()
        self._closed = False
        self._thread = threading.Thread(target=self._read, daemon=True)
        self._thread.start()

    def wait_for(self, frame: int) -> None:
        """Wait until a frame is decoded; raises what went wrong on the way to it."""
        with self._changed:
            self._changed.wait_for(lambda: self.done > frame or self.error is not None)
            if self.done <= frame and self.error is not None:
                raise self.error

    def close(self) -> None:
        with self._changed:
            self._closed = True
        self._thread.join()

    def _read(self) -> None:
        try:
            for frame in self._decoded:
                if self._closed or not self._keep(frame):
                    return
            if self.done < len(self.frames):
                raise InputError(
                    f"{self.path.name} must hold {len(self.frames)} frames, {self.done} could be decoded; "
                    "export it again"
                )
        except FewpointError as error:
            with self._changed:
                self.error = error
                self._changed.notify_all()
        finally:
            self._decoded.close()

    def _keep(self, frame: np.ndarray) -> bool:
        """Store a frame; false once all are there."""
        if self.done >= len(self.frames):
            return False
        _check_frame(frame, self.frames[0], self.done, self.path)
        self.frames[self.done] = frame
        if self.done % FRAMES_KEPT == 0:
            let_go(self.frames)
        with self._changed:
            self.done += 1
            self._changed.notify_all()
        return True


def decode_film(path: Path) -> Iterator[Any]:
    """How many frames a film seems to have, then the frames; there is at least one."""
    with explaining_read_errors(path):
        frames = _decode(path)
        first = next(frames, None)
        if first is None:
            raise InputError(f"{path} must hold at least one frame, it holds none; export it again")
        yield _count_packets(path)
        yield from chain([first], frames)


def _count_packets(path: Path) -> int:
    """How many frames a film has, by its packets, which need not be decoded for that."""
    import av

    with av.open(str(path)) as container:
        return max(1, sum(1 for packet in container.demux(container.streams.video[0]) if packet.size))


def _check_room(path: Path, size: int) -> None:
    room = DISK_SHARE * shutil.disk_usage(tempfile.gettempdir()).free
    if size > room:
        raise InputError(
            f"the frames of {path} must fit into {tempfile.gettempdir()}, where {room / 2**30:.1f} GiB may be "
            "used; make room, set TMPDIR to another folder, or cut the video"
        )


def write_video(pictures: Iterable[np.ndarray], path: Path) -> None:
    """Write (H, W, 3) uint8 pictures of an even height and width as a video that any player shows."""
    need("av", EXTRA)
    write_file_atomically(path, lambda temporary: _encode(pictures, temporary))


def _encode(pictures: Iterable[np.ndarray], path: Path) -> None:
    import av

    codec: Encoder = next(name for name in ENCODERS if name in av.codecs_available)
    with av.open(str(path), "w") as container:
        stream = container.add_stream(codec, rate=FRAMES_PER_SECOND, options=ENCODERS[codec])
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
            raise InputError(f"{path} must be a video, it holds no images; give another file")
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
    if (count + 1) * frame.nbytes > DENSEST * path.stat().st_size + SLACK_BYTES:
        raise InputError(f"{path} holds more pixels than a video of its size can; it may be damaged, export it again")
    if count >= MOST_FRAMES:
        raise InputError(f"{path} must hold at most {MOST_FRAMES} frames; cut it into pieces")
