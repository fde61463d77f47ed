"""All that is measured of masks once the truth is known: overlap, distance of surfaces, volume."""

import math
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from fewpoint.errors import InputError
from fewpoint.evaluation.metrics import Score, score_masks
from fewpoint.evaluation.surfaces import (
    Spacing,
    SurfaceDistances,
    VolumeError,
    measure_surfaces,
    measure_volume,
)


@dataclass(frozen=True)
class Evaluation:
    """How good the masks of one object are.

    pooled: score over all pixels of all frames. frames: the score of each frame. surfaces: how far the surfaces lie
    apart. volume: how much too large or too small the masks are.
    """

    pooled: Score
    frames: tuple[Score, ...]
    surfaces: SurfaceDistances
    volume: VolumeError

    def __repr__(self) -> str:
        figures = {"F1": self.f1, "HD95": self.hd95, "ASSD": self.assd, "volume error": self.volume_error}
        units = {"HD95": f" {self.surfaces.unit}", "ASSD": f" {self.surfaces.unit}"}
        told = [f"{name} {value:.3g}{units.get(name, '')}" for name, value in figures.items() if value is not None]
        return f"<Evaluation: {', '.join(told)}>"

    @property
    def f1(self) -> float:
        """F1, also called Dice, over all pixels of all frames."""
        return self.pooled.f1

    @property
    def hd95(self) -> float | None:
        """95th percentile of the distance between the surfaces; None where only one of them is there."""
        return self.surfaces.hd95

    @property
    def assd(self) -> float | None:
        """Mean distance between the surfaces; None where only one of them is there."""
        return self.surfaces.assd

    @property
    def volume_error(self) -> float | None:
        """(masks - truth) / truth; None if the truth is empty."""
        return self.volume.relative

    def as_table(self) -> dict[str, Any]:
        """Plain values for JSON, without the frames."""
        return {
            **asdict(self.pooled),
            "hd95": self.hd95,
            "assd": self.assd,
            "distance_unit": self.surfaces.unit,
            "unmatched_frames": self.surfaces.unmatched_frames,
            "volume_error": self.volume_error,
            "volume": self.volume.masks,
            "true_volume": self.volume.truth,
            "volume_unit": self.volume.unit,
        }


def judge_masks(masks: np.ndarray, truth: np.ndarray, spacing_mm: Spacing | None = None) -> Evaluation:
    """Compare (T, H, W) bool masks with the truth.

    spacing_mm: of frames, rows and columns of a volume, or of rows and columns of frames over time; None if it is not
    known, for frames over time in pixels.

    >>> truth = np.zeros((1, 4, 4), bool)
    >>> truth[0, 1:3, 1:3] = True
    >>> judge_masks(truth, truth).as_table()["hd95"]
    0.0
    """
    scores = score_masks(masks, truth)
    voxel_ml = None if spacing_mm is None or len(spacing_mm) != 3 else math.prod(spacing_mm) / 1000
    surfaces, volume = measure_surfaces(masks, truth, spacing_mm), measure_volume(masks, truth, voxel_ml)
    return Evaluation(scores.pooled, scores.frames, surfaces, volume)


def judge_labels(labels: np.ndarray, truth: np.ndarray, spacing_mm: Spacing | None = None) -> dict[int, Evaluation]:
    """The same of each object of (T, H, W) whole numbers, by its number; 0 is no object."""
    numbers = sorted({*np.unique(labels).tolist(), *np.unique(truth).tolist()} - {0})
    if not numbers:
        raise InputError("label maps must show an object, both are 0 everywhere; give others")
    return {number: judge_masks(labels == number, truth == number, spacing_mm) for number in numbers}
