"""The method's own network, trained under another plan: what the competitors that learn so share."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import torch

from fewpoint.baselines.settings import NetworkLearningSettings
from fewpoint.core import (
    AreaBound,
    EpochFinished,
    EpochPredicted,
    EpochRecord,
    ImageSequence,
    Listener,
    PointSet,
    PriorEstimate,
    PriorHistory,
    ProbabilityMaps,
    Segmentation,
    SuperpixelMap,
    SuperpixelsReady,
)
from fewpoint.learning.devices import choose_device, cpu_threads
from fewpoint.learning.objectives import Objective
from fewpoint.learning.phases import Observation, is_looked_at, observe
from fewpoint.learning.prediction import predict_logits
from fewpoint.learning.samples import SampleSet, build_samples
from fewpoint.learning.training import Recipe, StepMeans, Trainer
from fewpoint.learning.working import WorkingSize
from fewpoint.models.multires_unet import build_network
from fewpoint.superpixels.regions import region_means, regions_at_points
from fewpoint.superpixels.slic import segment_frames
from fewpoint.tracking.paths import masks_from_regions, track
from fewpoint.tracking.settings import TrackingSettings


@dataclass(frozen=True, eq=False)
class Stage:
    """Epochs of one learning rate.

    priors: (T,) those it starts with; None goes on with those of the stage before. update: makes the next epoch's
    priors of this one's and the mean predictions on the frames that are not marked absent; None leaves them.
    """

    phase: str
    epochs: int
    rate: float
    priors: np.ndarray | None = None
    update: Callable[[np.ndarray, np.ndarray], np.ndarray] | None = None


@dataclass(frozen=True, eq=False)
class Assignment:
    """What a network is trained for. objective: made of the samples. stages: the first brings its priors."""

    sequence: ImageSequence
    points: PointSet
    bound: AreaBound
    objective: Callable[[SampleSet], Objective]
    stages: Sequence[Stage]
    tracking: TrackingSettings


def segment_by_network(
    assignment: Assignment, settings: NetworkLearningSettings, *, seed: int, device: str, listener: Listener
) -> Segmentation:
    """Superpixels, stages, prediction, tracking."""
    with cpu_threads(settings.training.threads):
        sequence, points = assignment.sequence, assignment.points
        superpixels = segment_frames(sequence, settings.superpixels, listener)
        listener(SuperpixelsReady(superpixels))
        trainer = prepare_trainer(assignment, superpixels, settings, seed, choose_device(device))
        history = run_stages(trainer, assignment, listener)
        probabilities = predict_maps(trainer)
        masks = choose_masks(superpixels, probabilities, points, assignment.tracking)
        priors = estimate_priors(history, trainer.samples)
        return Segmentation(masks, probabilities, priors, history, assignment.bound, sequence.names, sequence.source)


def prepare_trainer(
    assignment: Assignment,
    superpixels: SuperpixelMap,
    settings: NetworkLearningSettings,
    seed: int,
    device: torch.device,
) -> Trainer:
    """An untrained network with its samples on the device."""
    sequence, network = assignment.sequence, settings.network
    size = WorkingSize.fit(sequence.size, settings.training.max_side, 2 ** (network.levels - 1))
    samples = build_samples(sequence, superpixels, assignment.points, size, device)
    head_prior = network.head_prior or assignment.bound.fraction / 2
    built = build_network(sequence.shape[-1], network, head_prior, torch.Generator().manual_seed(seed))
    recipe = Recipe(assignment.objective(samples), settings.training, settings.augmentation)
    return Trainer(built, samples, recipe, seed)


def run_stages(trainer: Trainer, assignment: Assignment, listener: Listener) -> PriorHistory:
    """Train stage after stage, telling the listener of each epoch, and return how it went."""
    absent, total = trainer.samples.absent, sum(stage.epochs for stage in assignment.stages)
    priors, records, rows = assignment.stages[0].priors, [], []
    for stage in assignment.stages:
        priors = priors if stage.priors is None else stage.priors
        for epoch in range(1, stage.epochs + 1):
            used = np.where(absent, 0.0, priors)
            means = trainer.run_epoch(torch.from_numpy(used).float(), [stage.rate] * trainer.steps_per_epoch)
            seen = _look(trainer, stage, epoch, last=len(records) + 1 == total)
            records.append(_describe_epoch(len(records) + 1, stage.phase, used, means, seen))
            rows.append((used, seen.observed, seen.share))
            shown = seen.share
            if stage.update is not None:
                shown = priors = stage.update(priors, seen.observed[~absent])
            if seen.probabilities is not None:
                listener(EpochPredicted(len(records), seen.probabilities, np.where(absent, 0.0, shown)))
            listener(EpochFinished(records[-1], total))
    if not rows:
        return PriorHistory.empty(len(absent))
    return PriorHistory(tuple(records), *(np.array(column, np.float32) for column in zip(*rows, strict=True)))


def _look(trainer: Trainer, stage: Stage, epoch: int, *, last: bool) -> Observation:
    """What the network says after an epoch of a stage, counted from 1; seldom where nothing depends on it."""
    if stage.update is None and not is_looked_at(epoch, stage.epochs):
        return Observation.none(trainer.samples.n_frames)
    return observe(trainer, 1.0, exact=stage.update is not None or last)


def predict_maps(trainer: Trainer) -> ProbabilityMaps:
    """Probabilities at the input's size; zero on frames marked absent."""
    samples = trainer.samples
    logits = predict_logits(trainer.network, samples, trainer.recipe.training)
    maps = np.stack([torch.sigmoid(samples.size.enlarge(each[None]))[0].cpu().numpy() for each in logits])
    maps[samples.absent] = 0
    return ProbabilityMaps(maps.astype(np.float16))


def choose_masks(
    superpixels: SuperpixelMap, probabilities: ProbabilityMaps, points: PointSet, settings: TrackingSettings
) -> np.ndarray:
    """(T, H, W) bool: superpixels on tracked paths, or without tracking those at 0.5 or above, and clicked ones."""
    means = region_means(superpixels, probabilities.values)
    selected = track(means, superpixels, points, settings=settings).selected if settings.enabled else means >= 0.5
    selected[regions_at_points(superpixels, points)] = True
    masks = masks_from_regions(superpixels, selected)
    masks[list(points.absent)] = False
    return masks


def estimate_priors(history: PriorHistory, samples: SampleSet) -> PriorEstimate:
    """The share of each frame predicted at 0.5 or above, and how far the mean prediction is from it."""
    if not len(history):
        nothing = np.zeros(samples.n_frames)
        return PriorEstimate(nothing, nothing, nothing)
    share, observed = (
        np.where(samples.absent, 0.0, values[-1].astype(np.float64))
        for values in (history.positive_share, history.observed)
    )
    return PriorEstimate(share, np.abs(share - observed), observed)


def _describe_epoch(epoch: int, phase: str, priors: np.ndarray, means: StepMeans, seen: Observation) -> EpochRecord:
    return EpochRecord(
        epoch=epoch,
        phase=phase,
        loss=means.loss,
        positive_risk=means.positive_risk,
        negative_risk=means.negative_risk,
        ascent_share=means.ascent_share,
        click_probability=seen.click_probability,
        mean_prior=float(priors.mean()),
        negative_variance=seen.negative_variance,
        largest_positive_share=float(seen.share.max()),
    )
