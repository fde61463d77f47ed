"""The networks of a run, one after another: those that learn from the points, then those of each further round."""

import json
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass, field, replace
from functools import cached_property, partial
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
import torch
from scipy.special import expit
from torch import Tensor

from fewpoint.core import (
    EpochFinished,
    EpochPredicted,
    EpochRecord,
    Listener,
    PriorEstimate,
    PriorHistory,
    StepsTaken,
)
from fewpoint.core.progress import Event
from fewpoint.core.threads import free_cores
from fewpoint.io.atomic import write_atomically
from fewpoint.io.decoding import load_arrays
from fewpoint.io.runs import RunFolder
from fewpoint.learning.checkpoints import resume
from fewpoint.learning.heldout import NOTHING_ASKED, ask_about, held_out, hold_out
from fewpoint.learning.phases import Course, Learning, learn_side_by_side
from fewpoint.learning.prediction import pool_regions_of
from fewpoint.learning.samples import SampleSet
from fewpoint.learning.sizes import find_excess, find_frame_excess
from fewpoint.learning.targets import (
    Clues,
    ClueWeights,
    Targets,
    emphasise_labels,
    make_targets,
    obey_labels,
    share_out,
    spread,
)
from fewpoint.pipeline import stages
from fewpoint.pipeline.artefacts import load_or_none
from fewpoint.pipeline.masks import Smoother, Tasks, level_of_words, settle
from fewpoint.pipeline.model import Weights
from fewpoint.pipeline.plan import Plan
from fewpoint.pipeline.previous import Cut, PreviousGroup
from fewpoint.pipeline.task import Task
from fewpoint.pipeline.witnessing import Witness

WEIGHTS = "weights/"  # prefix of the names of weights among a member's arrays
MOST_SHARING = 2  # networks that share a core rather than wait their turn
AT_ONCE_ON_GPU = 4  # networks that learn side by side on a GPU; more would only wait for each other
SEED_STEP = 1_000_003  # between the seeds of a run's networks; the first has the run's own

NO_PRIORS = PriorEstimate(np.zeros(0), np.zeros(0), np.zeros(0))  # of a network that is kept as it is

Label = Callable[[EpochRecord], EpochRecord]


@dataclass(frozen=True)
class Member:
    """One network of a run. round: 0 learns from the points. number: counts from 0 within the round.

    refining: how many networks of an earlier run are refined, 0 if none is.
    """

    round: int
    number: int
    seed: int
    refining: int = 0

    @property
    def name(self) -> str:
        return f"network-{self.round}-{self.number}"


@dataclass(frozen=True, eq=False)
class Learnt:
    """What a member has learnt of one object: (T, h, w) float16 logits at the working size, and how it got there.

    first: those from which refinements set out, None if it is no refinement.
    """

    logits: np.ndarray
    priors: PriorEstimate
    history: PriorHistory
    first: np.ndarray | None = None


@dataclass(frozen=True, eq=False)
class Trained:
    """What a member leaves behind: what it has learnt of each object, and its weights by name.

    Only members that the masks are made of leave weights, for other runs to start from.
    """

    objects: tuple[Learnt, ...]
    weights: Weights = field(default_factory=dict)

    @property
    def first(self) -> np.ndarray | None:
        """(K, T, h, w) logits from which refinements set out, None if it is no refinement."""
        first = [each.first for each in self.objects if each.first is not None]
        return np.stack(first) if first else None


@dataclass(frozen=True, eq=False)
class ObjectInputs:
    """What a network learns one object from, and its masks are made of; rebuilt at every start.

    task: of this object alone, inside the focus. clues: for the targets of further rounds. touched: False if nothing
    was said about it since the run that is refined. taught: False if that gives its networks nothing to learn.
    """

    task: Task
    samples: SampleSet
    clues: Clues
    smoother: Smoother | None
    touched: bool = True
    taught: bool = True


def plan_members(plan: Plan, seed: int) -> tuple[tuple[Member, ...], ...]:
    """The members, round by round."""
    rounds = plan.rounds
    counts = [rounds.networks] + [rounds.round_networks] * rounds.rounds
    starts = np.concatenate([[0], np.cumsum(counts)]).tolist()
    return tuple(
        tuple(Member(number, index, seed + SEED_STEP * (starts[number] + index)) for index in range(count))
        for number, count in enumerate(counts)
    )


def plan_refinement(count: int, seed: int) -> tuple[tuple[Member, ...], ...]:
    """The members that refine the networks of an earlier run: one round, which learns from what those predict."""
    return (tuple(Member(1, number, seed + SEED_STEP * number, count) for number in range(count)),)


def plan_of(task: Task) -> tuple[tuple[Member, ...], ...]:
    """The members of a task, round by round."""
    return plan_refinement(task.refining, task.seed) if task.refining else plan_members(task.plan, task.seed)


def kept_of(task: Task) -> tuple[Member, ...]:
    """The members whose mean the masks are made of: those of all further rounds, or of the only round."""
    return tuple(member for members in plan_of(task) for member in members if is_kept(member, task.plan))


def is_kept(member: Member, plan: Plan) -> bool:
    return bool(member.refining) or member.round >= min(1, plan.rounds.rounds)


@dataclass(eq=False)
class Rounds:
    """Trains the members in order; in a folder, finished ones are kept and a started one is resumed.

    inputs: of each object, by name. Each member learns all of them. witness: has a say in what further rounds learn.
    """

    inputs: dict[str, ObjectInputs]
    folder: RunFolder | None
    listener: Listener
    witness: Witness | None = None

    def __post_init__(self) -> None:
        self.tasks = {name: own.task for name, own in self.inputs.items()}
        self.objects = tuple(self.inputs.values())
        self.task = self.objects[0].task  # for what all objects share

    def run(self) -> tuple[tuple[Trained, ...], tuple[PriorHistory, ...], bool]:
        """What the members to keep have learnt, the history of each object, and whether all were finished before."""
        previous = self.task.previous
        if previous is not None and not any(own.taught for own in self.objects):
            return self._keep_all(previous.groups[0])
        latest: list[Trained] = []
        kept: list[Trained] = []
        every: list[Trained] = []
        reused, targets = True, None
        for members in plan_of(self.task):
            if latest:
                targets = self._make_targets(latest, members[0].round == 1)
            elif previous is not None:
                targets = self._recall_targets(previous.groups[0])
            latest, found = self._obtain(members, targets, _count_epochs(every, len(self.objects)))
            reused &= found
            kept += latest if is_kept(members[0], self.task.plan) else []
            every += latest
        histories = (
            join_histories([each.objects[number].history for each in every]) for number in range(len(self.objects))
        )
        return tuple(kept), tuple(histories), reused

    def _make_targets(self, trained: list[Trained], from_points: bool) -> tuple[Targets, ...]:
        """What the next round learns from; no pixel surely belongs to two objects."""
        learnt = zip(*(each.objects for each in trained), strict=True)
        given = zip(self.objects, learnt, strict=True)
        made = [make_object_targets(own, list(latest), from_points) for own, latest in given]
        if self.witness is not None:
            given = zip(self.objects, made, strict=True)
            made = [self.witness.teach(own.task, targets, own.samples) for own, targets in given]
        return share_out(made)

    def _recall_targets(self, previous: PreviousGroup) -> tuple[Targets, ...]:
        """What a refinement learns from: what the earlier run found, corrected by what has been said since."""
        cuts = previous.cuts or (Cut(),) * len(self.objects)
        return share_out([correct_targets(*each) for each in zip(self.objects, recall(self._said), cuts, strict=True)])

    @cached_property
    def _said(self) -> list[Tensor]:
        """(K, T, h, w) logits of each network of the run that is refined, which are asked once."""
        if self.task.previous is None:
            raise ValueError("a first run has no earlier annotations")
        samples = tuple(own.samples for own in self.objects)
        return recall_logits(self.task.previous.groups[0], self.tasks, samples)

    def _keep_all(self, previous: PreviousGroup) -> tuple[tuple[Trained, ...], tuple[PriorHistory, ...], bool]:
        """What the networks of the earlier run have learnt, for a refinement that has nothing to say."""
        nothing = PriorHistory.empty(self.objects[0].samples.n_frames)
        trained = []
        for member, logits, weights in zip(kept_of(self.task), self._said, previous.model.weights, strict=True):
            first = recall_first(previous, self._said, member.number)
            kept = zip(map(_halve, logits), map(_halve, first), strict=True)
            learnt = tuple(Learnt(values, NO_PRIORS, nothing, before) for values, before in kept)
            trained.append(self._store(member, Trained(learnt, weights)))
        return tuple(trained), (nothing,) * len(self.objects), False

    def _obtain(
        self, members: tuple[Member, ...], targets: tuple[Targets, ...] | None, done: tuple[int, ...]
    ) -> tuple[list[Trained], bool]:
        """The members' results, and whether all were finished before; `done` epochs of each object came first."""
        found = {member: self._found(member) for member in members}
        results = {member: trained for member, trained in found.items() if trained is not None}
        missing = [each for each in members if each not in results]
        at_once = self._size_group(len(missing))
        for start in range(0, len(missing), at_once):
            group = missing[start : start + at_once]
            learnings = {member: self._prepare(member, targets) for member in group}
            most = {member: (learnings[member].schedule.most_epochs,) * len(self.objects) for member in group}
            epochs = most | {member: _count_epochs([each], len(self.objects)) for member, each in results.items()}
            places = {
                member: tuple(map(sum, zip(done, *(epochs[each] for each in members[: member.number]), strict=True)))
                for member in group
            }
            self._learn(learnings, places)
            results |= {member: self._keep(member, learnings[member], places[member], targets) for member in group}
        return [results[member] for member in members], not missing

    def _size_group(self, count: int) -> int:
        """How many of `count` members learn at once: on two cores, three take 1.5 times as long as two, not twice."""
        samples = self.objects[0].samples
        at_once = count_at_once(self.task, samples)
        shares = samples.frames.device.type == "cpu" and 1 < at_once < count <= MOST_SHARING * at_once
        return count if shares else at_once

    def _found(self, member: Member) -> Trained | None:
        """What a member left that has finished before."""
        return None if self.folder is None else load_or_none(self.folder.artefact(f"{member.name}.npz"), load_trained)

    def _prepare(self, member: Member, targets: tuple[Targets, ...] | None) -> Learning:
        samples = tuple(samples_for(member, own) for own in self.objects)
        return stages.prepare_learning(self.tasks, samples, member.seed, targets, self._start_of(member))

    def _learn(self, learnings: dict[Member, Learning], places: dict[Member, tuple[int, ...]]) -> None:
        """Train the members, side by side if there are several.

        places: how many epochs come before those of each member in the history of each object.
        """
        firsts = [max(place) for place in places.values()]
        listeners = [
            self._number_epochs(self._label_of(member, first), first, firsts)
            for member, first in zip(places, firsts, strict=True)
        ]
        saves = [self._checkpoint(learning, member) for member, learning in learnings.items()]
        learn_side_by_side(list(learnings.values()), listeners, saves)

    def _label_of(self, member: Member, place: int) -> Label:
        return partial(label_record, member=member, plan=self.task.plan, done=place)

    def _keep(
        self, member: Member, learning: Learning, places: tuple[int, ...], targets: tuple[Targets, ...] | None
    ) -> Trained:
        """What a trained member leaves behind."""
        logits = list(learning.predict().unbind(1))
        for number, own in enumerate(targets or ()):
            # The network itself is corrected, so that whatever starts from it predicts the same size.
            samples = self.objects[number].samples
            excess = find_excess(torch.sigmoid(logits[number]), own.probability, samples)
            stages.lower_output(learning.trainer.network, number, excess)
            logits[number] = self._fit_frames(logits[number] - excess, own, samples)
        learnt = tuple(
            sum_up_learnt(course, values, self._label_of(member, place))
            for course, values, place in zip(learning.courses, logits, places, strict=True)
        )
        if self.task.previous is not None:
            learnt = self._join_previous(learnt, member, self.task.previous.groups[0])
        weights = stages.take_weights(learning.trainer.network) if is_kept(member, self.task.plan) else {}
        return self._store(member, Trained(learnt, weights))

    def _store(self, member: Member, trained: Trained) -> Trained:
        """What a member leaves behind, written to the folder if there is one."""
        if self.folder is not None:
            write_atomically(self.folder.artefact(f"{member.name}.npz"), lambda file: save_trained(trained, file))
        return trained

    def _join_previous(self, learnt: tuple[Learnt, ...], member: Member, previous: PreviousGroup) -> tuple[Learnt, ...]:
        """What a member has learnt, joined with what it said before any word; or as it was, if nobody taught it since.

        Each refinement learns from what the last one said. What was said at first keeps a share in all of them, so that
        no error grows from one to the next; words say at which level.
        """
        before, first = self._said[member.number], recall_first(previous, self._said, member.number)
        share = self.task.plan.refine.first
        cuts, joined = previous.cuts or (Cut(),) * len(learnt), []
        for each, own, values, start, cut in zip(learnt, self.objects, before, first, cuts, strict=True):
            first_now = start - level_by_words(own, start, cut)
            taught = (1 - share) * torch.from_numpy(each.logits).to(start) + share * first_now
            joined.append(replace(each, logits=_halve(taught if own.taught else values), first=_halve(first_now)))
        return tuple(joined)

    def _fit_frames(self, logits: Tensor, targets: Targets, samples: SampleSet) -> Tensor:
        """Logits (T, h, w), each frame's lowered or raised towards its size in the targets."""
        amount = self.task.plan.rounds.sizes
        return logits - find_frame_excess(torch.sigmoid(logits), targets.probability, samples, amount)[:, None, None]

    def _start_of(self, member: Member) -> Weights | None:
        """The weights that a member starts from; None if it starts at random."""
        previous, warm = self.task.previous, self.task.warm_start
        if previous is not None:
            return previous.groups[0].model.weights[member.number]
        if warm is None or member.round:
            return None
        weights = warm.find_group(tuple(self.tasks)).weights
        return weights[member.number % len(weights)]

    def _number_epochs(self, label: Label, place: int, places: list[int]) -> Listener:
        """Pass events on with epochs numbered as in the run's history, and with how many are over by then."""
        total = self.task.plan.count_epochs(self.task.refining)
        first, together, turn = places[0], len(places), places.index(place)

        def tell(event: Event) -> None:
            if isinstance(event, EpochFinished):
                over = first + together * (event.record.epoch - 1) + turn + 1
                event = EpochFinished(label(event.record), total, over)
            elif isinstance(event, EpochPredicted):
                event = replace(event, epoch=place + event.epoch)
            elif isinstance(event, StepsTaken):
                event = replace(event, epoch=first + together * (event.epoch - 1) + 1, total=total)
            self.listener(event)

        return tell

    def _checkpoint(self, learning: Learning, member: Member) -> Callable[[Learning], None]:
        """Resume from the member's checkpoint if there is one; the function returned writes one."""
        if self.folder is None:
            return lambda state: None
        path = self.folder.artefact(f"checkpoint-{member.number}.pt" if member.number else "checkpoint.pt")
        return resume(learning, path, member.name)


def make_object_targets(inputs: ObjectInputs, learnt: list[Learnt], from_points: bool) -> Targets:
    """What the next round learns of an object; only networks that learnt from the points held clicks out."""
    samples, clues = inputs.samples, inputs.clues
    if from_points and inputs.task.plan.rounds.heldout:
        asked = [
            ask_about(_pooled_logits(each, samples), samples, held_out(samples, number))
            for number, each in enumerate(learnt)
        ]
        clues = replace(clues, heldout_share=sum(asked, NOTHING_ASKED).share())
    probabilities = mean_probability(learnt, samples)
    return aim_at(inputs, probabilities, clues, from_points)


def aim_at(inputs: ObjectInputs, probabilities: Tensor, clues: Clues, from_points: bool = False) -> Targets:
    """Targets made of (T, h, w) probabilities and what the clicks say."""
    task = inputs.task
    weights = ClueWeights.of(task.plan.rounds)
    if not from_points:
        # Networks that have learnt from targets know where the clicks are: given again, they would count twice.
        weights = replace(weights, nearness=0.0)
    return make_targets(probabilities, inputs.samples, clues, task.settled_bound, weights)


def level_by_words(inputs: ObjectInputs, first: Tensor, cut: Cut) -> float:
    """By how much (T, h, w) logits of what was said at first are too high, going by words since the run before.

    cut: of that run.
    """
    if inputs.smoother is None:
        return 0.0
    near = inputs.smoother.surroundings
    pooled = pool_regions_of(torch.sigmoid(first), inputs.samples).cpu().numpy().astype(np.float64)
    return level_of_words(inputs.task, pooled[near.find_real(pooled.shape[1])], near, cut)


def correct_targets(inputs: ObjectInputs, said: Tensor, cut: Cut) -> Targets:
    """What a refinement learns of an object: the (T, h, w) probabilities of the earlier run as masks are made of them.

    Words are heeded but for sizes, which every mask heeds anyway. cut: of the earlier run.
    """
    samples, smoother = inputs.samples, inputs.smoother
    if smoother is None:
        raise ValueError("a refinement needs links between superpixels")
    task = replace(inputs.task, words=tuple((name, each.without_sizes) for name, each in inputs.task.words))
    cut = replace(cut, corrected=cut.corrected or inputs.taught)
    pooled = pool_regions_of(said, samples)
    settled = smoother.on_real(
        pooled.cpu().numpy().astype(np.float64), lambda means: expit(settle(task, means, smoother, cut).scores)
    )
    targets = obey_labels(spread(torch.from_numpy(settled).to(pooled), samples), samples)
    return emphasise_labels(targets, samples, task.plan.refine.emphasis)


def samples_for(member: Member, inputs: ObjectInputs) -> SampleSet:
    """All samples, or for a network from the points those without the clicks that are held out."""
    rounds = inputs.task.plan.rounds
    if member.round or not (rounds.rounds and rounds.heldout):
        return inputs.samples
    return hold_out(inputs.samples, held_out(inputs.samples, member.number))


def sum_up_learnt(course: Course, logits: Tensor, label: Label) -> Learnt:
    """What a finished network has learnt of an object, with its records labelled."""
    history = course.progress.history(course.samples.n_frames)
    history = replace(history, records=tuple(label(record) for record in history.records))
    return Learnt(_halve(logits), course.priors(), history)


def _halve(logits: Tensor) -> np.ndarray:
    """Logits as they are kept."""
    return logits.half().cpu().numpy()


def _count_epochs(trained: list[Trained], n_objects: int) -> tuple[int, ...]:
    """How many epochs the members took for each object."""
    return tuple(sum(len(each.objects[number].history) for each in trained) for number in range(n_objects))


def count_at_once(task: Task, samples: SampleSet) -> int:
    """How many members learn side by side at full speed: on a CPU one per core, if each keeps to one."""
    training, kind = task.plan.training, samples.frames.device.type
    if task.plan.phases.estimation_epochs:
        return 1
    if kind == "cuda":
        return AT_ONCE_ON_GPU
    return free_cores() if kind == "cpu" and training.threads == 1 else 1


def mean_probability(learnt: list[Learnt] | tuple[Learnt, ...], samples: SampleSet) -> Tensor:
    """(T, h, w) mean of the members' probabilities, on the device."""
    return torch.stack(list(_probabilities(learnt, samples))).mean(0)


def recall(said: list[Tensor]) -> list[Tensor]:
    """(T, h, w) mean probability of networks for each object. said: (K, T, h, w) logits of each."""
    return [torch.stack([torch.sigmoid(values[number]) for values in said]).mean(0) for number in range(len(said[0]))]


def recall_logits(previous: PreviousGroup, tasks: Tasks, samples: tuple[SampleSet, ...]) -> list[Tensor]:
    """(K, T, h, w) logits of each network of an earlier run; computed if they were not kept."""
    first = samples[0]
    logits = [torch.from_numpy(values).to(first.frames.device).float() for values in previous.logits]
    if not logits or any(values.shape[1:] != first.labels.shape for values in logits):
        seed = next(iter(tasks.values())).seed
        learnings = (stages.prepare_learning(tasks, samples, seed, start=each) for each in previous.model.weights)
        logits = [learning.predict().transpose(0, 1) for learning in learnings]
    return logits


def recall_first(previous: PreviousGroup, said: list[Tensor], number: int) -> Tensor:
    """(K, T, h, w) logits of a network, by its number, before any word corrected it, 0 at the edge of its masks.

    said: logits of each in the earlier run. If that was no refinement, or refined something else, these are the first.
    """
    kept, own = previous.first, said[number]
    if len(kept) == len(said) and all(each.shape == values.shape for each, values in zip(kept, said, strict=True)):
        return torch.from_numpy(kept[number]).to(own)
    cuts = previous.cuts or (Cut(),) * len(own)
    return own - torch.tensor([cut.level for cut in cuts]).to(own)[:, None, None, None]


def estimate_priors(learnt: tuple[Learnt, ...], samples: SampleSet) -> PriorEstimate:
    """A single member's own estimate; for several or later ones, the share they agree on and how far they differ.

    mean: share of the superpixels whose mean probability is 0.5 or above. observed: the mean probability. deviation:
    the root of the members' variance and the squared difference of the other two.
    """
    if len(learnt) == 1 and learnt[0].history.selected_epoch:
        return learnt[0].priors
    pooled = torch.stack([pool_regions_of(values, samples) for values in _probabilities(learnt, samples)])
    shares = _share((pooled >= 0.5).float(), samples)
    mean, observed = (_share(values, samples) for values in ((pooled.mean(0) >= 0.5).float(), pooled.mean(0)))
    deviation = np.sqrt(shares.var(axis=0) + (mean - observed) ** 2)
    present = ~samples.absent
    return PriorEstimate(mean * present, deviation * present, observed * present)


def join_histories(histories: list[PriorHistory]) -> PriorHistory:
    """One history of all members, in order; the epoch that one of them selected is kept if no other did."""
    if len(histories) == 1:
        return histories[0]
    records = tuple(record for history in histories for record in history.records)
    columns = ("priors", "observed", "positive_share")
    rows = (np.concatenate([getattr(each, name) for each in histories]) for name in columns)
    before = np.cumsum([0, *map(len, histories)]).tolist()
    selected = [
        done + each.selected_epoch for done, each in zip(before, histories, strict=False) if each.selected_epoch
    ]
    return PriorHistory(records, *rows, selected_epoch=selected[0] if len(selected) == 1 else 0)


def label_record(record: EpochRecord, *, member: Member, plan: Plan, done: int) -> EpochRecord:
    """The record with its epoch counted on from `done`, and its phase named after the member."""
    rounds = plan.rounds
    of_several = (member.refining or (rounds.round_networks if member.round else rounds.networks)) > 1
    phase = "refinement" if member.refining else f"round {member.round}" if member.round else record.phase
    return replace(
        record,
        epoch=done + record.epoch,
        phase=f"{phase}, network {member.number + 1}" if of_several else phase,
    )


def save_trained(trained: Trained, file: BinaryIO) -> None:
    """One array of logits for all objects; per object its priors and history, which may differ in length."""
    objects = trained.objects
    arrays: dict[str, Any] = {"logits": np.stack([each.logits for each in objects])}
    if trained.first is not None:
        arrays["first"] = trained.first
    for number, each in enumerate(objects):
        history, priors = each.history, each.priors
        arrays[f"prior-{number}"] = np.stack([priors.mean, priors.deviation, priors.observed])
        arrays[f"rows-{number}"] = np.stack([history.priors, history.observed, history.positive_share])
        arrays[f"records-{number}"] = json.dumps([asdict(record) for record in history.records])
        arrays[f"selected_epoch-{number}"] = history.selected_epoch
    arrays |= {f"{WEIGHTS}{name}": values for name, values in trained.weights.items()}
    np.savez(file, **arrays)


def load_trained(path: Path) -> Trained:
    stored = load_arrays(path)
    objects = []
    for number, logits in enumerate(stored["logits"]):
        records = (EpochRecord(**record) for record in json.loads(str(stored[f"records-{number}"])))
        selected = int(stored[f"selected_epoch-{number}"])
        priors, observed, share = stored[f"rows-{number}"]
        history = PriorHistory(tuple(records), priors, observed, share, selected)
        first = stored["first"][number] if "first" in stored else None
        objects.append(Learnt(logits, PriorEstimate(*stored[f"prior-{number}"]), history, first))
    weights = {name.removeprefix(WEIGHTS): values for name, values in stored.items() if name.startswith(WEIGHTS)}
    return Trained(tuple(objects), weights)


def _probabilities(learnt: list[Learnt] | tuple[Learnt, ...], samples: SampleSet) -> Iterator[Tensor]:
    for each in learnt:
        yield torch.sigmoid(torch.from_numpy(each.logits).to(samples.frames.device).float())


def _pooled_logits(learnt: Learnt, samples: SampleSet) -> np.ndarray:
    """(T, regions) logit of each superpixel's mean probability."""
    probabilities = pool_regions_of(next(_probabilities([learnt], samples)), samples)
    return torch.logit(probabilities, eps=1e-4).cpu().numpy()


def _share(values: Tensor, samples: SampleSet) -> np.ndarray:
    """(…, T) share of each frame, weighing superpixels by their area."""
    return (values * samples.areas).sum(-1).cpu().double().numpy()
