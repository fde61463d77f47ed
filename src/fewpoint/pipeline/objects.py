"""A run on several objects: frames, superpixels, links and networks are shared, points, bounds and masks are not."""

from dataclasses import dataclass, replace
from pathlib import Path
from typing import BinaryIO

import numpy as np
import torch
from torch import Tensor

from fewpoint.core import (
    AreaBound,
    LabelledSegmentation,
    Listener,
    Message,
    PointSet,
    ProbabilityMaps,
    Segmentation,
    SuperpixelMap,
    SuperpixelsReady,
    label_objects,
)
from fewpoint.core.labels import describe_ties
from fewpoint.core.paging import stack_arrays
from fewpoint.errors import InputError
from fewpoint.io.atomic import save_array, save_arrays
from fewpoint.io.decoding import load_array, load_arrays, naming
from fewpoint.io.runs import RunFolder
from fewpoint.learning.motion import carry_points
from fewpoint.learning.samples import SampleSet
from fewpoint.learning.targets import Clues
from fewpoint.pipeline import stages
from fewpoint.pipeline.artefacts import keep, keep_superpixels
from fewpoint.pipeline.bounds import check_bound, raise_bound
from fewpoint.pipeline.config import Settings
from fewpoint.pipeline.costs import StageLog
from fewpoint.pipeline.focus import Focus
from fewpoint.pipeline.groups import find_focus, guess_bound
from fewpoint.pipeline.joint_members import JointLearnt, JointRounds
from fewpoint.pipeline.members import Rounds, count_epochs, estimate_priors, suit_clicks
from fewpoint.pipeline.pace import Pace, refuse_hopeless, rehearse, settle_schedule
from fewpoint.pipeline.task import Task
from fewpoint.pipeline.waking import wake
from fewpoint.superpixels.regions import labelled_regions, part_regions


@dataclass(frozen=True, eq=False)
class Labels:
    """values: (T, H, W) uint8, 0 or the number of an object from 1. ties: pixels as likely one as another."""

    values: np.ndarray
    ties: int


@dataclass(frozen=True, eq=False)
class JointGround:
    """What learning and masks stand on, made anew at every start; tasks, carried, smoothers, samples: one an object."""

    tasks: tuple[Task, ...]
    superpixels: SuperpixelMap
    carried: tuple[PointSet, ...]
    smoothers: tuple[stages.Smoother | None, ...]
    samples: tuple[SampleSet, ...]

    def with_settings(self, settings: Settings) -> "JointGround":
        return replace(self, tasks=tuple(replace(task, settings=settings) for task in self.tasks))


def run_objects(
    task: Task, folder: RunFolder | None, log: StageLog, device: torch.device
) -> tuple[LabelledSegmentation, Settings]:
    """The result for all objects that the points name, and the settings as used."""
    names = task.points.object_names
    wholes = tuple(task.of_object(name) for name in names)
    bounds = tuple(map(guess_bound, wholes))
    foci = tuple(map(find_focus, wholes, bounds))
    focus = Focus.round_all(foci)
    settings = _adapt(task.settings, foci, focus)
    for whole in wholes:  # as many rounds as the object with the sparsest clicks needs
        settings = suit_clicks(settings, whole.points, len(task.sequence))
    told = focus.tell(log.listener)
    insides = tuple(focus.narrow(replace(whole, settings=settings)) for whole in wholes)
    first = replace(insides[0], bound=focus.narrow_bound(bounds[0]))
    refuse_hopeless(first, folder, log, device)
    await_gpu = wake(first, folder, device)
    superpixels = log.run("superpixels", len(task.sequence), lambda: _superpixels(insides, folder, told))
    told(SuperpixelsReady(superpixels))
    bounds = _settle_bounds(dict(zip(names, wholes, strict=True)), bounds, superpixels, focus, log)
    narrowed = zip(insides, map(focus.narrow_bound, bounds), strict=True)
    ground = _prepare(tuple(replace(inside, bound=bound) for inside, bound in narrowed), superpixels, device)
    await_gpu()
    settings = settle_schedule(settings, task.time_limit_s, folder, log, lambda: _measure_pace(ground)).settings
    parts, notes = _run_inside(ground.with_settings(settings), folder, told, log)
    widened = (focus.widen(part, whole, bound) for part, whole, bound in zip(parts, wholes, bounds, strict=True))
    return LabelledSegmentation(label_objects(names), tuple(widened), notes), settings


def _adapt(settings: Settings, foci: tuple[Focus, ...], focus: Focus) -> Settings:
    """Superpixels about as fine as each object's own run would have, and a place in each batch for every object.

    There are at most as many times more superpixels as there are objects, however far apart they lie.
    """
    wider = min(len(foci), len(foci) * focus.share / sum(each.share for each in foci))
    count = round(settings.superpixels.count * max(1.0, wider))
    batch = max(settings.training.batch, len(foci))
    return replace(
        settings,
        superpixels=replace(settings.superpixels, count=count),
        training=replace(settings.training, batch=batch),
    )


def _superpixels(tasks: tuple[Task, ...], folder: RunFolder | None, listener: Listener) -> tuple[SuperpixelMap, bool]:
    def cut() -> SuperpixelMap:
        return part_regions(stages.cut_superpixels(tasks[0], listener), tuple(task.points for task in tasks))

    return keep_superpixels(folder, cut)


def _settle_bounds(
    wholes: dict[str, Task], bounds: tuple[AreaBound, ...], superpixels: SuperpixelMap, focus: Focus, log: StageLog
) -> tuple[AreaBound, ...]:
    """Given bounds checked, estimated ones raised to what superpixels allow and told; wholes: tasks by object."""
    settled = []
    for (name, whole), bound in zip(wholes.items(), bounds, strict=True):
        points = focus.narrow(whole).points
        with naming(f"object {name}"):
            settle = raise_bound if whole.bound is None else check_bound
            settled.append(settle(bound, superpixels, points, focus.share))
        if whole.bound is None:
            log.listener(Message(f"bound of {name}: {settled[-1].origin}"))
    return tuple(settled)


def _prepare(tasks: tuple[Task, ...], superpixels: SuperpixelMap, device: torch.device) -> JointGround:
    carried = tuple(carry_points(task.sequence, task.points, task.settings.clicks.carry) for task in tasks)
    samples = stages.prepare_joint_samples(tasks, superpixels, carried, device)
    if not all(each.has_point.any() for each in samples):
        raise InputError("points of two objects fall on one pixel of the working size; raise training.max_side")
    return JointGround(tasks, superpixels, carried, _prepare_smoothers(tasks, superpixels, carried), samples)


def _prepare_smoothers(
    tasks: tuple[Task, ...], superpixels: SuperpixelMap, carried: tuple[PointSet, ...]
) -> tuple[stages.Smoother | None, ...]:
    """One an object, with the same links."""
    shared = stages.prepare_smoother(tasks[0], superpixels, carried[0])
    labelled = (labelled_regions(superpixels, task.points, own) for task, own in zip(tasks, carried, strict=True))
    return tuple(shared and replace(shared, seeds=seeds, refused=refused) for seeds, refused in labelled)


def _measure_pace(ground: JointGround) -> Pace:
    def choose(logits: Tensor) -> None:
        parts = [each.half().cpu().numpy() for each in logits.unbind(1)]
        maps = tuple(
            stages.enlarge_maps([part], own, surest=0.0) for part, own in zip(parts, ground.samples, strict=True)
        )
        stages.choose_labels(ground.tasks, ground.superpixels, maps, ground.smoothers)

    return rehearse([stages.prepare_joint(ground.tasks, ground.samples, ground.tasks[0].seed).trainer], choose)


def _run_inside(
    ground: JointGround, folder: RunFolder | None, listener: Listener, log: StageLog
) -> tuple[tuple[Segmentation, ...], tuple[str, ...]]:
    """From superpixels to the masks of each object, on the part of the frames that matters; and what to say of them."""
    rounds = JointRounds(_plan_rounds(ground, folder, listener), folder)
    learnt = log.run("learning", count_epochs(ground.tasks[0].settings), rounds.run)
    maps = log.run("prediction", 0, lambda: _predict(learnt, ground, folder))
    labels = log.run("masks", 0, lambda: _choose_labels(ground, maps, folder))
    parts = []
    for number, task in enumerate(ground.tasks):
        own = learnt[number]
        priors = estimate_priors(own.members, ground.samples[number])
        place = (task.bound, task.sequence.names, task.sequence.source)
        parts.append(Segmentation(labels.values == number + 1, maps[number], priors, own.history, *place))
    return tuple(parts), describe_ties(labels.ties)


def _plan_rounds(ground: JointGround, folder: RunFolder | None, listener: Listener) -> tuple[Rounds, ...]:
    rounds = []
    for task, carried, smoother, samples in zip(
        ground.tasks, ground.carried, ground.smoothers, ground.samples, strict=True
    ):
        clues = Clues(task.points, carried, even_out=smoother.even_out if smoother else None)
        rounds.append(Rounds(task, samples, clues, folder, listener))
    return tuple(rounds)


def _predict(
    learnt: tuple[JointLearnt, ...], ground: JointGround, folder: RunFolder | None
) -> tuple[tuple[ProbabilityMaps, ...], bool]:
    surest = ground.tasks[0].settings.refinement.surest

    def compute() -> tuple[ProbabilityMaps, ...]:
        return tuple(
            stages.enlarge_maps([member.logits for member in each.members], own, surest)
            for each, own in zip(learnt, ground.samples, strict=True)
        )

    return keep(
        folder,
        "probabilities.npy",
        compute,
        lambda maps, file: save_array(stack_arrays([each.values for each in maps], np.float16), file),
        lambda path: tuple(map(ProbabilityMaps, load_array(path, "probabilities"))),
    )


def _choose_labels(
    ground: JointGround, maps: tuple[ProbabilityMaps, ...], folder: RunFolder | None
) -> tuple[Labels, bool]:
    def save(labels: Labels, file: BinaryIO) -> None:
        save_arrays({"values": labels.values, "ties": np.array(labels.ties)}, file)

    def load(path: Path) -> Labels:
        stored = load_arrays(path)
        return Labels(stored["values"], int(stored["ties"]))

    return keep(
        folder,
        "masks.npz",
        lambda: Labels(*stages.choose_labels(ground.tasks, ground.superpixels, maps, ground.smoothers)),
        save,
        load,
    )
