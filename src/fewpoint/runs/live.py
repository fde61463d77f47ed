"""Masks at once, while a person is still marking: without learning, and without torch.

Before anything is learnt, masks come from the image alone and are rough. Once a run has finished, they come from what
its networks said, corrected by what has been said since.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from types import MappingProxyType

import numpy as np

from fewpoint.core import ImageSequence, PointSet, ProbabilityMaps, Words
from fewpoint.core.obeying import obey_on_frame
from fewpoint.core.paging import gather_frames, make_frames, walk
from fewpoint.core.threads import work_ahead
from fewpoint.errors import InputError
from fewpoint.io.decoding import load_array
from fewpoint.learning.motion import Motion
from fewpoint.methods.default import ACCURATE
from fewpoint.pipeline.bounds import estimate_bound
from fewpoint.pipeline.cutting import Awaited, Evidence
from fewpoint.pipeline.focus import Focus
from fewpoint.pipeline.masks import Smoother, Surroundings, Touched, Untouched, await_labels, find_touched
from fewpoint.pipeline.previous import Cut, PreviousGroup, PreviousRun
from fewpoint.pipeline.rough import DIFFUSION, SUPERPIXELS, USUAL_SHARE, RoughLooks, guess
from fewpoint.pipeline.smaller import Smaller
from fewpoint.pipeline.task import Task
from fewpoint.runs.previous import find_stages, load_previous
from fewpoint.superpixels.diffusion import DiffusionSettings
from fewpoint.superpixels.regions import labelled_regions
from fewpoint.witness.encoding import EncodedStore, describe_frames
from fewpoint.witness.models import load_features

PROBABILITIES = "probabilities.npy"
NOTHING_KNOWN: Mapping[str, np.ndarray] = MappingProxyType({})


class Live:
    """Answers to a person's words about one sequence. Preparing it takes seconds, each answer less than one.

    features: an installed pretrained model whose features rough masks are made of, "" for colours alone; preparing then
    takes as long as it needs to see each frame once, unless it has before. run: folder of a finished run to answer
    from; without one the image alone is prepared for.
    """

    def __init__(self, sequence: ImageSequence, features: str = "", run: Path | None = None) -> None:
        self.sequence, self._features = sequence, features
        self._run: PreviousRun | None = None
        self._parts: tuple[LearntPart, ...] = ()
        if run is None:
            _ = self._rough
        else:
            self.take(run)

    @cached_property
    def _rough(self) -> "RoughPart":
        return RoughPart(self.sequence, self._features)

    @property
    def rough(self) -> bool:
        """Whether answers come from the image alone, as no run has finished yet."""
        return self._run is None

    def take(self, run: Path) -> None:
        """Answer from now on by what the networks of a finished run said; run: its folder."""
        previous = load_previous(run)
        # What networks predicted is in the probabilities, and would be copied for every answer.
        previous = replace(previous, groups=tuple(replace(group, logits=(), first=()) for group in previous.groups))
        given = zip(previous.groups, find_stages(run), strict=True)
        parts = tuple(LearntPart.load(self.sequence, previous, group, stages) for group, stages in given)
        self._run, self._parts = previous, parts

    def forget(self) -> None:
        """Answer from the image alone again."""
        self._run, self._parts = None, ()

    def answer(
        self, points: PointSet, words: Mapping[str, Words], known: Mapping[str, np.ndarray] = NOTHING_KNOWN
    ) -> dict[str, np.ndarray]:
        """(T, H, W) bool masks of each object by its name, "" for a single object without one; see settle."""
        return self.settle(points, words, known).all()

    def settle(
        self, points: PointSet, words: Mapping[str, Words], known: Mapping[str, np.ndarray] = NOTHING_KNOWN
    ) -> "Answer":
        """Find out all that the masks of each object depend on, but cut none yet.

        known: (T, H, W) uint8 probabilities, 255 for 1, of objects that a run had begun to learn when it was stopped.
        """
        names = points.object_names or ("",)
        said = tuple((name, words[name]) for name in names if name in words)
        task = Task(self.sequence, points, None, ACCURATE, words=said)
        parts = self._settle_learnt(task)
        learnt = {name for part in parts for name in part.names}
        parts += [
            AnswerPart((name,), self._rough.settle(task.of_object(name), known.get(name)))
            for name in names
            if name not in learnt
        ]
        return Answer(task, tuple(parts))

    def _settle_learnt(self, task: Task) -> "list[AnswerPart]":
        """The objects that the run knows, by their names in the run."""
        run = self._run
        if run is None:
            return []
        task = replace(task, settings=run.settings, previous=run)
        touched = find_touched(task)
        found = []
        for names in run.group_names(task.object_names):
            part = next(each for each in self._parts if each.knows(names))
            found.append(AnswerPart(names, part.settle(names, task.of_objects(names), touched)))
        return found


@dataclass(frozen=True, eq=False)
class AnswerPart:
    """Some objects, and the (H, W) uint8 labels of each frame, 0 or the number of one of them from 1."""

    names: tuple[str, ...]
    labels: Awaited


@dataclass(frozen=True, eq=False)
class Answer:
    """What has been found out about all objects of a task; masks are cut from it, of one frame or of all."""

    task: Task
    parts: tuple[AnswerPart, ...]

    def on_frame(self, frame: int) -> dict[str, np.ndarray]:
        """(H, W) bool masks of each object by its name, the same that all has of this frame."""
        return self._part(frame, tuple(each.labels.on_frame(frame) for each in self.parts))

    def all(self) -> dict[str, np.ndarray]:
        """(T, H, W) bool masks of each object by its name."""
        masks = {name: make_frames(self.task.sequence.shape[:3], bool) for name in self._tasks}
        places = zip(*(walk(each) for each in masks.values()), strict=True)
        labels = zip(*(each.labels.all() for each in self.parts), strict=True)
        for frame, (own, found) in enumerate(zip(places, labels, strict=True)):
            for place, mask in zip(own, self._part(frame, found).values(), strict=True):
                place[:] = mask
        return masks

    @cached_property
    def _tasks(self) -> dict[str, Task]:
        """The task of each object by its name, in order."""
        return {name: self.task.of_object(name) for name in self.task.object_names}

    def _part(self, frame: int, labels: tuple[np.ndarray, ...]) -> dict[str, np.ndarray]:
        """The masks (H, W) of a frame, obeying plain words; a pixel in several goes to the first of them."""
        parted: dict[str, np.ndarray] = {}
        missing = self.task.sequence.missing
        taken = np.zeros(self.task.sequence.size, bool)
        for part, values in zip(self.parts, labels, strict=True):
            for number, name in enumerate(part.names, start=1):
                own = self._tasks[name]
                mask = (values == number) & ~taken
                mask[_places(own.points.negatives, frame)] = False
                mask[_places(own.points.coordinates, frame)] = True
                others = tuple(words for other, words in self.task.words if other != name)
                parted[name] = obey_on_frame(mask, frame, own.points, own.own_words, others)
                if missing is not None:
                    parted[name] = parted[name] & ~missing[frame]
                taken |= parted[name]
        return {name: parted[name] for name in self._tasks}


def _places(rows: np.ndarray, frame: int) -> tuple[np.ndarray, np.ndarray]:
    """y and x of those of (n, 3) rows that lie on a frame."""
    here = rows[rows[:, 0] == frame]
    return here[:, 1], here[:, 2]


def answer_clip(clip: ImageSequence, first: int, points: PointSet, words: Mapping[str, Words]) -> dict[str, np.ndarray]:
    """Rough masks (n, H, W) on n frames of a longer sequence; first: the number there of the first of them.

    points, words: about the longer sequence. Objects without a point on these frames have no masks.
    """
    end = first + len(clip)
    near = points.between(first, end)
    if near is None:
        return {}
    names = near.object_names or ("",)
    return Live(clip).answer(near, {name: words[name].between(first, end) for name in names if name in words})


class RoughPart:
    """Objects of which nothing has been learnt yet; what is coarse by nature is found at a smaller size."""

    def __init__(self, sequence: ImageSequence, features: str = "") -> None:
        seen = describe_frames(sequence, load_features(features), EncodedStore.usual()) if features else ()
        self.smaller = Smaller.of(sequence, SUPERPIXELS.max_side)
        self.sequence = self.smaller.shrink(sequence)
        self.looks = RoughLooks.of(self.sequence, seen)
        self.near = Surroundings(self.sequence, self.looks.superpixels, DIFFUSION)
        self.near.prepare()
        self.looks.prepare()

    def settle(self, task: Task, known: np.ndarray | None = None) -> Awaited:
        """Labels of the only object of a task. known: see Live.settle; None for the image alone."""
        small = self.smaller.take(task, self.sequence)
        labels = self._guess(small) if known is None else self._correct(small, known)
        return labels.then(lambda _, label: self.smaller.enlarge(label == 1).view(np.uint8))

    def _correct(self, task: Task, known: np.ndarray) -> Awaited:
        """Labels at the smaller size: what was known, corrected by what has been said since."""
        superpixels, points = self.looks.superpixels, task.points
        frames = work_ahead(lambda frame: self.smaller.shrink_map(frame / np.float32(255)), walk(known))
        maps = ProbabilityMaps(gather_frames(frames, superpixels.labels.shape, np.float16))
        smoother = _smooth(self.near, task, points)
        bounded = replace(task, bound=estimate_bound(self.sequence, points))
        evidence = Evidence.of_maps(superpixels, maps)
        return await_labels({"": bounded}, (evidence,), (smoother,), (Cut(corrected=True),))

    def _guess(self, task: Task) -> Awaited:
        """Labels at the smaller size, from the image alone."""
        near, superpixels, points = self.near, self.looks.superpixels, task.points
        bound = estimate_bound(self.sequence, points)
        # What an outline says about levels holds near it alone: elsewhere the image knows more than a guess.
        task = replace(task, bound=replace(bound, doubt=0.0))
        means = guess(self.looks, points, near.areas, near.frames, bound.fraction)
        smoother = _smooth(near, task, points)
        level = smoother.find_level(means, bound.doubt, USUAL_SHARE * bound.fraction * near.areas.sum())
        evidence = Evidence(superpixels, means.astype(np.float16).astype(np.float64))  # as precise as what is learnt
        return await_labels({"": task}, (evidence,), (smoother,), (Cut(level),))


@dataclass(frozen=True, eq=False)
class LearntPart:
    """Objects of a finished run that learnt together, and all that their masks are made of.

    evidence: what the networks said of each object. carried: of each object, where motion carried its points to, inside
    the focus; nothing if they are not known.
    """

    group: PreviousGroup
    focus: Focus
    near: Surroundings
    evidence: tuple[Evidence, ...]
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
        motion = Motion(inside, group.motion)
        carried = tuple(motion.carry(focus.narrow_points(each), plan.clicks.carry) for each in points)
        maps = map(ProbabilityMaps, load_array(path, "probabilities"))
        return cls(group, focus, near, tuple(Evidence.of_maps(group.superpixels, each) for each in maps), carried)

    def knows(self, names: tuple[str, ...]) -> bool:
        """Whether objects of the run with these names learnt here; a single one may have another name now."""
        return len(names) == len(self.group.objects) == 1 or set(names) <= set(self.group.objects)

    def settle(self, names: tuple[str, ...], task: Task, touched: Touched) -> Awaited:
        """Labels of some objects of this part, numbered from 1.

        names: what they are called in the run; in the task a single one may have no name. touched: see find_touched.
        """
        alone = {name: task.of_object(own) for name, own in zip(names, task.object_names, strict=True)}
        labels = self.group.choose(names).labels
        if touched.words & alone.keys() or labels is None:
            inside = self._settle({name: self._narrow(own) for name, own in alone.items()}, touched)
        else:
            inside = Awaited.of(labels)
        return inside.then(lambda _, values: self.focus.paste_frame(values))

    def _narrow(self, task: Task) -> Task:
        return self.focus.narrow(replace(task, points=self.focus.drop_outside(task.points)))

    def _settle(self, tasks: dict[str, Task], touched: Touched) -> Awaited:
        """Labels inside the focus."""
        known = self.group.objects
        rows = [0 if len(known) == 1 else known.index(name) for name in tasks]
        cuts = tuple(self.group.cuts[row] if self.group.cuts else Cut() for row in rows)
        cuts = tuple(
            replace(cut, corrected=cut.corrected or name in touched.lessons)
            for name, cut in zip(tasks, cuts, strict=True)
        )
        bounded = zip(rows, tasks.items(), strict=True)
        tasks = {name: replace(task, bound=self.group.bounds[row]) for row, (name, task) in bounded}
        smoothers = tuple(self._smooth(row, task) for row, task in zip(rows, tasks.values(), strict=True))
        labels = await_labels(tasks, tuple(self.evidence[row] for row in rows), smoothers, cuts)
        shape = self.near.superpixels.labels.shape
        untouched = Untouched.find(tasks, touched.words & tasks.keys(), shape)
        return labels if untouched is None else labels.then(untouched.keep)

    def _smooth(self, row: int, task: Task) -> Smoother:
        """What evens out an object's probabilities: its points, and where those of the run were carried to."""
        carried = task.points.joined(self.carried[row]) if self.carried else task.points
        return _smooth(self.near, task, carried)


def _smooth(near: Surroundings, task: Task, carried: PointSet) -> Smoother:
    """What evens out an object's probabilities. carried: its points, and where motion carried them to."""
    seeds, refused = labelled_regions(near.superpixels, task.points, carried, task.own_words)
    return Smoother(near, seeds, refused, near.last_flow)
