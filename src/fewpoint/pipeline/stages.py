"""The stages of a run, each a function from nouns to nouns."""

import numpy as np
import torch

from fewpoint.core import AreaBound, Listener, ProbabilityMaps, SuperpixelMap
from fewpoint.learning.phases import Learning, Schedule
from fewpoint.learning.prediction import predict_logits
from fewpoint.learning.samples import build_samples
from fewpoint.learning.training import Recipe, Trainer
from fewpoint.learning.working import WorkingSize
from fewpoint.models.multires_unet import build_network
from fewpoint.pipeline.bounds import check_bound, estimate_bound
from fewpoint.pipeline.task import Task
from fewpoint.superpixels.regions import region_means
from fewpoint.superpixels.slic import segment_frames
from fewpoint.tracking.paths import masks_from_regions, track


def cut_superpixels(task: Task, listener: Listener) -> SuperpixelMap:
    return segment_frames(task.sequence, task.settings.superpixels, listener)


def settle_bound(task: Task, superpixels: SuperpixelMap) -> AreaBound:
    """The user's bound, checked, or an estimate of it."""
    if task.bound is None:
        return estimate_bound(task.sequence, superpixels, task.points)
    return check_bound(task.bound, superpixels, task.points)


def prepare_learning(task: Task, superpixels: SuperpixelMap, bound: AreaBound, device: torch.device) -> Learning:
    """Frames on the device, an untrained network, and the schedule."""
    settings = task.settings
    size = WorkingSize.fit(task.sequence.size, settings.training.max_side, 2 ** (settings.network.levels - 1))
    samples = build_samples(task.sequence, superpixels, task.points, size, device)
    head_prior = settings.network.head_prior or bound.fraction / 2
    generator = torch.Generator().manual_seed(task.seed)
    network = build_network(task.sequence.shape[-1], settings.network, head_prior, generator)
    recipe = Recipe(settings.risk, settings.training, settings.augmentation)
    schedule = Schedule(settings.phases, settings.priors, settings.stopping)
    return Learning.start(Trainer(network, samples, recipe, task.seed), bound, schedule)


def predict_maps(learning: Learning) -> ProbabilityMaps:
    """Probabilities at the input's size; zero on frames marked absent."""
    trainer = learning.trainer
    logits = predict_logits(trainer.network, trainer.samples, trainer.recipe.training)
    maps = np.empty((len(logits), *trainer.samples.size.full), np.float16)
    for index, frame in enumerate(logits.cpu()):
        maps[index] = torch.sigmoid(trainer.samples.size.enlarge(frame[None]))[0].numpy()
    maps[trainer.samples.absent] = 0
    return ProbabilityMaps(maps)


def choose_masks(task: Task, superpixels: SuperpixelMap, probabilities: ProbabilityMaps) -> np.ndarray:
    """(T, H, W) bool: superpixels on tracked paths, or without tracking those at 0.5 or above; no absent frame."""
    means = region_means(superpixels, probabilities.values)
    settings = task.settings.tracking
    selected = track(means, superpixels, task.points, settings=settings).selected if settings.enabled else means >= 0.5
    masks = masks_from_regions(superpixels, selected)
    # Without pruning, a path may cross a frame of zeros to reach the object behind it.
    masks[list(task.points.absent)] = False
    return masks
