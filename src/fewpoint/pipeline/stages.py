"""The stages of a run, each a function from nouns to nouns."""

import math
from dataclasses import replace

import numpy as np
import torch
from torch import nn

from fewpoint.core import Listener, PointSet, ProbabilityMaps, SuperpixelMap
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
from fewpoint.models.networks import Network, build_network
from fewpoint.pipeline.masks import Tasks
from fewpoint.pipeline.model import Weights
from fewpoint.pipeline.task import Task
from fewpoint.superpixels.slic import segment_frames

COARSEST = 0.75  # of training.max_side: the smallest size at which large objects are worked on


def cut_superpixels(task: Task, listener: Listener) -> SuperpixelMap:
    return segment_frames(task.sequence, task.plan.superpixels, listener)


def prepare_samples(
    tasks: Tasks, superpixels: SuperpixelMap, carried: tuple[PointSet, ...], device: torch.device
) -> tuple[SampleSet, ...]:
    """Frames, superpixels and clicks of each object at the working size, on the device."""
    points, words = [task.points for task in tasks.values()], [task.own_words for task in tasks.values()]
    size = fit_size(tasks)
    return build_samples(_first(tasks).sequence, superpixels, points, size, device, carried=carried, words=words)


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
    learning = Learning.start(trainer, bounds, _choose_schedule(tasks, from_points))
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


def _choose_schedule(tasks: Tasks, from_points: bool) -> Schedule:
    """The phases of a network that learns from the points, is in a further round, or is refined."""
    task = _first(tasks)
    plan = task.plan
    if from_points:
        phases = plan.phases
    elif task.previous is not None:
        phases = PhaseSettings.only_warm_up(plan.refine.epochs, plan.refine.rate)
    else:
        phases = PhaseSettings.only_warm_up(plan.rounds.round_epochs, plan.rounds.round_rate)
    # The weights of several objects do not return to a window, so that each must end its estimation with its own.
    stopping = plan.stopping if len(tasks) == 1 else replace(plan.stopping, halts=True)
    return Schedule(phases, FilteredPriors(plan.priors, stopping))


def lower_output(network: Network, number: int, amount: float) -> None:
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
