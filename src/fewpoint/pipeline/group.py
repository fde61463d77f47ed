"""Objects that learn together, from frames and points to masks: one network has an output for each of them."""

from contextlib import nullcontext
from dataclasses import dataclass, replace
from typing import BinaryIO

import numpy as np
import torch

from fewpoint.core import (
    AreaBound,
    Listener,
    Message,
    ObjectResult,
    PointSet,
    PriorHistory,
    ProbabilityMaps,
    SuperpixelMap,
    SuperpixelsReady,
)
from fewpoint.core.paging import stack_arrays
from fewpoint.errors import InputError
from fewpoint.io.atomic import save_array, save_arrays, write_atomically
from fewpoint.io.decoding import load_array, naming
from fewpoint.io.runs import MOTION_FILE, RunFolder
from fewpoint.learning.motion import Motion
from fewpoint.learning.targets import Clues
from fewpoint.pipeline import stages
from fewpoint.pipeline.artefacts import keep, keep_superpixels
from fewpoint.pipeline.bounds import check_bound, estimate_bound, raise_bound
from fewpoint.pipeline.contradiction import find_contradiction
from fewpoint.pipeline.costs import StageLog
from fewpoint.pipeline.focus import Focus
from fewpoint.pipeline.kept import keep_looks
from fewpoint.pipeline.masks import Tasks, Touched, build_smoothers, choose_labels, keep_untouched
from fewpoint.pipeline.members import ObjectInputs, Rounds, Trained, estimate_priors
from fewpoint.pipeline.model import GroupModel, Model
from fewpoint.pipeline.plan import Plan
from fewpoint.pipeline.previous import Cut, PreviousGroup
from fewpoint.pipeline.task import Task
from fewpoint.pipeline.witnessing import call_witness
from fewpoint.superpixels.regions import part_regions


@dataclass(frozen=True, eq=False)
class Labels:
    """values: (T, H, W) uint8, 0 or the number of an object from 1. ties: pixels as likely one as another.

    cuts: of each object.
    """

    values: np.ndarray
    ties: int
    cuts: tuple[Cut, ...]

    def masks(self, count: int) -> list[np.ndarray]:
        """(T, H, W) bool of each of `count` objects; that of a single one is not copied."""
        return [self.values.view(bool)] if count == 1 else [self.values == number + 1 for number in range(count)]


@dataclass(frozen=True, eq=False)
class GroupOutcome:
    """What a group found, by object, and what led to it. plan: as used. labels, motion: inside the focus."""

    objects: dict[str, ObjectResult]
    plan: Plan
    focus: Focus
    superpixels: SuperpixelMap
    trained: tuple[Trained, ...]
    channels: int
    labels: Labels
    motion: np.ndarray

    @property
    def ties(self) -> int:
        return self.labels.ties

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(self.objects)

    def to_model(self) -> Model:
        """The networks that the masks are made of."""
        weights = tuple(member.weights for member in self.trained)
        return Model(self.plan.network, self.channels, (GroupModel(self.names, weights),))

    def to_previous(self) -> PreviousGroup:
        """What a run that refines this one needs to know about the group."""
        return PreviousGroup(
            bounds=tuple(each.bound for each in self.objects.values()),
            box=self.focus.box,
            model=self.to_model().groups[0],
            superpixels=self.superpixels,
            logits=tuple(np.stack([each.logits for each in member.objects]) for member in self.trained),
            first=tuple(member.first for member in self.trained if member.first is not None),
            cuts=self.labels.cuts,
            labels=self.labels.values,
            motion=self.motion,
        )


def run_group(
    names: tuple[str, ...],
    task: Task,
    folder: RunFolder | None,
    log: StageLog,
    device: torch.device,
    touched: Touched,
) -> GroupOutcome:
    """Focus, superpixels, learning, prediction and masks of objects that learn together.

    names: what they are called in the run; in the task a single one has no name. touched: see masks.find_touched.
    """
    wholes = {name: task.of_object(own) for name, own in zip(names, task.object_names, strict=True)}
    bounds = _first_bounds(wholes)
    foci = [find_focus(whole, bound) for whole, bound in zip(wholes.values(), bounds, strict=True)]
    focus = _choose_focus(task, foci)
    plan = task.plan.suit_objects(len(foci), _find_widening(foci, focus))
    for whole in wholes.values():  # as many rounds as the object with the sparsest clicks needs
        plan = plan.suit_clicks(whole.points, len(task.sequence))
    listener = focus.tell(keep_looks(log.listener, folder, focus))
    insides = {name: _narrow(replace(whole, adapted=plan), focus) for name, whole in wholes.items()}
    superpixels = log.run("superpixels", len(task.sequence), lambda: _superpixels(insides, folder, listener))
    listener(SuperpixelsReady(superpixels, names))
    bounds = _settle_bounds(wholes, bounds, superpixels, focus, log)
    carried, motion = _carry_points(insides, folder)
    prepared = _prepare(_set_bounds(insides, bounds, focus), superpixels, device, carried)
    inputs = {
        name: replace(own, touched=name in touched.words, taught=name in touched.lessons)
        for name, own in prepared.items()
    }
    with call_witness(task.witness, focus.crop(task.sequence), log.listener, device) as witness:
        found, trained, labels = _run_inside(Rounds(inputs, folder, listener, witness), superpixels, log)
    widened = {name: focus.widen(each, bound) for (name, each), bound in zip(found.items(), bounds, strict=True)}
    return GroupOutcome(widened, plan, focus, superpixels, trained, task.sequence.shape[-1], labels, motion)


def guess_bound(task: Task) -> AreaBound:
    """The bound of a task on one object: as given, or estimated by following the clicks."""
    return task.bound or estimate_bound(task.sequence, task.points)


def find_focus(task: Task, bound: AreaBound) -> Focus:
    """The focus of a run on one object."""
    return Focus.find(task.points, task.sequence.size, bound, task.plan.clicks.focus)


def _first_bounds(wholes: Tasks) -> tuple[AreaBound, ...]:
    """The bounds given, or those of the run to be refined, or estimated from the points."""
    previous = _previous_of(next(iter(wholes.values())))
    if previous is None:
        return tuple(map(guess_bound, wholes.values()))
    return tuple(whole.bound or bound for whole, bound in zip(wholes.values(), previous.bounds, strict=True))


def _previous_of(task: Task) -> PreviousGroup | None:
    return None if task.previous is None else task.previous.groups[0]


def _choose_focus(task: Task, foci: list[Focus]) -> Focus:
    """The box round all foci; in a refinement the previous focus, widened if points lie outside it."""
    focus, previous = Focus.round_all(foci), _previous_of(task)
    if previous is not None:
        focus = Focus(task.sequence.size, *previous.box).reach(task.points, focus)
    return focus.hold(tuple(words for _, words in task.words))


def _narrow(task: Task, focus: Focus) -> Task:
    """The task inside the focus, without what the run to be refined found in another box or for other superpixels."""
    inside = focus.narrow(task)
    previous = inside.previous
    if previous is None:
        return inside
    group = previous.groups[0]
    if group.box != focus.box:
        labels = None if group.labels is None else focus.move(group.labels, group.box)
        group = replace(group, superpixels=None, logits=(), first=(), labels=labels, motion=None)
    elif previous.settings.superpixels != task.settings.superpixels:
        group = replace(group, superpixels=None)
    return replace(inside, previous=replace(previous, groups=(group,)))


def _find_widening(foci: list[Focus], focus: Focus) -> float:
    """How many times larger the focus is than one object needs, at most the number of objects."""
    return min(len(foci), len(foci) * focus.share / sum(each.share for each in foci))


def _set_bounds(insides: Tasks, bounds: tuple[AreaBound, ...], focus: Focus) -> Tasks:
    """The tasks with the bounds of whole frames as shares of the focus."""
    narrowed = zip(insides.items(), map(focus.narrow_bound, bounds), strict=True)
    return {name: replace(inside, bound=bound) for (name, inside), bound in narrowed}


def _superpixels(tasks: Tasks, folder: RunFolder | None, listener: Listener) -> tuple[SuperpixelMap, bool]:
    first = next(iter(tasks.values()))
    previous = _previous_of(first)

    def cut() -> SuperpixelMap:
        known = None if previous is None else previous.superpixels
        superpixels = stages.cut_superpixels(first, listener) if known is None else known
        return part_regions(superpixels, tuple(task.points for task in tasks.values()))

    return keep_superpixels(folder, cut)


def _settle_bounds(
    wholes: Tasks, bounds: tuple[AreaBound, ...], superpixels: SuperpixelMap, focus: Focus, log: StageLog
) -> tuple[AreaBound, ...]:
    """Given bounds checked, estimated ones raised to what superpixels allow and reported."""
    settled, several = [], len(wholes) > 1
    for (name, whole), bound in zip(wholes.items(), bounds, strict=True):
        points = focus.narrow(whole).points
        with naming(f"object {name}") if several else nullcontext():
            settle = raise_bound if whole.bound is None else check_bound
            settled.append(settle(bound, superpixels, points, focus.share))
        if whole.bound is None:
            log.listener(Message(f"size limit{f' of {name}' if several else ''}: {settled[-1].origin}"))
    return tuple(settled)


def _carry_points(tasks: Tasks, folder: RunFolder | None = None) -> tuple[tuple[PointSet, ...], np.ndarray]:
    """The points of each object with the places that motion carries them to, and the motion, kept for refinements.

    A refinement searches only for points that its earlier run did not know.
    """
    first = next(iter(tasks.values()))
    previous = _previous_of(first)
    motion = Motion(first.sequence, None if previous is None else previous.motion)
    carried = tuple(motion.carry(task.points, task.plan.clicks.carry) for task in tasks.values())
    found = motion.found
    if folder is not None:
        write_atomically(folder.artefact(MOTION_FILE), lambda file: save_arrays({"found": found}, file))
    return carried, found


def _prepare(
    tasks: Tasks, superpixels: SuperpixelMap, device: torch.device, carried: tuple[PointSet, ...] | None = None
) -> dict[str, ObjectInputs]:
    """What networks learn each object from. carried: see _carry_points; None if points are yet to be followed."""
    carried = _carry_points(tasks)[0] if carried is None else carried
    samples = stages.prepare_samples(tasks, superpixels, carried, device)
    if not all(each.has_point.any() for each in samples):
        raise InputError("points of two objects fall on one pixel of the working size; raise training.max_side")
    first = next(iter(tasks.values()))
    evens_out, refines = first.plan.diffusion is not None, first.previous is not None
    smoothers = build_smoothers(tasks, superpixels, carried) if evens_out or refines else (None,) * len(tasks)
    prepared = {}
    for (name, task), own, smoother, moved in zip(tasks.items(), samples, smoothers, carried, strict=True):
        even_out = smoother.even_out if smoother is not None and evens_out else None
        prepared[name] = ObjectInputs(task, own, Clues(task.points, moved, even_out=even_out), smoother)
    return prepared


def _run_inside(
    rounds: Rounds, superpixels: SuperpixelMap, log: StageLog
) -> tuple[dict[str, ObjectResult], tuple[Trained, ...], Labels]:
    """From superpixels to the masks of each object inside the focus, with the networks and the labels."""
    inputs, folder, task = rounds.inputs, rounds.folder, rounds.task
    epochs = task.plan.count_epochs(task.refining)
    trained, histories = log.run("learning", epochs, lambda: _learn(rounds))
    maps = log.run("prediction", 0, lambda: _predict(trained, inputs, folder))
    labels, final = log.run("masks", 0, lambda: _choose_labels(rounds, superpixels, maps))
    found = {}
    for number, ((name, own), masks) in enumerate(zip(inputs.items(), labels.masks(len(inputs)), strict=True)):
        priors = estimate_priors(tuple(member.objects[number] for member in trained), own.samples)
        found[name] = ObjectResult(masks, final[number], priors, histories[number], own.task.settled_bound)
    return found, trained, labels


def _learn(rounds: Rounds) -> tuple[tuple[tuple[Trained, ...], tuple[PriorHistory, ...]], bool]:
    trained, histories, reused = rounds.run()
    return (trained, histories), reused


def _predict(
    trained: tuple[Trained, ...], inputs: dict[str, ObjectInputs], folder: RunFolder | None
) -> tuple[tuple[ProbabilityMaps, ...], bool]:
    def compute() -> tuple[ProbabilityMaps, ...]:
        return tuple(
            stages.enlarge_maps(
                [member.objects[number].logits for member in trained], own.samples, own.task.plan.rounds.surest
            )
            for number, own in enumerate(inputs.values())
        )

    def save(maps: tuple[ProbabilityMaps, ...], file: BinaryIO) -> None:
        values = [each.values for each in maps]
        save_array(stack_arrays(values, np.float16) if len(values) > 1 else values[0][np.newaxis], file)

    return keep(
        folder,
        "probabilities.npy",
        compute,
        save,
        lambda path: tuple(map(ProbabilityMaps, load_array(path, "probabilities"))),
    )


def _choose_labels(
    rounds: Rounds, superpixels: SuperpixelMap, maps: tuple[ProbabilityMaps, ...]
) -> tuple[tuple[Labels, tuple[ProbabilityMaps, ...]], bool]:
    """The labels, kept for answers at once and for refinements, and what each object's masks were cut from."""
    inputs, tasks, folder = rounds.inputs, rounds.tasks, rounds.folder
    given = superpixels, maps, tuple(own.smoother for own in inputs.values()), _cuts_of(inputs)
    chosen = choose_labels(tasks, *given)
    if rounds.witness is not None:
        several = len(tasks) > 1
        named = zip(tasks.items(), chosen.probabilities, strict=True)
        heard = tuple(rounds.witness.testify(task, own, name if several else "") for (name, task), own in named)
        if any(each.belief.share for each in heard):
            chosen = choose_labels(tasks, *given, heard)
    touched = frozenset(name for name, own in inputs.items() if own.touched)
    labels = Labels(keep_untouched(chosen.labels, tasks, touched), chosen.ties, chosen.cuts)
    if folder is not None:
        write_atomically(folder.artefact("masks.npz"), lambda file: save_arrays({"values": labels.values}, file))
    return (labels, chosen.probabilities), False


def _cuts_of(inputs: dict[str, ObjectInputs]) -> tuple[Cut | None, ...]:
    """How masks are cut: found out in a first run.

    Networks that are refined have learnt how large the object is, and those that are kept know it no better than then.
    What words said is kept, for those of the next run to stand against.
    """
    previous = next(iter(inputs.values())).task.previous
    if previous is None:
        return (None,) * len(inputs)
    before = previous.groups[0].cuts or (Cut(),) * len(inputs)
    return tuple(
        _cut_refined(own.task, cut) if own.taught else cut for own, cut in zip(inputs.values(), before, strict=True)
    )


def _cut_refined(task: Task, before: Cut) -> Cut:
    """How masks of refined networks are cut: as they are. before: of the run that they refine."""
    said = find_contradiction(task, before)
    return Cut(missed=said.missed, leaked=said.leaked)
