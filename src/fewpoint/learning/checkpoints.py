"""Learning to and from one file, so that a killed run continues from one of its last epochs."""

import hashlib
import time
from collections.abc import Callable
from dataclasses import asdict
from io import BytesIO
from pathlib import Path
from typing import Any, BinaryIO

import torch

from fewpoint.core import EpochRecord
from fewpoint.io.atomic import write_atomically
from fewpoint.learning.kalman import Gaussian
from fewpoint.learning.phases import Learning, Progress
from fewpoint.learning.stopping import StopState

LEAST_SECONDS = 10.0  # between checkpoints: on a fast GPU, writing one takes as long as an epoch
BEGINNING, DIGEST = b"fewpoint checkpoint 2\n", 32  # then the SHA-256 of all that follows
SHORT_SECONDS = 0.1  # to write one; if it takes longer, the interval grows in proportion


def sparingly(save: Callable[[Any], None]) -> Callable[[Any], None]:
    """The same function, but it skips a state that comes too soon after the last one saved, or after this call."""
    due = time.monotonic() + LEAST_SECONDS

    def save_in_time(state: Any) -> None:
        nonlocal due
        started = time.monotonic()
        if started >= due:
            save(state)
            over = time.monotonic()
            due = over + LEAST_SECONDS * max(1.0, (over - started) / SHORT_SECONDS)

    return save_in_time


def resume(learning: Learning, path: Path, owner: str = "") -> Callable[[Learning], None]:
    """Continue from the checkpoint at the path if there is one; the function returned writes one there, sparingly."""
    if path.exists():
        load_learning(learning, path, owner)
    return sparingly(lambda state: write_atomically(path, lambda file: save_learning(state, file, owner)))


def save_learning(learning: Learning, file: BinaryIO, owner: str = "") -> None:
    """Write all that is needed to continue; tensors and plain values only, so that loading runs no code.

    owner: name of the network, for runs that train several.
    """
    courses = [{"progress": _pack(each.progress), "remembered": each.remembered} for each in learning.courses]
    payload = {
        "owner": owner,
        "trainer": learning.trainer.state_dict(),
        "courses": courses,
        "window": learning.window,
    }
    stream = BytesIO()
    torch.save(payload, stream)
    data = stream.getvalue()
    file.write(BEGINNING + hashlib.sha256(data).digest() + data)


def load_learning(learning: Learning, path: Path, owner: str = "") -> None:
    """Bring a freshly started learning to the state in the file.

    A file of another owner is ignored, and one of which a bit has changed since: learning then starts anew.
    """
    data = _read_whole(path)
    if data is None:
        return
    payload = torch.load(BytesIO(data), map_location="cpu", weights_only=True)
    if payload["owner"] != owner:
        return
    learning.trainer.load_state_dict(payload["trainer"])
    learning.window = payload["window"]
    for course, stored in zip(learning.courses, payload["courses"], strict=True):
        course.progress, course.remembered = _unpack(stored["progress"]), stored["remembered"]


def _read_whole(path: Path) -> bytes | None:
    """What was written, None if it is not that any more."""
    try:
        stored = path.read_bytes()
    except OSError:
        return None
    digest, data = stored[len(BEGINNING) :][:DIGEST], stored[len(BEGINNING) + DIGEST :]
    return data if stored.startswith(BEGINNING) and hashlib.sha256(data).digest() == digest else None


def _pack(progress: Progress) -> dict:
    return {
        "phase": progress.phase,
        "phase_epoch": progress.phase_epoch,
        "mean": torch.from_numpy(progress.state.mean),
        "covariance": torch.from_numpy(progress.state.covariance),
        "priors": torch.from_numpy(progress.priors),
        "stop": asdict(progress.stop),
        "selected_epoch": progress.selected_epoch,
        "records": [asdict(record) for record in progress.records],
        "rows": [tuple(torch.from_numpy(values) for values in row) for row in progress.rows],
    }


def _unpack(packed: dict[str, Any]) -> Progress:
    return Progress(
        phase=packed["phase"],
        phase_epoch=packed["phase_epoch"],
        state=Gaussian(packed["mean"].numpy(), packed["covariance"].numpy()),
        priors=packed["priors"].numpy(),
        stop=StopState(**packed["stop"]),
        selected_epoch=packed["selected_epoch"],
        records=tuple(EpochRecord(**record) for record in packed["records"]),
        rows=tuple(tuple(values.numpy() for values in row) for row in packed["rows"]),
    )
