"""Frames as a pretrained model sees them: encoded once, beside other work, and kept on disk within a limit.

What is kept is found by the picture's content and the model's weights, so a refinement, or another run on the same
frames, encodes nothing again. What was not used for longest makes room for what is new.
"""

import hashlib
import os
import zipfile
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor, wait
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from fewpoint.core import ImageSequence
from fewpoint.errors import InputError, OutputError
from fewpoint.io.atomic import write_atomically
from fewpoint.superpixels.intensity import IntensityWindow, window_of
from fewpoint.witness.models import Answer, Encoded, FeatureModel, Prompt, Promptable
from fewpoint.witness.pictures import to_colours
from fewpoint.witness.store import models_folder

LIMIT_VARIABLE = "FEWPOINT_ENCODED_GB"
USUAL_LIMIT_GB = 8.0
FOLDER = "encoded"
AT_ONCE = 4  # frames that are prepared, seen or written if nothing else is done
LOOKED_AT, LEAST_COLOUR = 4, 0.03  # frames, and the mean difference of their channels: less is grey
EMPTY = 0.45  # of a picture that shows nothing: the mean photograph


@dataclass(frozen=True)
class EncodedStore:
    """A folder of encoded pictures of at most `limit` bytes."""

    folder: Path
    limit: int

    @classmethod
    def usual(cls) -> "EncodedStore":
        """Next to the models; FEWPOINT_ENCODED_GB is how large it may become, 0 keeps nothing."""
        given = os.environ.get(LIMIT_VARIABLE, "")
        try:
            limit = float(given) if given else USUAL_LIMIT_GB
        except ValueError:
            limit = -1.0
        if not 0 <= limit < np.inf:
            raise InputError(f"{LIMIT_VARIABLE} must be a number of gigabytes, 0 or more, got {given!r}")
        return cls(models_folder() / FOLDER, int(limit * 1e9))

    def obtain(self, key: str, make: Callable[[], Encoded]) -> Encoded:
        """What is kept under a key, or what is made now and kept if there is room for it."""
        path = self.folder / f"{key}.npz"
        kept = self._load(path)
        if kept is not None:
            return kept
        made = make()
        size = sum(value.nbytes for value in made.values())
        if size <= self.limit:
            with suppress(OutputError, OSError):  # without room on the disk it is encoded again next time
                self.folder.mkdir(parents=True, exist_ok=True)
                self._make_room(size)
                write_atomically(path, lambda stream: np.savez(stream, **made))  # pyright: ignore[reportArgumentType]
        return made

    def _load(self, path: Path) -> Encoded | None:
        try:
            with open(path, "rb") as stream, np.load(stream) as stored:
                content = dict(stored)
            os.utime(path)
        except (OSError, ValueError, EOFError, KeyError, zipfile.BadZipFile):
            return None  # not there, or not whole: it is made again
        return content

    def _make_room(self, size: int) -> None:
        """Remove what was not used for longest until `size` more bytes fit."""
        kept = sorted(((path.stat(), path) for path in self.folder.glob("*.npz")), key=lambda each: each[0].st_mtime)
        total = sum(stat.st_size for stat, _ in kept)
        for stat, path in kept:
            if total + size <= self.limit:
                return
            path.unlink(missing_ok=True)
            total -= stat.st_size


def key_of(picture: np.ndarray, identity: str) -> str:
    """The name of a picture (H, W, 3) as a model sees it."""
    digest = hashlib.sha256(f"{identity} {picture.shape} {picture.dtype}".encode())
    digest.update(np.ascontiguousarray(picture).tobytes())
    return digest.hexdigest()[:40]


@dataclass(frozen=True, eq=False)
class Pictures:
    """The frames of a sequence as pictures: (H, W, 3) float32 in [0, 1], on one brightness scale."""

    sequence: ImageSequence
    window: IntensityWindow

    @classmethod
    def of(cls, sequence: ImageSequence) -> "Pictures":
        return cls(sequence, window_of(sequence))

    def __getitem__(self, frame: int) -> np.ndarray:
        return to_colours(self.window.apply(self.sequence.frames[frame]))

    def have_colours(self) -> bool:
        """Whether the channels of a few frames differ."""
        some = np.unique(np.linspace(0, len(self.sequence) - 1, LOOKED_AT).astype(int)).tolist()
        return bool(np.mean([np.ptp(self[frame], axis=-1).mean() for frame in some]) >= LEAST_COLOUR)


def describe_frames(sequence: ImageSequence, model: FeatureModel, store: EncodedStore) -> list[np.ndarray]:
    """(h, w, D) float32 features of each frame."""
    pictures = Pictures.of(sequence)

    def describe(frame: int) -> np.ndarray:
        picture = pictures[frame]
        kept = store.obtain(
            key_of(picture, model.identity), lambda: {"features": model.describe(picture).astype(np.float16)}
        )
        return kept["features"].astype(np.float32)

    return [describe(frame) for frame in range(len(sequence))]


class EncodedFrames:
    """The frames of a sequence as a promptable model sees them.

    beside: a thread encodes them ahead of being asked for; else all are encoded before anything else is done, several
    at a time: while a GPU sees one, the next are prepared and the last are written.
    """

    def __init__(self, sequence: ImageSequence, model: Promptable, store: EncodedStore, *, beside: bool = True) -> None:
        self.size, self.model = sequence.size, model
        self._pictures, self._store = Pictures.of(sequence), store
        self._worker = ThreadPoolExecutor(1 if beside else AT_ONCE, thread_name_prefix="encoding")
        self._done: list[Future[None]] = [self._worker.submit(self._prepare, frame) for frame in range(len(sequence))]
        if not beside:
            wait(self._done)

    def __len__(self) -> int:
        return len(self._done)

    def ask(self, frame: int | None, prompts: list[Prompt]) -> list[Answer]:
        """The model's answers about a frame, which is waited for, or about an empty picture."""
        if frame is None:
            return self.model.ask(self._encode(np.full((*self.size, 3), EMPTY, np.float32)), self.size, prompts)
        self._done[frame].result()
        return self.model.ask(self._encode(self._pictures[frame]), self.size, prompts)

    def close(self) -> None:
        """Encode no more."""
        self._worker.shutdown(wait=True, cancel_futures=True)

    def _prepare(self, frame: int) -> None:
        """Leave an encoded frame on disk; where nothing is kept it is encoded when it is asked about."""
        if self._store.limit:
            self._encode(self._pictures[frame])

    def _encode(self, picture: np.ndarray) -> Encoded:
        return self._store.obtain(key_of(picture, self.model.identity), lambda: self.model.encode(picture))
