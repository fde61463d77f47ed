"""Small things to learn from: noise cut into blocks of 4 x 4 pixels, so that every superpixel is known."""

from collections.abc import Callable, Sequence

import numpy as np
import pytest
import torch

from fewpoint.core import NOTHING_SAID, AreaBound, ImageSequence, PointSet, SuperpixelMap, Words
from fewpoint.learning.estimators import FilteredPriors
from fewpoint.learning.objectives import PointObjective
from fewpoint.learning.phases import Course, Learning, Schedule
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
from fewpoint.models.networks import build_network
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


def build_all_samples(
    n_frames: int, points: Sequence[PointSet], words: Sequence[Words] | None = None
) -> tuple[SampleSet, ...]:
    """The samples of each object, which share frames and superpixels."""
    size = WorkingSize.fit((16, 16), 16, 2)
    sequence, superpixels = make_sequence(n_frames), make_blocks(n_frames)
    return build_samples(sequence, superpixels, points, size, torch.device("cpu"), words=words)


def make_samples(n_frames: int = 4, points: PointSet | None = None, words: Words = NOTHING_SAID) -> SampleSet:
    points = click(list(range(n_frames))) if points is None else points
    (alone,) = build_all_samples(n_frames, [points], [words])
    return alone


def outline(*blocks: int) -> np.ndarray:
    """(16, 16) bool, all pixels of some blocks."""
    return np.isin(make_blocks(1).labels[0], blocks)


def make_trainer(*objects: SampleSet, seed: int = 0, training: TrainingSettings = TRAINING) -> Trainer:
    objects = objects or (make_samples(),)
    network = build_network(1, NETWORK, (0.1,) * len(objects), torch.Generator().manual_seed(seed))
    objectives = tuple(PointObjective(each, RiskSettings(keep=1.0)) for each in objects)
    return Trainer(network, objects, Recipe(objectives, training, AugmentationSettings(flips=True)), seed)


def only(learning: Learning) -> Course:
    """The course of the one object."""
    (course,) = learning.courses
    return course


@pytest.fixture
def samples() -> Callable[..., SampleSet]:
    """A function: (n_frames, points, words) to samples."""
    return make_samples


@pytest.fixture
def trainer() -> Callable[..., Trainer]:
    """A function: (samples of each object, seed, training settings) to a trainer of a tiny network."""
    return make_trainer


@pytest.fixture
def learning() -> Callable[..., Learning]:
    """A function: (phases, stopping, samples of each object) to a learning that has not begun; bounds are 0.2.

    A single object has no name, several are called a, b, …
    """

    def build(
        phases: PhaseSettings,
        stopping: StoppingSettings = StoppingSettings(),
        *objects: SampleSet,
        training: TrainingSettings = TRAINING,
        priors: PriorSettings = PriorSettings(),
    ) -> Learning:
        fresh = make_trainer(*objects, training=training)
        names = "abcdefgh"[: len(objects)] if len(objects) > 1 else [""]
        schedule = Schedule(phases, FilteredPriors(priors, stopping))
        return Learning.start(fresh, {name: AreaBound(0.2) for name in names}, schedule)

    return build


CLICKED = PointSet.from_rows([(frame, 5, 6) for frame in range(4)])  # block 5 of the sixteen, on every frame


def scores_of(blocks: dict[int, float]) -> torch.Tensor:
    """(4, 16, 16) logits from a probability for some of the sixteen blocks, 0.001 for the others."""
    regions = torch.full((16,), 0.001)
    for block, probability in blocks.items():
        regions[block] = probability
    grid = regions.reshape(4, 4).repeat_interleave(4, 0).repeat_interleave(4, 1)
    return torch.logit(grid).expand(4, 16, 16)


def blocks_of(scores: torch.Tensor) -> list[float]:
    """The probability of each block of the first frame."""
    return torch.sigmoid(scores[0, ::4, ::4]).flatten().tolist()
