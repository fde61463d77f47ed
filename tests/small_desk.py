"""A small made-up image, clicks on it, and a desk whose runs take seconds."""

import time
from collections.abc import Callable
from pathlib import Path

from fewpoint.core.job import Job
from fewpoint.evaluation.phantom import make_phantom
from fewpoint.io.jobs import read_changes
from fewpoint.napari.desk import Desk
from synthetic import save_settings
from tiny_runs import TINY

PATIENCE_S = 180.0
MADE = make_phantom(n_frames=6, size=(48, 40))
FRAMES = MADE.sequence.frames[..., 0]
CLICKS = dict.fromkeys(map(tuple, MADE.points.coordinates.tolist()), True)


def wait_until(done: Callable[[], object]) -> None:
    end = time.monotonic() + PATIENCE_S
    while not done():
        assert time.monotonic() < end, "waited in vain"
        time.sleep(0.05)


def make_desk(folder: Path) -> Desk:
    folder.mkdir(exist_ok=True)
    save_settings(TINY, folder / "tiny.toml")
    return Desk(Job(device="cpu", changes=read_changes(folder / "tiny.toml")), folder / "kept")
