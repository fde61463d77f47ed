"""A small result, made up so that every number in it is known."""

from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest

from fewpoint.core import (
    AreaBound,
    EpochRecord,
    ImageSequence,
    PointSet,
    PriorEstimate,
    PriorHistory,
    ProbabilityMaps,
    Result,
)

PHASES = ("warm-up", "estimation", "final")


def make_sequence(n_frames: int = 5, size: tuple[int, int] = (40, 48), channels: int = 1) -> ImageSequence:
    noise = np.random.default_rng(0).integers(0, 256, (n_frames, *size, channels))
    return ImageSequence.from_array(noise.astype(np.uint8))


def make_history(n_epochs: int, n_frames: int, **values: float | str) -> PriorHistory:
    """Epochs in three equal phases; values replace those of every record."""
    plain = EpochRecord(0, "", 0.5, 0.2, 0.3, 0.1, 0.9, 0.1, 0.01, 0.2)
    records = tuple(
        replace(plain, **{"epoch": epoch, "phase": PHASES[3 * (epoch - 1) // n_epochs], **values})
        for epoch in range(1, n_epochs + 1)
    )
    shares = np.random.default_rng(1).uniform(0, 0.3, (3, n_epochs, n_frames)).astype(np.float32)
    return PriorHistory(records, *shares, selected_epoch=n_epochs // 2)


def make_segmentation(sequence: ImageSequence, history: PriorHistory | None = None) -> Result:
    """A rectangle on every frame but the last, which shows nothing."""
    n_frames, height, width, _ = sequence.shape
    masks = np.zeros((n_frames, height, width), bool)
    masks[: max(1, n_frames - 1), height // 4 : height // 2, width // 4 : width // 2] = True
    priors = masks.mean(axis=(1, 2))
    estimate = PriorEstimate(priors, 0.1 * priors, priors)
    probabilities = ProbabilityMaps(np.where(masks, 0.9, 0.1).astype(np.float32))
    history = PriorHistory.empty(n_frames) if history is None else history
    return Result.single(masks, probabilities, estimate, history, AreaBound(0.2), sequence.names)


def make_points(sequence: ImageSequence) -> PointSet:
    height, width = sequence.size
    return PointSet.from_rows([(0, height // 3, width // 3)])


@pytest.fixture
def result() -> Callable[..., tuple[ImageSequence, PointSet, Result]]:
    """A function: (n_frames, size, channels, n_epochs) to a sequence, its clicks and its segmentation."""

    def build(n_frames=5, size=(40, 48), channels=1, n_epochs=0):
        sequence = make_sequence(n_frames, size, channels)
        history = make_history(n_epochs, n_frames) if n_epochs else None
        return sequence, make_points(sequence), make_segmentation(sequence, history)

    return build


@pytest.fixture
def history() -> Callable[..., PriorHistory]:
    return make_history
