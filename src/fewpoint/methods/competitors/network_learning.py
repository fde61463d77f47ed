"""The method's own network, trained in another way: what the competitors that use it share."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch

from fewpoint.core import (
    AreaBound,
    ImageSequence,
    Listener,
    PointSet,
    ProbabilityMaps,
    Result,
    SuperpixelMap,
    SuperpixelsReady,
)
from fewpoint.learning.checkpoints import resume
from fewpoint.learning.devices import choose_device, cpu_threads
from fewpoint.learning.objectives import Objective
from fewpoint.learning.phases import Learning, Schedule
from fewpoint.learning.prediction import predict_logits
from fewpoint.learning.samples import SampleSet, build_samples
from fewpoint.learning.training import Recipe, Trainer
from fewpoint.learning.working import WorkingSize
from fewpoint.methods.competitors.settings import NetworkLearningSettings
from fewpoint.models.networks import build_network
from fewpoint.superpixels.regions import region_probabilities, regions_at_points
from fewpoint.superpixels.slic import segment_frames
from fewpoint.tracking.paths import masks_from_regions, track
from fewpoint.tracking.settings import TrackingSettings


@dataclass(frozen=True, eq=False)
class Assignment:
    """What a network is trained for. objective: made from the samples. folder: of its checkpoint; None keeps none."""

    sequence: ImageSequence
    points: PointSet
    bound: AreaBound
    objective: Callable[[SampleSet], Objective]
    schedule: Schedule
    tracking: TrackingSettings
    folder: Path | None = None


def segment_by_network(
    assignment: Assignment, settings: NetworkLearningSettings, *, seed: int, device: str, listener: Listener
) -> Result:
    """Superpixels, learning, prediction, tracking."""
    with cpu_threads(settings.training.threads):
        sequence, points = assignment.sequence, assignment.points
        superpixels = segment_frames(sequence, settings.superpixels, listener)
        listener(SuperpixelsReady(superpixels))
        learning = prepare_learning(assignment, superpixels, settings, seed, choose_device(device))
        learning.run(listener, _checkpoint(learning, assignment.folder))
        (course,) = learning.courses
        probabilities = predict_maps(learning)
        masks = choose_masks(superpixels, probabilities, points, assignment.bound, assignment.tracking)
        history = course.progress.history(len(sequence))
        place = (assignment.bound, sequence.names, sequence.source)
        return Result.single(masks, probabilities, course.priors(), history, *place)


def prepare_learning(
    assignment: Assignment,
    superpixels: SuperpixelMap,
    settings: NetworkLearningSettings,
    seed: int,
    device: torch.device,
) -> Learning:
    """An untrained network with its samples on the device, and its schedule."""
    sequence, network = assignment.sequence, settings.network
    multiple = 2 ** (network.levels - 1)
    size = WorkingSize.fit(sequence.size, settings.training.max_side, multiple, sequence.square_size)
    samples = build_samples(sequence, superpixels, [assignment.points], size, device)
    head_prior = network.head_prior or assignment.bound.fraction / 2
    built = build_network(sequence.shape[-1], network, (head_prior,), torch.Generator().manual_seed(seed))
    recipe = Recipe((assignment.objective(samples[0]),), settings.training, settings.augmentation)
    trainer = Trainer(built, samples, recipe, seed)
    return Learning.start(trainer, {"": assignment.bound}, assignment.schedule)


def _checkpoint(learning: Learning, folder: Path | None) -> Callable[[Learning], None]:
    """Resume from what a killed run left in the folder; the function returned writes checkpoints."""
    if folder is None:
        return lambda _: None
    folder.mkdir(parents=True, exist_ok=True)
    return resume(learning, folder / "checkpoint.pt")


def predict_maps(learning: Learning) -> ProbabilityMaps:
    """Probabilities at the input's size; zero on frames marked absent."""
    trainer = learning.trainer
    samples = trainer.samples
    logits = predict_logits(trainer.network, samples, trainer.recipe.training)[:, 0]
    maps = np.stack([torch.sigmoid(samples.size.enlarge(each[None]))[0].cpu().numpy() for each in logits])
    maps[samples.absent] = 0
    return ProbabilityMaps(maps.astype(np.float16))


def choose_masks(
    superpixels: SuperpixelMap,
    probabilities: ProbabilityMaps,
    points: PointSet,
    bound: AreaBound,
    settings: TrackingSettings,
) -> np.ndarray:
    """(T, H, W) bool: superpixels on tracked paths, or without tracking those at 0.5 or above, and clicked ones."""
    likely = region_probabilities(superpixels, probabilities.values)
    tracked = settings.enabled
    selected = track(likely, superpixels, points, bound, settings=settings).selected if tracked else likely >= 0.5
    selected[regions_at_points(superpixels, points)] = True
    masks = masks_from_regions(superpixels, selected)
    masks[list(points.absent)] = False
    return masks
