"""Phantoms whose truth is known exactly, as files, and settings small enough for tests."""

import json
from pathlib import Path

import numpy as np
from PIL import Image

from fewpoint.core import PointSet
from fewpoint.core.settings import as_table
from fewpoint.evaluation.phantom import Phantom
from fewpoint.io.points import write_points
from fewpoint.learning.settings import (
    AugmentationSettings,
    PhaseSettings,
    RiskSettings,
    StoppingSettings,
    TrainingSettings,
)
from fewpoint.methods.paper import PaperSettings
from fewpoint.methods.registry import OwnSettings
from fewpoint.models.settings import NetworkSettings
from fewpoint.superpixels.slic import SuperpixelSettings
from fewpoint.tracking.settings import TrackingSettings

# All three phases in a second: for tests of how a run goes, not of what it finds.
TINY = PaperSettings(
    superpixels=SuperpixelSettings(count=100),
    network=NetworkSettings(base_width=2, levels=2, multiple=1, head_prior=0.0),
    training=TrainingSettings(max_side=32, batch=2, frames_per_epoch=4, weight_decay=1e-4, statistics="sequence"),
    risk=RiskSettings(keep=1.0),
    phases=PhaseSettings(warmup_epochs=2, warmup_rate=1e-3, estimation_epochs=3, final_epochs=2),
    stopping=StoppingSettings(variance=1.0, window=1, minimum=2),
    augmentation=AugmentationSettings(flips=True),
)

# The same for what only competitors have.
TINY_COMPETITORS = (
    ("autoencoder.base_width", 2),
    ("autoencoder.levels", 2),
    ("autoencoder.max_side", 32),
    ("autoencoder.epochs", 1),
    ("autoencoder.frames_per_epoch", 4),
    ("boosting.rounds", 3),
    ("bagging.trees", 4),
    ("metric.dimensions", 2),
    ("linking.repeats", 2),
    ("linking.radius", 0.2),
)

# As much network and training as finds the object of a small colour phantom, in some fifteen seconds on one core.
SMALL = PaperSettings(
    network=NetworkSettings(base_width=8, levels=3, multiple=1, head_prior=0.0),
    training=TrainingSettings(max_side=40, batch=4, frames_per_epoch=48, weight_decay=1e-4, statistics="sequence"),
    risk=RiskSettings(keep=1.0),
    phases=PhaseSettings(
        warmup_epochs=30,
        warmup_rate=3e-3,
        warmup_prior=0.4,
        schedule="one-cycle",
        estimation_epochs=0,
        final_epochs=0,
    ),
    augmentation=AugmentationSettings(flips=True),
    tracking=TrackingSettings(radius=0.35),
)


def save_frames(frames: np.ndarray, folder: Path) -> Path:
    """Write (T, H, W, C) uint8 frames as 0000.png, 0001.png, …"""
    folder.mkdir(parents=True)
    for index, frame in enumerate(frames):
        Image.fromarray(frame.squeeze()).save(folder / f"{index:04d}.png")
    return folder


def save_phantom(phantom: Phantom, folder: Path) -> Path:
    """Write frames/, points.csv and truth/ into a folder, as a user would have them."""
    save_frames(phantom.sequence.frames, folder / "frames")
    save_frames(phantom.truth.astype(np.uint8) * 255, folder / "truth")
    write_points(phantom.points, folder / "points.csv")
    return folder


def save_dataset_sequence(phantom: Phantom, folder: Path) -> Path:
    """Write a folder in the dataset's layout; points_every5.csv has the points of every fifth frame only."""
    save_frames(phantom.sequence.frames, folder / "input-frames")
    save_frames(phantom.truth.astype(np.uint8) * 255, folder / "ground_truth-frames")
    height, width = phantom.sequence.size
    rows = [f"{t};{t};1;{x / (width - 1):.6f};{y / (height - 1):.6f}" for t, y, x in phantom.points.coordinates]
    preamble = [f"VideoWidth:;{width}", f"VideoHeight:;{height}", f"DisplayWidth:;{width}", f"DisplayHeight:;{height}"]
    (folder / "2dlocs.csv").write_text("\n".join([*preamble, "frame;time;visible;x;y", *rows]) + "\n")
    fifth = [tuple(row) for row in phantom.points.coordinates.tolist() if row[0] % 5 == 0]
    write_points(PointSet.from_rows(fifth), folder / "points_every5.csv")
    return folder


def save_old_sequence(phantom: Phantom, folder: Path) -> Path:
    """The same in the dataset's older layout: points in gaze-measurements/, frames counted from 1."""
    save_dataset_sequence(phantom, folder)
    (folder / "gaze-measurements").mkdir()
    (folder / "2dlocs.csv").rename(folder / "gaze-measurements" / "video1.csv")
    (folder / "points_every5.csv").unlink()
    for pictures in ("input-frames", "ground_truth-frames"):
        for number, path in enumerate(sorted((folder / pictures).iterdir()), start=1):
            path.rename(path.with_name(f"frame_{number:04d}.png"))
    return folder


def save_settings(settings: OwnSettings, path: Path) -> Path:
    """Write all settings as the TOML that --config reads."""
    lines = []
    for section, values in as_table(settings).items():
        # A TOML value reads as the JSON one for booleans, numbers and plain text.
        lines += [f"[{section}]", *(f"{name} = {json.dumps(value)}" for name, value in values.items())]
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return path
