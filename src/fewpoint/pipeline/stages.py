"""The stages of a run, each a function from nouns to nouns."""

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace

import numpy as np
import torch
from torch import nn

from fewpoint.core import Listener, PointSet, ProbabilityMaps, SuperpixelMap
from fewpoint.core.labels import share_pixels
from fewpoint.core.paging import gather_frames, make_frames, walk
from fewpoint.errors import InputError
from fewpoint.learning.joint import JointLearning
from fewpoint.learning.objectives import JointObjective, Objective, PointObjective, TargetObjective
from fewpoint.learning.phases import Learning, Schedule
from fewpoint.learning.samples import SampleSet, build_joint_samples, build_samples
from fewpoint.learning.settings import PhaseSettings, TrainingSettings
from fewpoint.learning.targets import Targets
from fewpoint.learning.training import Recipe, Trainer
from fewpoint.learning.working import WorkingSize
from fewpoint.models.multires_unet import build_network
from fewpoint.pipeline.model import Weights
from fewpoint.pipeline.task import Task
from fewpoint.superpixels.diffusion import DiffusionSettings, RegionLinks, correct, diffuse, link_regions
from fewpoint.superpixels.pixels import take_to_pixels
from fewpoint.superpixels.regions import (
    labelled_regions,
    paint_frames,
    region_means,
    regions_at_negatives,
    regions_at_points,
)
from fewpoint.superpixels.slic import segment_frames
from fewpoint.tracking.paths import track

COARSEST = 0.75  # of training.max_side: the least that large objects are worked on at


@dataclass(frozen=True, eq=False)
class Smoother:
    """Evens the probabilities of superpixels out along the image.

    counts: (T,) superpixels of each frame. seeds: global regions that are surely the object. refused: those that surely
    are not.
    """

    links: RegionLinks
    counts: np.ndarray
    seeds: np.ndarray
    refused: np.ndarray
    settings: DiffusionSettings

    def even_out(self, pooled: np.ndarray) -> np.ndarray:
        """(T, regions) probabilities for the targets of a round, zero where a frame has no such region."""
        return self._on_real(pooled, lambda values: self._diffuse(values, self.settings.pull))

    def correct(self, pooled: np.ndarray) -> np.ndarray:
        """(T, regions) probabilities put right where they contradict the clicks."""
        return self._on_real(
            pooled, lambda values: correct(self.links, values, self.seeds, self.refused, self.settings)
        )

    def even_out_last(self, means: np.ndarray) -> np.ndarray:
        """(total,) probabilities for the last masks."""
        return self._diffuse(means, self.settings.last_pull)

    def _on_real(self, pooled: np.ndarray, work: Callable[[np.ndarray], np.ndarray]) -> np.ndarray:
        real = np.arange(pooled.shape[1]) < self.counts[:, np.newaxis]
        result = np.zeros_like(pooled)
        result[real] = work(pooled[real])
        return result

    def _diffuse(self, values: np.ndarray, pull: float) -> np.ndarray:
        return diffuse(self.links, values, self.seeds, pull, self.settings, refused=self.refused)


def cut_superpixels(task: Task, listener: Listener) -> SuperpixelMap:
    return segment_frames(task.sequence, task.settings.superpixels, listener)


def prepare_samples(task: Task, superpixels: SuperpixelMap, carried: PointSet, device: torch.device) -> SampleSet:
    """Frames, superpixels and clicks at the working size, on the device."""
    return build_samples(task.sequence, superpixels, task.points, fit_size(task), device, carried=carried)


def prepare_joint_samples(
    tasks: tuple[Task, ...], superpixels: SuperpixelMap, carried: tuple[PointSet, ...], device: torch.device
) -> tuple[SampleSet, ...]:
    """The same for several objects, a task each on the same frames."""
    smallest = min(tasks, key=lambda task: task.bound.fraction)
    points, size = tuple(task.points for task in tasks), fit_size(smallest)
    return build_joint_samples(tasks[0].sequence, superpixels, points, size, device, carried=carried)


def fit_size(task: Task) -> WorkingSize:
    """The size at which the networks see the frames."""
    sequence, multiple = task.sequence, 2 ** (task.settings.network.levels - 1)
    return WorkingSize.fit(sequence.size, choose_side(task), multiple, sequence.square_size)


def choose_side(task: Task) -> int:
    """The larger side in pixels that the frames are reduced to at least: less than the most where the object is large.

    A disc of the bound's area keeps the radius that the settings ask for; sides are counted with square pixels.
    """
    training, (height, width) = task.settings.training, task.sequence.square_size
    if training.radius == 0:
        return training.max_side
    radius = math.sqrt(task.bound.fraction * height * width / math.pi)
    enough = math.ceil(max(height, width) * training.radius / radius)
    return min(training.max_side, max(round(COARSEST * training.max_side), enough))


def prepare_smoother(task: Task, superpixels: SuperpixelMap, carried: PointSet) -> Smoother | None:
    """What evens probabilities out along the image, where the settings ask for it."""
    return build_smoother(task, superpixels, carried) if task.settings.diffusion.enabled else None


def build_smoother(task: Task, superpixels: SuperpixelMap, carried: PointSet) -> Smoother:
    settings = task.settings.diffusion
    links = link_regions(task.sequence, superpixels, settings.contrast)
    seeds, refused = labelled_regions(superpixels, task.points, carried)
    return Smoother(links, superpixels.counts, seeds, refused, settings)


def prepare_learning(
    task: Task, samples: SampleSet, seed: int, targets: Targets | None = None, start: Weights | None = None
) -> Learning:
    """A network with its schedule, untrained or with weights to start from.

    It learns from the points, or in a further round, and where a run is refined, from targets.
    """
    settings = task.settings
    generator = torch.Generator().manual_seed(seed)
    network = build_network(task.sequence.shape[-1], settings.network, _head_prior(task), generator)
    if start is not None:
        load_weights(network, start)
    objective = _choose_objective(task, samples, targets)
    recipe = Recipe(objective, _choose_training(task, of_points=targets is None), settings.augmentation)
    trainer = Trainer(network, samples, recipe, seed)
    learning = Learning.start(trainer, task.bound, _choose_schedule(task, of_points=targets is None))
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
    training = _choose_training(tasks[0], of_points=targets is None)
    recipe = Recipe(objective, training, settings.augmentation)
    trainer = Trainer(network, samples[0], recipe, seed, others=samples[1:])
    bounds = tuple(task.bound for task in tasks)
    learning = JointLearning.start(trainer, bounds, _choose_schedule(tasks[0], of_points=targets is None))
    for course, each in zip(learning.courses, targets or (), strict=False):
        course.show_priors(each.share())
    return learning


def _head_prior(task: Task) -> float:
    return task.settings.network.head_prior or task.bound.fraction / 2


def _choose_objective(task: Task, samples: SampleSet, targets: Targets | None) -> Objective:
    return PointObjective(samples, task.settings.risk) if targets is None else TargetObjective.of(targets)


def _choose_training(task: Task, *, of_points: bool) -> TrainingSettings:
    """The settings of training; a batch is divided only for a single network that learns from targets.

    Networks of one round have a core each already, and a part without a point would tell the PU risk wrongly.
    """
    training = task.settings.training
    networks = task.refining or task.settings.refinement.round_networks
    return replace(training, parts=1) if of_points or networks > 1 else training


def _choose_schedule(task: Task, *, of_points: bool) -> Schedule:
    """The phases of a network from the points, or those of one of a further round or of one that is refined."""
    settings, refinement, reuse = task.settings, task.settings.refinement, task.settings.reuse
    if of_points:
        phases = settings.phases
    elif task.previous is not None:
        phases = PhaseSettings.only_warm_up(reuse.refine_epochs, reuse.refine_rate)
    else:
        phases = PhaseSettings.only_warm_up(refinement.round_epochs, refinement.round_rate)
    return Schedule(phases, settings.priors, settings.stopping)


def load_weights(network: nn.Module, weights: Weights) -> None:
    """Put weights into a network; InputError where they are not of its shape."""
    own = {name: tuple(values.shape) for name, values in network.state_dict().items()}
    if own != {name: values.shape for name, values in weights.items()}:
        raise InputError("the weights to start from must be of the network's shape, they are not; take another run")
    network.load_state_dict({name: torch.from_numpy(values) for name, values in weights.items()})


def take_weights(network: nn.Module) -> Weights:
    """The weights of a network as arrays by name."""
    return {name: values.detach().cpu().contiguous().numpy().copy() for name, values in network.state_dict().items()}


def enlarge_maps(members: list[np.ndarray], samples: SampleSet, surest: float) -> ProbabilityMaps:
    """Probabilities at the input's size from (T, h, w) logits of each member; zero on frames marked absent.

    Where members disagree, their mean covers less than each of them. surest: how far to go from it to the largest.
    """
    maps = make_frames((samples.n_frames, *samples.size.full), np.float16)
    for frame, place in enumerate(walk(maps)):
        if not samples.absent[frame]:
            logits = torch.from_numpy(np.stack([member[frame] for member in members])).float()
            each = torch.sigmoid(samples.size.enlarge(logits))
            place[:] = each.mean(0).lerp(each.amax(0), surest).numpy()
    return ProbabilityMaps(maps)


def choose_masks(
    task: Task, superpixels: SuperpixelMap, probabilities: ProbabilityMaps, smoother: "Smoother | None" = None
) -> np.ndarray:
    """(T, H, W) bool: superpixels on tracked paths, or without tracking those at 0.5 or above; no absent frame.

    smoother: evens the probabilities out first; without tracking, masks are then cut pixel by pixel. Clicked
    superpixels always belong to the mask, and those under a negative never: a person saw what is there. Where one holds
    both, it belongs.
    """
    claims = _claim_frames(task, superpixels, probabilities, smoother)
    return gather_frames((each > -np.inf for each in claims), superpixels.labels.shape, bool)


def choose_labels(
    tasks: tuple[Task, ...],
    superpixels: SuperpixelMap,
    probabilities: tuple[ProbabilityMaps, ...],
    smoothers: "tuple[Smoother | None, ...]",
) -> tuple[np.ndarray, int]:
    """(T, H, W) uint8, 0 or the number of an object from 1, and how many pixels were as likely one as another.

    Of the objects whose masks would hold a pixel, the likeliest gets it; of equally likely ones, the first.
    """
    given = zip(tasks, probabilities, smoothers, strict=True)
    claims = [_claim_frames(task, superpixels, maps, smoother) for task, maps, smoother in given]
    labels, ties = make_frames(superpixels.labels.shape, np.uint8), 0
    for place, of_frame in zip(walk(labels), zip(*claims, strict=True), strict=True):
        place[:], tied = share_pixels(of_frame)
        ties += tied
    return labels, ties


def _claim_frames(
    task: Task, superpixels: SuperpixelMap, probabilities: ProbabilityMaps, smoother: "Smoother | None"
) -> Iterator[np.ndarray]:
    """(H, W) float32 of each frame, larger where the object is likelier: -inf outside its mask, inf on clicked ones."""
    means = region_means(superpixels, probabilities.values)
    if smoother is not None:
        means = smoother.even_out_last(means)
    refused = regions_at_negatives(superpixels, task.points)
    means[refused] = 0
    if task.settings.tracking.enabled:
        selected = track(means, superpixels, task.points, settings=task.settings.tracking).selected
        frames = paint_frames(superpixels, np.where(selected, means, -np.inf).astype(np.float32))
    elif smoother is not None:
        frames = take_to_pixels(superpixels, probabilities.values, means, smoother.settings.blur)
        frames = (np.where(frame < 0.5, np.float32(-np.inf), frame) for frame in frames)
    else:
        frames = paint_frames(superpixels, np.where(means >= 0.5, means, -np.inf).astype(np.float32))
    # A path may pass through a negative where nothing is pruned, and a mask cut by pixels may reach into it.
    settled = np.full(superpixels.total, np.nan, np.float32)
    settled[refused], settled[regions_at_points(superpixels, task.points)] = -np.inf, np.inf
    for number, (claims, fixed) in enumerate(zip(frames, paint_frames(superpixels, settled), strict=True)):
        # Without pruning, a path may cross a frame of zeros to reach the object behind it.
        absent = number in task.points.absent
        yield np.full_like(claims, -np.inf) if absent else np.where(np.isnan(fixed), claims, fixed)
