"""The stages of a run, each a function from nouns to nouns."""

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace

import numpy as np
import torch
from torch import nn

from fewpoint.core import Listener, PointSet, ProbabilityMaps, SuperpixelMap
from fewpoint.core.labels import share_pixels
from fewpoint.core.paging import make_frames, walk
from fewpoint.errors import InputError
from fewpoint.learning.estimators import FilteredPriors
from fewpoint.learning.objectives import Objective, PointObjective, TargetObjective
from fewpoint.learning.phases import Learning, Schedule
from fewpoint.learning.samples import SampleSet, build_samples
from fewpoint.learning.settings import PhaseSettings, RiskSettings, TrainingSettings
from fewpoint.learning.targets import Targets
from fewpoint.learning.training import Recipe, Trainer
from fewpoint.learning.working import WorkingSize
from fewpoint.models.fused import FusedNetwork
from fewpoint.models.multires_unet import MultiResUNet, build_network
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

Tasks = dict[str, Task]  # objects that learn together, by name: one task each, on the same frames

COARSEST = 0.75  # of training.max_side: the smallest size at which large objects are worked on


@dataclass(frozen=True, eq=False)
class Smoother:
    """Evens out the probabilities of superpixels along the image.

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
        """(T, regions) probabilities corrected where they contradict the clicks."""
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
    return segment_frames(task.sequence, task.plan.superpixels, listener)


def prepare_samples(
    tasks: Tasks, superpixels: SuperpixelMap, carried: tuple[PointSet, ...], device: torch.device
) -> tuple[SampleSet, ...]:
    """Frames, superpixels and clicks of each object at the working size, on the device."""
    points, first = [task.points for task in tasks.values()], _first(tasks)
    return build_samples(first.sequence, superpixels, points, fit_size(tasks), device, carried=carried)


def fit_size(tasks: Tasks) -> WorkingSize:
    """The size at which the networks see the frames; the smallest object decides."""
    task = min(tasks.values(), key=lambda each: each.settled_bound.fraction)
    sequence, multiple = task.sequence, 2 ** (task.plan.network.levels - 1)
    return WorkingSize.fit(sequence.size, choose_side(task), multiple, sequence.square_size)


def choose_side(task: Task) -> int:
    """The larger side, in pixels, that the frames are reduced to: less than the maximum if the object is large.

    A disc of the bound's area keeps the radius that the settings ask for; sides are counted with square pixels.
    """
    training, (height, width) = task.plan.training, task.sequence.square_size
    if training.radius == 0:
        return training.max_side
    radius = math.sqrt(task.settled_bound.fraction * height * width / math.pi)
    enough = math.ceil(max(height, width) * training.radius / radius)
    return min(training.max_side, max(round(COARSEST * training.max_side), enough))


def build_smoothers(tasks: Tasks, superpixels: SuperpixelMap, carried: tuple[PointSet, ...]) -> tuple[Smoother, ...]:
    """What evens out each object's probabilities along the image; all share the links between superpixels."""
    first = _first(tasks)
    settings = first.plan.diffusion or DiffusionSettings()
    links = link_regions(first.sequence, superpixels, settings.contrast)
    labelled = (
        labelled_regions(superpixels, task.points, own) for task, own in zip(tasks.values(), carried, strict=True)
    )
    return tuple(Smoother(links, superpixels.counts, seeds, refused, settings) for seeds, refused in labelled)


def prepare_learning(
    tasks: Tasks,
    samples: tuple[SampleSet, ...],
    seed: int,
    targets: tuple[Targets, ...] | None = None,
    start: Weights | None = None,
) -> Learning:
    """A network with an output for each object and its schedule, untrained or with weights to start from.

    It learns from the points, or from targets in a further round or a refinement.
    """
    first = _first(tasks)
    plan, from_points = first.plan, targets is None
    generator = torch.Generator().manual_seed(seed)
    head_priors = tuple(plan.network.head_prior or task.settled_bound.fraction / 2 for task in tasks.values())
    network = build_network(first.sequence.shape[-1], plan.network, head_priors, generator)
    if start is not None:
        load_weights(network, start)
    objectives = _choose_objectives(plan.risk, samples, targets)
    recipe = Recipe(objectives, _choose_training(first, from_points), plan.augmentation)
    trainer = Trainer(network, samples, recipe, seed)
    bounds = {name: task.settled_bound for name, task in tasks.items()}
    learning = Learning.start(trainer, bounds, _choose_schedule(first, from_points))
    for course, own in zip(learning.courses, targets or (), strict=False):
        course.show_priors(own.share())
    return learning


def _first(tasks: Tasks) -> Task:
    """Any of the tasks, for what they share."""
    return next(iter(tasks.values()))


def _choose_objectives(
    risk: RiskSettings, samples: tuple[SampleSet, ...], targets: tuple[Targets, ...] | None
) -> tuple[Objective, ...]:
    if targets is None:
        return tuple(PointObjective(own, risk) for own in samples)
    return tuple(TargetObjective.of(own) for own in targets)


def _choose_training(task: Task, from_points: bool) -> TrainingSettings:
    """The settings of training; a batch is divided only for a single network that learns from targets.

    Networks of one round have a core each already, and a part without a point would distort the PU risk.
    """
    training = task.plan.training
    networks = task.refining or task.plan.rounds.round_networks
    return replace(training, parts=1) if from_points or networks > 1 else training


def _choose_schedule(task: Task, from_points: bool) -> Schedule:
    """The phases of a network that learns from the points, is in a further round, or is refined."""
    plan = task.plan
    if from_points:
        phases = plan.phases
    elif task.previous is not None:
        phases = PhaseSettings.only_warm_up(plan.refine.epochs, plan.refine.rate)
    else:
        phases = PhaseSettings.only_warm_up(plan.rounds.round_epochs, plan.rounds.round_rate)
    return Schedule(phases, FilteredPriors(plan.priors, plan.stopping))


def lower_output(network: MultiResUNet | FusedNetwork, number: int, amount: float) -> None:
    """Lower all logits of an object by the amount."""
    if network.head.bias is not None:
        network.head.bias.data[number] -= amount


def load_weights(network: nn.Module, weights: Weights) -> None:
    """Load weights into a network, which keeps its own where they are NaN; InputError if they are not of its shape."""
    own = network.state_dict()
    if {name: tuple(values.shape) for name, values in own.items()} != {
        name: each.shape for name, each in weights.items()
    }:
        raise InputError("the weights to start from must be of the network's shape, they are not; take another run")
    given = {name: torch.from_numpy(values) for name, values in weights.items()}
    network.load_state_dict({name: torch.where(values.isnan(), own[name], values) for name, values in given.items()})


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


def choose_labels(
    tasks: Tasks,
    superpixels: SuperpixelMap,
    probabilities: tuple[ProbabilityMaps, ...],
    smoothers: tuple[Smoother | None, ...],
) -> tuple[np.ndarray, int]:
    """(T, H, W) uint8, 0 or the number of an object from 1, and how many pixels were as likely one as another.

    An object's mask holds superpixels on tracked paths, or without tracking those at 0.5 or above, on no absent frame.
    smoothers: even out the probabilities first; without tracking, masks are then cut pixel by pixel. Clicked
    superpixels always belong to the mask, and those under a negative never: a person saw what is there. One that holds
    both belongs to it. Of the objects whose masks would hold a pixel, the likeliest gets it; of equally likely ones,
    the first.
    """
    given = zip(tasks.values(), probabilities, smoothers, strict=True)
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
    if task.plan.tracking is not None:
        selected = track(means, superpixels, task.points, settings=task.plan.tracking).selected
        frames = paint_frames(superpixels, np.where(selected, means, -np.inf).astype(np.float32))
    elif smoother is not None:
        frames = take_to_pixels(superpixels, probabilities.values, means, smoother.settings.blur)
        frames = (np.where(frame < 0.5, np.float32(-np.inf), frame) for frame in frames)
    else:
        frames = paint_frames(superpixels, np.where(means >= 0.5, means, -np.inf).astype(np.float32))
    # A path may pass through a negative if nothing is pruned, and a mask cut by pixels may reach into it.
    settled = np.full(superpixels.total, np.nan, np.float32)
    settled[refused], settled[regions_at_points(superpixels, task.points)] = -np.inf, np.inf
    for number, (claims, fixed) in enumerate(zip(frames, paint_frames(superpixels, settled), strict=True)):
        # Without pruning, a path may cross a frame of zeros to reach the object behind it.
        absent = number in task.points.absent
        yield np.full_like(claims, -np.inf) if absent else np.where(np.isnan(fixed), claims, fixed)
