"""A phantom as a volume of Slicer that lies at an angle, and what a person does with it."""

import time

import numpy as np
from FewpointLib.grid import Point
from FewpointLib.study import Clicks, Volume

from fewpoint.evaluation.phantom import make_phantom

PHANTOM = make_phantom(n_frames=6, size=(48, 40))


def make_tilted() -> np.ndarray:
    """Voxels to RAS: frames along i, 5 mm apart, rows along k, columns along j; left-handed and off all axes."""
    a, b = np.deg2rad([20.0, 35.0])
    tilt = np.array([[1, 0, 0], [0, np.cos(a), -np.sin(a)], [0, np.sin(a), np.cos(a)]])
    turn = np.array([[np.cos(b), -np.sin(b), 0], [np.sin(b), np.cos(b), 0], [0, 0, 1]])
    matrix = np.eye(4)
    matrix[:3, :3] = turn @ tilt @ np.diag([5.0, -0.8, 0.7])
    matrix[:3, 3] = (-31.5, 12.25, 170.0)
    return matrix


TILTED = make_tilted()


def to_slicer(frames: np.ndarray) -> np.ndarray:
    """Frames (T, H, W) as Slicer has them, (K, J, I), under TILTED."""
    return np.ascontiguousarray(frames.transpose(1, 2, 0))


VOLUME = Volume("3: CT Abdomen", to_slicer(PHANTOM.sequence.frames[..., 0]), TILTED)


def place_ras(frame: int, y: int, x: int) -> tuple[float, float, float]:
    right, anterior, superior, _ = (TILTED @ (frame, x, y, 1)).tolist()
    return right, anterior, superior


ROWS = [tuple(row) for row in PHANTOM.points.coordinates.tolist()]
POINTS = [Point(f"F-{index}", place_ras(*row)) for index, row in enumerate(ROWS, 1)]
CLICKS = Clicks("liver", tuple(POINTS))


def finish(steps, listener=lambda step: None):
    """The value of steps, each done when the one before says; at most two minutes of them."""
    until = time.monotonic() + 120
    while time.monotonic() < until:
        try:
            step = next(steps)
        except StopIteration as stop:
            return stop.value
        listener(step)
        time.sleep(min(step.pause_s, 0.2))
    raise AssertionError(f"not finished: {step}")
