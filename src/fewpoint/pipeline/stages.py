"""The stages of a run, each a function from nouns to nouns."""

from dataclasses import dataclass, field

import numpy as np
import torch

from fewpoint.core import Listener, PointSet, ProbabilityMaps, SuperpixelMap
from fewpoint.learning.joint import JointLearning
from fewpoint.learning.objectives import JointObjective, Objective, PointObjective, TargetObjective
from fewpoint.learning.phases import Learning, Schedule
from fewpoint.learning.samples import SampleSet, build_samples
from fewpoint.learning.settings import PhaseSettings
from fewpoint.learning.targets import Targets
from fewpoint.learning.training import Recipe, Trainer
from fewpoint.learning.working import WorkingSize
from fewpoint.models.multires_unet import build_network
from fewpoint.pipeline.config import Settings
from fewpoint.pipeline.task import Task
from fewpoint.superpixels.diffusion import NOTHING, DiffusionSettings, RegionLinks, diffuse, link_regions
from fewpoint.superpixels.regions import frame_of_region, paint_regions, region_means, regions_at_points
from fewpoint.superpixels.slic import segment_frames
from fewpoint.tracking.paths import masks_from_regions, track


@dataclass(frozen=True, eq=False)
class Smoother:
    """Evens the probabilities of superpixels out along the image.

    counts: (T,) superpixels of each frame. seeds: global regions that are surely the object. others: that surely are
    another.
    """

    links: RegionLinks
    counts: np.ndarray
    seeds: np.ndarray
    settings: DiffusionSettings
    others: np.ndarray = field(default_factory=lambda: NOTHING)

    def even_out(self, pooled: np.ndarray) -> np.ndarray:
        """(T, regions) probabilities for the targets of a round, zero where a frame has no such region."""
        real = np.arange(pooled.shape[1]) < self.counts[:, np.newaxis]
        result = np.zeros_like(pooled)
        result[real] = self._diffuse(pooled[real], self.settings.pull)
        return result

    def even_out_last(self, means: np.ndarray) -> np.ndarray:
        """(total,) probabilities for the last masks."""
        return self._diffuse(means, self.settings.last_pull)

    def _diffuse(self, values: np.ndarray, pull: float) -> np.ndarray:
        return diffuse(self.links, values, self.seeds, pull, self.settings, others=self.others)


def cut_superpixels(task: Task, listener: Listener) -> SuperpixelMap:
    return segment_frames(task.sequence, task.settings.superpixels, listener)


def prepare_samples(task: Task, superpixels: SuperpixelMap, carried: PointSet, device: torch.device) -> SampleSet:
    """Frames, superpixels and clicks at the working size, on the device."""
    settings = task.settings
    multiple = 2 ** (settings.network.levels - 1)
    size = WorkingSize.fit(task.sequence.size, settings.training.max_side, multiple, task.sequence.square_size)
    return build_samples(task.sequence, superpixels, task.points, size, device, carried=carried)


def prepare_smoother(task: Task, superpixels: SuperpixelMap, carried: PointSet) -> Smoother | None:
    """What evens probabilities out along the image, where the settings ask for it."""
    settings = task.settings.diffusion
    if not settings.enabled:
        return None
    links = link_regions(task.sequence, superpixels, settings.contrast)
    return Smoother(links, superpixels.counts, np.unique(regions_at_points(superpixels, carried)), settings)


def prepare_learning(task: Task, samples: SampleSet, seed: int, targets: Targets | None = None) -> Learning:
    """An untrained network with its schedule; it learns from the points, or in a further round from targets."""
    settings = task.settings
    generator = torch.Generator().manual_seed(seed)
    network = build_network(task.sequence.shape[-1], settings.network, _head_prior(task), generator)
    objective = _choose_objective(task, samples, targets)
    trainer = Trainer(network, samples, Recipe(objective, settings.training, settings.augmentation), seed)
    learning = Learning.start(trainer, task.bound, _choose_schedule(settings, of_points=targets is None))
    if targets is not None:
        learning.show_priors(targets.share())
    return learning


def prepare_joint(
    tasks: tuple[Task, ...], samples: tuple[SampleSet, ...], seed: int, targets: list[Targets] | None = None
) -> JointLearning:
    """The same for several objects, a task each on the same frames: one network with a logit for each of them."""
    settings = tasks[0].settings
    generator = torch.Generator().manual_seed(seed)
    priors = tuple(_head_prior(task) for task in tasks)
    network = build_network(tasks[0].sequence.shape[-1], settings.network, priors, generator)
    learnt_from = targets or [None] * len(tasks)
    objective = JointObjective(tuple(map(_choose_objective, tasks, samples, learnt_from)))
    recipe = Recipe(objective, settings.training, settings.augmentation)
    trainer = Trainer(network, samples[0], recipe, seed, others=samples[1:])
    bounds = tuple(task.bound for task in tasks)
    learning = JointLearning.start(trainer, bounds, _choose_schedule(settings, of_points=targets is None))
    for course, each in zip(learning.courses, targets or (), strict=False):
        course.show_priors(each.share())
    return learning


def _head_prior(task: Task) -> float:
    return task.settings.network.head_prior or task.bound.fraction / 2


def _choose_objective(task: Task, samples: SampleSet, targets: Targets | None) -> Objective:
    return PointObjective(samples, task.settings.risk) if targets is None else TargetObjective.of(targets)


def _choose_schedule(settings: Settings, *, of_points: bool) -> Schedule:
    refinement = settings.refinement
    later = PhaseSettings.only_warm_up(refinement.round_epochs, refinement.round_rate)
    return Schedule(settings.phases if of_points else later, settings.priors, settings.stopping)


def enlarge_maps(members: list[np.ndarray], samples: SampleSet) -> ProbabilityMaps:
    """Mean probabilities at the input's size from (T, h, w) logits of each member; zero on frames marked absent."""
    maps = np.empty((samples.n_frames, *samples.size.full), np.float16)
    for frame in range(samples.n_frames):
        logits = torch.from_numpy(np.stack([member[frame] for member in members])).float()
        maps[frame] = torch.sigmoid(samples.size.enlarge(logits)).mean(0).numpy()
    maps[samples.absent] = 0
    return ProbabilityMaps(maps)


def choose_masks(
    task: Task, superpixels: SuperpixelMap, probabilities: ProbabilityMaps, smoother: "Smoother | None" = None
) -> np.ndarray:
    """(T, H, W) bool: superpixels on tracked paths, or without tracking those at 0.5 or above; no absent frame.

    smoother: evens the probabilities out first. Clicked superpixels always belong to the mask: a person saw the object
    there.
    """
    _, selected = _select_regions(task, superpixels, probabilities, smoother)
    masks = masks_from_regions(superpixels, selected)
    # Without pruning, a path may cross a frame of zeros to reach the object behind it.
    masks[list(task.points.absent)] = False
    return masks


def choose_labels(
    tasks: tuple[Task, ...],
    superpixels: SuperpixelMap,
    probabilities: tuple[ProbabilityMaps, ...],
    smoothers: "tuple[Smoother | None, ...]",
) -> tuple[np.ndarray, int]:
    """(T, H, W) uint8, 0 or the number of an object from 1, and how many superpixels were as likely two objects.

    Of the objects whose masks would hold a superpixel, the likeliest gets it; of equally likely ones, the first.
    A superpixel under a point belongs to that point's object.
    """
    frames = frame_of_region(superpixels)
    claims = np.full((len(tasks), superpixels.total), -np.inf)
    for claim, *given in zip(claims, tasks, probabilities, smoothers, strict=True):
        task, maps, smoother = given
        means, selected = _select_regions(task, superpixels, maps, smoother)
        claim[selected] = means[selected]
        claim[np.isin(frames, task.points.absent)] = -np.inf
        claim[regions_at_points(superpixels, task.points)] = np.inf
    best = claims.max(axis=0)
    ties = int(((claims == best).sum(axis=0) > 1)[np.isfinite(best)].sum())
    labels = np.where(best > -np.inf, claims.argmax(axis=0) + 1, 0).astype(np.uint8)
    return paint_regions(superpixels, labels), ties


def _select_regions(
    task: Task, superpixels: SuperpixelMap, probabilities: ProbabilityMaps, smoother: "Smoother | None"
) -> tuple[np.ndarray, np.ndarray]:
    """(total,) probability of each superpixel, and (total,) bool whether it belongs to the object."""
    means = region_means(superpixels, probabilities.values)
    if smoother is not None:
        means = smoother.even_out_last(means)
    settings = task.settings.tracking
    selected = track(means, superpixels, task.points, settings=settings).selected if settings.enabled else means >= 0.5
    selected[regions_at_points(superpixels, task.points)] = True
    return means, selected
