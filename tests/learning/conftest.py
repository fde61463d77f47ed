"""Small things to learn from: noise cut into blocks of 4 x 4 pixels, so that every superpixel is known."""

from collections.abc import Callable

import numpy as np
import pytest
import torch

from fewpoint.core import AreaBound, ImageSequence, PointSet, SuperpixelMap
from fewpoint.learning.objectives import PointObjective
from fewpoint.learning.phases import Learning, Schedule
from fewpoint.learning.samples import SampleSet, build_samples
from fewpoint.learning.settings import (
    AugmentationSettings,
    PhaseSettings,
    PriorSettings,
    RiskSettings,
    StoppingSettings,
    TrainingSettings,
)
from fewpoint.learning.training import Recipe, Trainer
from fewpoint.learning.working import WorkingSize
from fewpoint.models.multires_unet import build_network
from fewpoint.models.settings import NetworkSettings

NETWORK = NetworkSettings(base_width=2, levels=2, multiple=1)
TRAINING = TrainingSettings(batch=2, frames_per_epoch=1, weight_decay=0.0)


def make_blocks(n_frames: int, size: tuple[int, int] = (16, 16), block: int = 4) -> SuperpixelMap:
    """Blocks numbered row by row, the same on each frame."""
    rows, columns = (np.arange(side) // block for side in size)
    labels = rows[:, np.newaxis] * (columns.max() + 1) + columns
    return SuperpixelMap(np.tile(labels.astype(np.int32), (n_frames, 1, 1)))


def make_sequence(n_frames: int, size: tuple[int, int] = (16, 16), channels: int = 1) -> ImageSequence:
    """Noise, brighter in the block of rows and columns 4 … 7."""
    frames = np.random.default_rng(0).integers(0, 100, (n_frames, *size, channels))
    frames[:, 4:8, 4:8] += 150
    return ImageSequence.from_array(frames.astype(np.uint8))


def click(frames: list[int], absent: tuple[int, ...] = ()) -> PointSet:
    """A click on block 5, the bright one, of each frame."""
    return PointSet.from_rows([(frame, 5, 6) for frame in frames], absent)


def make_samples(n_frames: int = 4, points: PointSet | None = None) -> SampleSet:
    points = click(list(range(n_frames))) if points is None else points
    size = WorkingSize.fit((16, 16), 16, 2)
    return build_samples(make_sequence(n_frames), make_blocks(n_frames), points, size, torch.device("cpu"))


def make_trainer(samples: SampleSet, seed: int = 0, training: TrainingSettings = TRAINING) -> Trainer:
    network = build_network(1, NETWORK, 0.1, torch.Generator().manual_seed(seed))
    recipe = Recipe(PointObjective(samples, RiskSettings(keep=1.0)), training, AugmentationSettings(flips=True))
    return Trainer(network, samples, recipe, seed)


@pytest.fixture
def samples() -> Callable[..., SampleSet]:
    """A function: (n_frames, points) to samples."""
    return make_samples


@pytest.fixture
def trainer() -> Callable[..., Trainer]:
    """A function: (samples, seed, training settings) to a trainer of a tiny network."""
    return lambda given=None, **options: make_trainer(make_samples() if given is None else given, **options)


@pytest.fixture
def learning() -> Callable[..., Learning]:
    """A function: (samples, phases, stopping) to a learning that has not begun; the bound is 0.2."""

    def build(
        phases: PhaseSettings,
        stopping: StoppingSettings = StoppingSettings(),
        given: SampleSet | None = None,
        training: TrainingSettings = TRAINING,
    ) -> Learning:
        fresh = make_trainer(make_samples() if given is None else given, training=training)
        return Learning.start(fresh, AreaBound(0.2), Schedule(phases, PriorSettings(), stopping))

    return build
