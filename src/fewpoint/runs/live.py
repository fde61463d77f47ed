"""Masks at once, while a person is still marking: without learning, and without torch.

Before anything is learnt, masks come from the image alone and are rough. Once a run has finished, they come from what
its networks said, corrected by what has been said since.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from fewpoint.core import NOTHING_SAID, ImageSequence, PointSet, ProbabilityMaps, Words
from fewpoint.core.obeying import obey
from fewpoint.errors import InputError
from fewpoint.io.decoding import load_array
from fewpoint.learning.motion import carry_points
from fewpoint.methods.default import ACCURATE
from fewpoint.pipeline.bounds import estimate_bound
from fewpoint.pipeline.focus import Focus
from fewpoint.pipeline.masks import Smoother, Surroundings, choose_labels, find_touched, keep_untouched
from fewpoint.pipeline.previous import PreviousGroup, PreviousRun
from fewpoint.pipeline.rough import DIFFUSION, RoughLooks, guess
from fewpoint.pipeline.task import Task
from fewpoint.runs.previous import find_stages, load_previous
from fewpoint.superpixels.diffusion import DiffusionSettings
from fewpoint.superpixels.regions import labelled_regions, paint_regions

PROBABILITIES = "probabilities.npy"


class Live:
    """Answers to a person's words about one sequence. Preparing it takes seconds, each answer less than one."""

    def __init__(self, sequence: ImageSequence) -> None:
        self.sequence = sequence
        self._rough = RoughPart(sequence)
        self._run: PreviousRun | None = None
        self._parts: tuple[LearntPart, ...] = ()

    @property
    def rough(self) -> bool:
        """Whether answers come from the image alone, as no run has finished yet."""
        return self._run is None

    def take(self, run: Path) -> None:
        """Answer from now on by what the networks of a finished run said; run: its folder."""
        previous = load_previous(run)
        given = zip(previous.groups, find_stages(run), strict=True)
        parts = tuple(LearntPart.load(self.sequence, previous, group, stages) for group, stages in given)
        self._run, self._parts = previous, parts

    def answer(self, points: PointSet, words: Mapping[str, Words]) -> dict[str, np.ndarray]:
        """(T, H, W) bool masks of each object by its name, "" for a single object without one."""
        names = points.object_names or ("",)
        said = tuple((name, words[name]) for name in names if name in words)
        found = self._answer_learnt(Task(self.sequence, points, None, ACCURATE, words=said))
        taken = np.zeros((len(self.sequence), *self.sequence.size), bool)
        for mask in found.values():
            taken |= mask
        for name in names:
            if name not in found:
                own = points.of_object(name) if len(names) > 1 else points
                found[name] = self._rough.answer(own, words.get(name, NOTHING_SAID)) & ~taken
                taken |= found[name]
        return {name: found[name] for name in names}

    def _answer_learnt(self, task: Task) -> dict[str, np.ndarray]:
        """The masks of the objects that the run knows."""
        run = self._run
        if run is None:
            return {}
        task = replace(task, settings=run.settings, previous=run)
        found = {}
        for names in run.group_names(task.object_names):
            own = task.of_objects(names)
            part = next(each for each in self._parts if own.previous and each.group.box == own.previous.groups[0].box)
            found |= dict(zip(names, part.answer(own), strict=True))
        return found


class RoughPart:
    """Objects of which nothing has been learnt yet."""

    def __init__(self, sequence: ImageSequence) -> None:
        self.sequence = sequence
        self.looks = RoughLooks.of(sequence)
        self.near = Surroundings(sequence, self.looks.superpixels, DIFFUSION)
        self.near.prepare()
        self.looks.prepare()

    def answer(self, points: PointSet, words: Words) -> np.ndarray:
        """(T, H, W) bool masks of one object, whose points have no name or all the same."""
        near, superpixels = self.near, self.looks.superpixels
        bound = estimate_bound(self.sequence, points)
        said = (((points.object_names or ("",))[0], words),)
        task = Task(self.sequence, points, bound, ACCURATE, words=said)
        means = guess(self.looks, points, near.areas, near.frames, bound.fraction)
        smoother = Smoother(near, *labelled_regions(superpixels, points, points, words))
        maps = ProbabilityMaps(paint_regions(superpixels, means.astype(np.float16)))
        return choose_labels({"": task}, superpixels, (maps,), (smoother,)).labels == 1


@dataclass(frozen=True, eq=False)
class LearntPart:
    """Objects of a finished run that learnt together, and all that their masks are made of.

    carried: of each object, where motion carried its points to, inside the focus; nothing if they are not known.
    """

    group: PreviousGroup
    focus: Focus
    near: Surroundings
    maps: tuple[ProbabilityMaps, ...]
    carried: tuple[PointSet, ...]

    @classmethod
    def load(cls, sequence: ImageSequence, run: PreviousRun, group: PreviousGroup, stages: Path) -> "LearntPart":
        path, plan = stages / PROBABILITIES, run.settings.plan()
        if group.superpixels is None or not path.is_file():
            raise InputError(f"{stages} must hold what the run found, some of it was removed; run again")
        focus = Focus(sequence.size, *group.box)
        inside = focus.crop(sequence)
        near = Surroundings(inside, group.superpixels, plan.diffusion or DiffusionSettings())
        near.prepare()
        own = run.of_objects(group.objects)
        points = () if own is None or own.points is None else own.points.split()
        carried = tuple(carry_points(inside, focus.narrow_points(each), plan.clicks.carry) for each in points)
        return cls(group, focus, near, tuple(map(ProbabilityMaps, load_array(path, "probabilities"))), carried)

    def answer(self, task: Task) -> list[np.ndarray]:
        """(T, H, W) bool masks of each object of a task on some objects of this part, in order."""
        names, touched = task.object_names, find_touched(task)
        alone = {name: task.of_object(name) for name in names}
        labels = self.group.choose(names).labels
        if touched or labels is None:
            labels = self._choose({name: self._narrow(own) for name, own in alone.items()}, touched)
        whole = self.focus.paste(labels)
        masks = (whole == number for number in range(1, len(names) + 1))
        return [obey(mask, own.points, own.own_words) for mask, own in zip(masks, alone.values(), strict=True)]

    def _narrow(self, task: Task) -> Task:
        return self.focus.narrow(replace(task, points=self.focus.drop_outside(task.points)))

    def _choose(self, tasks: dict[str, Task], touched: frozenset[str]) -> np.ndarray:
        """(T, h, w) labels inside the focus."""
        known = self.group.objects
        rows = [0 if len(known) == 1 else known.index(name) for name in tasks]
        levels = tuple(self.group.levels[row] if self.group.levels else 0.0 for row in rows)
        smoothers = tuple(self._smooth(row, task) for row, task in zip(rows, tasks.values(), strict=True))
        maps = tuple(self.maps[row] for row in rows)
        chosen = choose_labels(tasks, self.near.superpixels, maps, smoothers, levels)
        return keep_untouched(chosen.labels, tasks, touched)

    def _smooth(self, row: int, task: Task) -> Smoother:
        """What evens out an object's probabilities: its points, and where those of the run were carried to."""
        carried = task.points.joined(self.carried[row]) if self.carried else task.points
        return Smoother(self.near, *labelled_regions(self.near.superpixels, task.points, carried, task.own_words))
