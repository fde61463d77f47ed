"""The networks of a run on several objects: each has a logit for every object."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

import torch
from torch import Tensor

from fewpoint.core import PriorHistory, ignore
from fewpoint.io.atomic import write_atomically
from fewpoint.io.runs import RunFolder
from fewpoint.learning.checkpoints import load_joint, save_joint, sparingly
from fewpoint.learning.joint import JointLearning, share_out
from fewpoint.learning.targets import Targets, find_excess
from fewpoint.pipeline import stages
from fewpoint.pipeline.members import (
    Learnt,
    Member,
    Rounds,
    is_kept,
    join_histories,
    label_record,
    load_learnt,
    plan_members,
    save_learnt,
    sum_up_learnt,
)


@dataclass(frozen=True, eq=False)
class JointLearnt:
    """What is known of one object: the members whose mean its masks are made of, and the history of all."""

    members: tuple[Learnt, ...]
    history: PriorHistory


@dataclass(eq=False)
class JointRounds:
    """Trains members as Rounds does, for all objects at once.

    parts: the rounds of each object alone, whose targets and samples are used.
    """

    parts: tuple[Rounds, ...]
    folder: RunFolder | None

    def run(self) -> tuple[tuple[JointLearnt, ...], bool]:
        """What was learnt of each object, and whether all was found finished."""
        task = self.parts[0].task
        learnt: list[tuple[Learnt, ...]] = []  # of the present round, one entry a member, in which one an object
        kept: list[tuple[Learnt, ...]] = []
        histories: list[tuple[PriorHistory, ...]] = []
        reused, targets = True, None
        for members in plan_members(task.settings, task.seed):
            if learnt:
                targets = self._make_targets(learnt, members[0].round == 1)
            learnt = []
            for member in members:
                results, found = self._obtain(member, targets, histories)
                reused &= found
                learnt.append(results)
                histories.append(tuple(result.history for result in results))
            kept += learnt if is_kept(members[0], task.settings) else []
        by_object = zip(zip(*kept, strict=True), zip(*histories, strict=True), strict=True)
        return tuple(JointLearnt(own, join_histories(list(courses))) for own, courses in by_object), reused

    def _make_targets(self, learnt: list[tuple[Learnt, ...]], from_points: bool) -> list[Targets]:
        by_object = zip(*learnt, strict=True)
        targets = [part.make_targets(list(own), from_points) for part, own in zip(self.parts, by_object, strict=True)]
        return share_out(targets)

    def _obtain(
        self, member: Member, targets: list[Targets] | None, histories: list[tuple[PriorHistory, ...]]
    ) -> tuple[tuple[Learnt, ...], bool]:
        """The member's results, one an object, and whether they were found; `histories` of members before it."""
        names = [f"{member.name}-{number}.npz" for number in range(1, len(self.parts) + 1)]
        paths = [] if self.folder is None else [self.folder.artefact(name) for name in names]
        if paths and all(path.exists() for path in paths):
            return tuple(map(load_learnt, paths)), True
        tasks = tuple(part.task for part in self.parts)
        samples = tuple(part.samples_of(member) for part in self.parts)
        learning = stages.prepare_joint(tasks, samples, member.seed, targets)
        label = partial(label_record, member=member, settings=tasks[0].settings)
        before = [sum(len(each[number]) for each in histories) for number in range(len(tasks))]
        longest = max(before)
        learning.run(
            self.parts[0].told(partial(label, done=longest), longest, [longest]), self._checkpoint(learning, member)
        )
        predicted = self._fit_sizes(learning.predict(), targets)
        results = tuple(
            sum_up_learnt(course, logits, partial(label, done=done))
            for course, logits, done in zip(learning.courses, predicted, before, strict=True)
        )
        for path, result in zip(paths, results, strict=False):
            write_atomically(path, lambda file, result=result: save_learnt(result, file))
        return results, False

    def _fit_sizes(self, predicted: tuple[Tensor, ...], targets: list[Targets] | None) -> tuple[Tensor, ...]:
        """The logits of each object at the size that its targets have, over the sequence and frame by frame."""
        if targets is None:
            return predicted
        return tuple(
            part.fit_frames(logits - find_excess(torch.sigmoid(logits), own, part.samples), own)
            for part, logits, own in zip(self.parts, predicted, targets, strict=True)
        )

    def _checkpoint(self, learning: JointLearning, member: Member) -> Callable[[JointLearning], None]:
        """Take up the member's checkpoint where there is one; the function returned writes one."""
        if self.folder is None:
            return ignore
        path = self.folder.artefact("checkpoint.pt")
        if path.exists():
            load_joint(learning, path, member.name)
        return sparingly(lambda state: write_atomically(path, lambda file: save_joint(state, file, member.name)))
