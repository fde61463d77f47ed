"""The networks of a run, one after another: those that learn from the points, then those of each further round."""

import json
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import BinaryIO

import numpy as np
import torch
from torch import Tensor

from fewpoint.core import (
    EpochFinished,
    EpochPredicted,
    EpochRecord,
    Listener,
    PointSet,
    PriorEstimate,
    PriorHistory,
    StepsTaken,
    ignore,
)
from fewpoint.core.progress import Event
from fewpoint.core.threads import free_cores
from fewpoint.io.atomic import write_atomically
from fewpoint.io.runs import RunFolder
from fewpoint.learning.checkpoints import load_learning, save_learning, sparingly
from fewpoint.learning.clicks import is_sparse
from fewpoint.learning.phases import Learning, learn_side_by_side
from fewpoint.learning.prediction import pool_regions_of
from fewpoint.learning.samples import SampleSet
from fewpoint.learning.targets import Clues, Targets, find_excess, find_frame_excess, find_taken, make_targets
from fewpoint.learning.unseen import NOTHING_UNSEEN, ask_about_unseen, leave_out, left_out
from fewpoint.pipeline import stages
from fewpoint.pipeline.config import Settings
from fewpoint.pipeline.model import Weights
from fewpoint.pipeline.previous import PreviousRun
from fewpoint.pipeline.task import Task

WEIGHTS = "weights/"  # before the names of weights among the arrays that a member leaves behind
MOST_SHARING = 2  # networks that share a core, rather than wait for their turn
AT_ONCE_ON_GPU = 4  # networks that learn side by side on a GPU; more would only wait for each other
SEED_STEP = 1_000_003  # between the seeds of a run's networks; the first has the run's own


@dataclass(frozen=True)
class Member:
    """One network of a run. round: 0 learns from the points. number: counts from 0 within the round.

    refining: how many networks of an earlier run are refined, 0 where none is.
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
    """What a member leaves behind: (T, h, w) float16 logits at the working size, and how it got there.

    weights: by name; those of networks whose say counts in the end, to which others may come back.
    """

    logits: np.ndarray
    priors: PriorEstimate
    history: PriorHistory
    weights: Weights = field(default_factory=dict)


def plan_members(settings: Settings, seed: int) -> tuple[tuple[Member, ...], ...]:
    """The members, round by round."""
    refinement = settings.refinement
    counts = [refinement.networks] + [refinement.round_networks] * refinement.rounds
    starts = np.concatenate([[0], np.cumsum(counts)]).tolist()
    return tuple(
        tuple(Member(number, index, seed + SEED_STEP * (starts[number] + index)) for index in range(count))
        for number, count in enumerate(counts)
    )


def plan_refinement(count: int, seed: int) -> tuple[tuple[Member, ...], ...]:
    """The members that refine so many networks of an earlier run: one round, which learns from what those say."""
    return (tuple(Member(1, number, seed + SEED_STEP * number, count) for number in range(count)),)


def plan_of(task: Task) -> tuple[tuple[Member, ...], ...]:
    """The members of a task, round by round."""
    return plan_refinement(task.refining, task.seed) if task.refining else plan_members(task.settings, task.seed)


def kept_of(task: Task) -> tuple[Member, ...]:
    """The members whose mean the masks are made of: of all further rounds, or of the only one."""
    return tuple(member for members in plan_of(task) for member in members if is_kept(member, task.settings))


def is_kept(member: Member, settings: Settings) -> bool:
    return bool(member.refining) or member.round >= min(1, settings.refinement.rounds)


def suit_clicks(settings: Settings, points: PointSet, n_frames: int) -> Settings:
    """The settings with as many rounds as the clicks need: more where they are sparse."""
    refinement = settings.refinement
    if refinement.rounds == 0 or not is_sparse(points, n_frames):
        return settings
    more = replace(refinement, rounds=max(refinement.rounds, refinement.sparse_rounds))
    return replace(settings, refinement=more)


def count_epochs(settings: Settings, refining: int = 0) -> int:
    """The most epochs that all members together may take. refining: so many networks of an earlier run."""
    if refining:
        return refining * settings.reuse.refine_epochs
    refinement, phases = settings.refinement, settings.phases
    first = phases.warmup_epochs + phases.estimation_epochs + phases.final_epochs
    return refinement.networks * first + refinement.rounds * refinement.round_networks * refinement.round_epochs


@dataclass(eq=False)
class Rounds:
    """Trains the members in order; in a folder, finished ones are kept and a started one goes on where it was."""

    task: Task
    samples: SampleSet
    clues: Clues
    folder: RunFolder | None
    listener: Listener

    def run(self) -> tuple[tuple[Learnt, ...], PriorHistory, bool]:
        """What the members to keep have learnt, the history of all, and whether all were found finished."""
        plan = plan_of(self.task)
        learnt: list[Learnt] = []
        kept: list[Learnt] = []
        histories: list[PriorHistory] = []
        reused, targets = True, None
        for members in plan:
            if learnt:
                targets = self.make_targets(learnt, members[0].round == 1)
            elif self.task.previous is not None:
                targets = self._aim_at(recall(self.task.previous, self.samples, self.task), self.clues)
            learnt, found = self._obtain(members, targets, sum(map(len, histories)))
            reused &= found
            kept += learnt if is_kept(members[0], self.task.settings) else []
            histories += [each.history for each in learnt]
        return tuple(kept), join_histories(histories), reused

    def make_targets(self, learnt: list[Learnt], from_points: bool) -> Targets:
        """What the next round learns from; only networks that learnt from the points have clicks unseen by them."""
        refinement, clues = self.task.settings.refinement, self.clues
        if from_points and refinement.unseen:
            asked = [
                ask_about_unseen(_pooled_logits(each, self.samples), self.samples, left_out(self.samples, number))
                for number, each in enumerate(learnt)
            ]
            clues = replace(clues, unseen_share=sum(asked, NOTHING_UNSEEN).share())
        probabilities = mean_probability(learnt, self.samples)
        if from_points:
            clues = replace(clues, taken=find_taken(probabilities, self.samples, clues.points))
        return self._aim_at(probabilities, clues, from_points)

    def _aim_at(self, probabilities: Tensor, clues: Clues, from_points: bool = False) -> Targets:
        refinement = self.task.settings.refinement
        if not from_points:
            # Networks that have learnt from targets know the places of the clicks: told again, they count twice.
            refinement = replace(refinement, nearness=0.0)
        if self.task.previous is not None:
            # What an earlier run found is to change where clicks say so, and nowhere else.
            refinement = replace(refinement, profile=0.0, taper=0.0, outlines=0.0)
        return make_targets(probabilities, self.samples, clues, self.task.bound, refinement)

    def samples_of(self, member: Member) -> SampleSet:
        """All samples, or for a network from the points those without the clicks that it leaves out."""
        refinement = self.task.settings.refinement
        if member.round or not (refinement.rounds and refinement.unseen):
            return self.samples
        return leave_out(self.samples, left_out(self.samples, member.number))

    def _obtain(self, members: tuple[Member, ...], targets: Targets | None, done: int) -> tuple[list[Learnt], bool]:
        """The members' results, and whether all were found; `done` epochs of earlier rounds came before."""
        results = {member: load_learnt(path) for member in members if (path := self._found(member)) is not None}
        missing = [each for each in members if each not in results]
        at_once = self._size_group(len(missing))
        for start in range(0, len(missing), at_once):
            group = missing[start : start + at_once]
            learnings = {member: self._prepare(member, targets) for member in group}
            epochs = {member: learnings[member].schedule.most_epochs for member in group}
            epochs |= {member: len(each.history) for member, each in results.items()}
            places = [done + sum(epochs[each] for each in members[: member.number]) for member in group]
            self._learn(learnings, places)
            results |= {
                member: self._keep(member, learnings[member], place, targets)
                for member, place in zip(group, places, strict=True)
            }
        return [results[member] for member in members], not missing

    def _size_group(self, count: int) -> int:
        """How many of so many members learn at once: three on two cores in half as long again as two, not twice."""
        at_once = count_at_once(self.task, self.samples)
        shares = self.samples.frames.device.type == "cpu" and 1 < at_once < count <= MOST_SHARING * at_once
        return count if shares else at_once

    def _found(self, member: Member) -> Path | None:
        """The file of a member that has finished before."""
        if self.folder is None:
            return None
        path = self.folder.artefact(f"{member.name}.npz")
        return path if path.exists() else None

    def _prepare(self, member: Member, targets: Targets | None) -> Learning:
        samples, start = self.samples_of(member), self._start_of(member)
        return stages.prepare_learning(self.task, samples, member.seed, targets, start)

    def _learn(self, learnings: dict[Member, Learning], places: list[int]) -> None:
        """Let the members learn, side by side where they are several.

        places: how many epochs come before those of each in the history of the run.
        """
        pairs = zip(learnings, places, strict=True)
        told = [self.told(self._label_of(member, place), place, places) for member, place in pairs]
        saves = [self._checkpoint(learning, member) for member, learning in learnings.items()]
        learn_side_by_side(list(learnings.values()), told, saves)

    def _label_of(self, member: Member, place: int) -> Callable[[EpochRecord], EpochRecord]:
        return partial(label_record, member=member, settings=self.task.settings, done=place)

    def _keep(self, member: Member, learning: Learning, place: int, targets: Targets | None) -> Learnt:
        """What a member that has learnt leaves behind, in the folder too."""
        logits = learning.predict()
        if targets is not None:
            # The network itself is put right, so that whatever goes on from it has the same size.
            excess = find_excess(torch.sigmoid(logits), targets, self.samples)
            learning.trainer.network.head.bias.data -= excess
            logits = self.fit_frames(logits - excess, targets)
        result = sum_up_learnt(learning, logits, self._label_of(member, place))
        if is_kept(member, self.task.settings):
            result = replace(result, weights=stages.take_weights(learning.trainer.network))
        if self.folder is not None:
            write_atomically(self.folder.artefact(f"{member.name}.npz"), lambda file: save_learnt(result, file))
        return result

    def fit_frames(self, logits: Tensor, targets: Targets) -> Tensor:
        """Logits (T, h, w), each frame's lowered or raised towards its size in the targets; not in a refinement."""
        amount = 0.0 if self.task.previous is not None else self.task.settings.refinement.sizes
        return logits - find_frame_excess(torch.sigmoid(logits), targets, self.samples, amount)[:, None, None]

    def _start_of(self, member: Member) -> Weights | None:
        """The weights that a member starts from; None where it starts at random."""
        previous, warm = self.task.previous, self.task.warm_start
        if previous is not None:
            return previous.model.weights[member.number]
        return warm.weights[member.number % len(warm.weights)] if warm is not None and member.round == 0 else None

    def told(self, label: Callable[[EpochRecord], EpochRecord], place: int, places: list[int]) -> Listener:
        """Passes events on, epochs as they will stand in the history of the run, and how many are over by then."""
        total = count_epochs(self.task.settings, self.task.refining)
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
        """Take up the member's checkpoint where there is one; the function returned writes one."""
        if self.folder is None:
            return ignore
        path = self.folder.artefact(f"checkpoint-{member.number}.pt" if member.number else "checkpoint.pt")
        if path.exists():
            load_learning(learning, path, member.name)
        return sparingly(lambda state: write_atomically(path, lambda file: save_learning(state, file, member.name)))


def sum_up_learnt(learning: Learning, logits: Tensor, label: Callable[[EpochRecord], EpochRecord]) -> Learnt:
    """What a network that has finished leaves behind, its records labelled."""
    history = learning.progress.history(learning.samples.n_frames)
    history = replace(history, records=tuple(label(record) for record in history.records))
    return Learnt(logits.half().cpu().numpy(), learning.priors(), history)


def count_at_once(task: Task, samples: SampleSet) -> int:
    """How many members learn side by side at full speed: on a CPU one a core, where each keeps to one."""
    training, kind = task.settings.training, samples.frames.device.type
    if task.settings.phases.estimation_epochs:
        return 1
    if kind == "cuda":
        return AT_ONCE_ON_GPU
    return free_cores() if kind == "cpu" and training.threads == 1 else 1


def mean_probability(learnt: list[Learnt] | tuple[Learnt, ...], samples: SampleSet) -> Tensor:
    """(T, h, w) mean of the members' probabilities, on the device."""
    return torch.stack(list(_probabilities(learnt, samples))).mean(0)


def recall(previous: PreviousRun, samples: SampleSet, task: Task) -> Tensor:
    """(T, h, w) mean probability of the networks of an earlier run, on the device; asked anew where it was not kept."""
    logits = [torch.from_numpy(values).to(samples.frames.device).float() for values in previous.logits]
    if not logits or any(values.shape != samples.labels.shape for values in logits):
        logits = [
            stages.prepare_learning(task, samples, task.seed, start=weights).predict()
            for weights in previous.model.weights
        ]
    return torch.stack([torch.sigmoid(values) for values in logits]).mean(0)


def estimate_priors(learnt: tuple[Learnt, ...], samples: SampleSet) -> PriorEstimate:
    """A single member's own estimate; of several or later ones, the share they agree on and how far they differ.

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
    """One history of all members, in order; the epoch that one of them selected is kept where no other did."""
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


def label_record(record: EpochRecord, *, member: Member, settings: Settings, done: int) -> EpochRecord:
    """The record with its epoch counted on from `done`, and its phase named after the member."""
    refinement = settings.refinement
    of_several = (member.refining or (refinement.round_networks if member.round else refinement.networks)) > 1
    phase = "refinement" if member.refining else f"round {member.round}" if member.round else record.phase
    return replace(
        record,
        epoch=done + record.epoch,
        phase=f"{phase}, network {member.number + 1}" if of_several else phase,
    )


def save_learnt(learnt: Learnt, file: BinaryIO) -> None:
    history, priors = learnt.history, learnt.priors
    np.savez(
        file,
        logits=learnt.logits,
        prior=np.stack([priors.mean, priors.deviation, priors.observed]),
        rows=np.stack([history.priors, history.observed, history.positive_share]),
        records=json.dumps([asdict(record) for record in history.records]),
        selected_epoch=history.selected_epoch,
        **{f"{WEIGHTS}{name}": values for name, values in learnt.weights.items()},
    )


def load_learnt(path: Path) -> Learnt:
    with np.load(path) as stored:
        records = tuple(EpochRecord(**record) for record in json.loads(str(stored["records"])))
        history = PriorHistory(records, *stored["rows"], int(stored["selected_epoch"]))
        weights = {name.removeprefix(WEIGHTS): stored[name] for name in stored.files if name.startswith(WEIGHTS)}
        return Learnt(stored["logits"], PriorEstimate(*stored["prior"]), history, weights)


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
