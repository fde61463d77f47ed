"""From probabilities to masks: sizes are settled, words obeyed, and masks cut pixel by pixel; free of torch.

The same steps make the masks of a run and, while a person is still marking, those that answer each word at once.
"""

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from scipy.special import expit, logit

from fewpoint.core import NOTHING_SAID, ImageSequence, PointSet, ProbabilityMaps, SuperpixelMap, Words
from fewpoint.core.labels import share_pixels
from fewpoint.core.paging import gather_frames, make_frames, walk
from fewpoint.pipeline.cleaning import clean_labels, drop_untied
from fewpoint.pipeline.contradiction import find_contradiction
from fewpoint.pipeline.cutting import Awaited, Evidence, SettledObject, claim_frame, cut_labels, fix_regions
from fewpoint.pipeline.previous import Cut
from fewpoint.pipeline.task import Task
from fewpoint.superpixels.correction import RegionTraits, describe_regions, find_change, find_shift
from fewpoint.superpixels.diffusion import DiffusionSettings, Flow, RegionLinks, diffuse, link_regions
from fewpoint.superpixels.regions import (
    frame_of_region,
    labelled_regions,
    outlined_regions,
    paint_frames,
    region_areas,
    region_probabilities,
    regions_at_negatives,
    regions_at_points,
)
from fewpoint.superpixels.sizing import find_level, level_of_area, limit_growth, shift_to_factor
from fewpoint.tracking.paths import track
from fewpoint.witness.heard import Heard

Tasks = dict[str, Task]  # objects that learn together, by name: one task each, on the same frames

SUREST = 1e-4  # probabilities are kept this far from 0 and 1
MOST_OUTLINED = 12  # regions on each side of an outline that a correction heeds: those that are most wrong
OUTLINE_STEP = 0.25
LARGEST_LEVEL = 1.5  # of an outline, if the bound is not in doubt
NEAR_FRAMES = 8.0  # over which an outlined frame says something about the level of others, whatever the bound
UNLIKE = 0.05  # F1 that a mask at the best level may lack of an outline
ODD = 0.25  # by how much, as a logarithm, a frame's size may differ from the usual one
DOUBTED_LEVELS = 3.0  # by how much the level of all frames may be off, for each unit of doubt about the bound


@dataclass(frozen=True, eq=False)
class Surroundings:
    """What all objects of a sequence share: superpixels, how values flow between them, and how they look."""

    sequence: ImageSequence
    superpixels: SuperpixelMap
    settings: DiffusionSettings

    def prepare(self) -> None:
        """Find out now what the first answer would find out else."""
        _ = self.links, self.traits, self.areas, self.frames, self.last_flow

    @cached_property
    def links(self) -> RegionLinks:
        return link_regions(self.sequence, self.superpixels, self.settings.contrast)

    @cached_property
    def last_flow(self) -> Flow:
        """Along which values are evened out for the last masks, kept for whoever makes them again and again."""
        return self.make_last_flow()

    def make_last_flow(self) -> Flow:
        """The same, which is as large as all links, for whoever needs it once."""
        return Flow.of(self.links, self.settings.last_pull, self.settings)

    @cached_property
    def traits(self) -> RegionTraits:
        return describe_regions(self.sequence, self.superpixels)

    @cached_property
    def areas(self) -> np.ndarray:
        """(total,) in pixels."""
        return region_areas(self.superpixels).astype(np.float64)

    @cached_property
    def frames(self) -> np.ndarray:
        """(total,) frame of each region."""
        return frame_of_region(self.superpixels)

    def radius_of(self, scores: np.ndarray) -> float:
        """Of a disc as large as what (total,) scores mark on the usual frame, in pixels."""
        marked = scores >= 0
        area = self.areas[marked].sum() / max(1, len(np.unique(self.frames[marked])))
        return math.sqrt(max(area, 4 * self.areas.mean()) / math.pi)

    def find_real(self, regions: int) -> np.ndarray:
        """(T, regions) bool, which of as many places on each frame are regions."""
        return np.arange(regions) < self.superpixels.counts[:, np.newaxis]


@dataclass(frozen=True, eq=False)
class Smoother:
    """Evens out the probabilities of one object's superpixels along the image.

    seeds: global regions that are surely the object. refused: those that surely are not. last_flow: along which it is
    done for the last masks, if that is known already.
    """

    surroundings: Surroundings
    seeds: np.ndarray
    refused: np.ndarray
    last_flow: Flow | None = None

    @property
    def settings(self) -> DiffusionSettings:
        return self.surroundings.settings

    def even_out(self, pooled: np.ndarray) -> np.ndarray:
        """(T, regions) probabilities for the targets of a round, zero where a frame has no such region."""
        links, pull = self.surroundings.links, self.settings.pull

        def even_out(values: np.ndarray) -> np.ndarray:
            return diffuse(links, values, self.seeds, pull, self.settings, refused=self.refused)

        return self.on_real(pooled, even_out)

    def even_out_last(self, means: np.ndarray) -> np.ndarray:
        """(total,) probabilities for the last masks."""
        flow = self.last_flow or self.surroundings.make_last_flow()
        return flow.even_out(means, self.seeds, self.refused)

    def find_level(self, means: np.ndarray, doubt: float, area: float | None = None) -> float:
        """The level of the logits of (total,) probabilities at which the object ends according to the image.

        doubt: of the bound. area: expected in all, in pixels; None for what is at 0.5 or above.
        """
        near, scores = self.surroundings, _logits(self.even_out_last(means))
        expected = 0.0 if area is None else level_of_area(scores, near.areas, area)
        areas = near.areas.copy()
        areas[np.concatenate([self.seeds, self.refused])] = 0  # what was said outright is the same at every level
        return expected + find_level(near.links, scores - expected, areas, doubt)

    def on_real(self, pooled: np.ndarray, work: Callable[[np.ndarray], np.ndarray]) -> np.ndarray:
        """(T, regions) values with the work done on those of regions that there are, (total,)."""
        real = self.surroundings.find_real(pooled.shape[1])
        result = np.zeros_like(pooled)
        result[real] = work(pooled[real])
        return result


def build_smoothers(tasks: Tasks, superpixels: SuperpixelMap, carried: tuple[PointSet, ...]) -> tuple[Smoother, ...]:
    """What evens out each object's probabilities along the image; all share the links between superpixels.

    A refinement settles its targets and then its masks, all along the same flow.
    """
    first = next(iter(tasks.values()))
    shared = Surroundings(first.sequence, superpixels, first.plan.diffusion or DiffusionSettings())
    labelled = (
        labelled_regions(superpixels, task.points, own, task.own_words)
        for task, own in zip(tasks.values(), carried, strict=True)
    )
    flow = None if first.previous is None else shared.last_flow
    return tuple(Smoother(shared, seeds, refused, flow) for seeds, refused in labelled)


@dataclass(frozen=True, eq=False)
class Settled:
    """scores: (total,) of an object's regions, 0 or above in its mask. cut: how they came about."""

    scores: np.ndarray
    cut: Cut


def settle(task: Task, means: np.ndarray, smoother: Smoother, cut: Cut | None = None) -> Settled:
    """What the (total,) mean probabilities of networks amount to, once size and words are heeded.

    cut: None for networks that have learnt from every word from scratch: a click that they still contradict is then
    left to itself, and the size is found out unless a person gave it.
    """
    near, words = smoother.surroundings, task.own_words
    if cut is None:
        doubt = task.settled_bound.doubt
        cut = Cut(smoother.find_level(means, doubt) if doubt else 0.0, corrected=False)
    unheard = _logits(means) - cut.level
    scores = unheard - _levels_of_outlines(unheard, words, near, task.settled_bound.doubt)[near.frames]
    if cut.corrected:
        scores += _heed_places(task, scores, near, cut)
    scores = limit_growth(unheard, scores, near.areas, near.frames, _frames_told_larger(task, unheard, near))
    scores = _logits(smoother.even_out_last(expit(scores)))
    return Settled(scores + _heed_sizes(scores, words, near), cut)


def _heed_places(task: Task, scores: np.ndarray, near: Surroundings, cut: Cut) -> np.ndarray:
    """(total,) change of the scores by clicks and outlined frames that they contradict. cut: of the run before."""
    positive, negative = _marked_regions(task.points, near)
    inside, outside = outlined_regions(near.superpixels, task.own_words)
    positive = np.union1d(np.setdiff1d(positive, outside), _most_wrong(inside, -scores, near.areas))
    negative = np.union1d(np.setdiff1d(negative, inside), _most_wrong(outside, scores, near.areas))
    if (scores[positive] >= 0).all() and (scores[negative] <= 0).all():
        return np.zeros(len(scores))
    shift = _shift_by_words(task, scores, near, (positive, negative), cut)
    scores = scores - shift
    return find_change(near.traits, scores, positive, negative, near.radius_of(scores)) - shift


def level_of_words(task: Task, means: np.ndarray, near: Surroundings, cut: Cut) -> float:
    """By how much the logits of (total,) mean probabilities are too high, going by words since the run before.

    cut: of that run.
    """
    if task.previous is None or task.previous.points is None:
        return 0.0
    now, then = _marked_regions(task.points, near), _marked_regions(task.previous.points, near)
    new = np.setdiff1d(now[0], then[0]), np.setdiff1d(now[1], then[1])
    return _shift_by_words(task, _logits(means), near, new, cut)


def _marked_regions(points: PointSet, near: Surroundings) -> tuple[np.ndarray, np.ndarray]:
    """Regions under clicks, and under negatives, each once."""
    return np.unique(regions_at_points(near.superpixels, points)), regions_at_negatives(near.superpixels, points)


def _shift_by_words(
    task: Task, scores: np.ndarray, near: Surroundings, marked: tuple[np.ndarray, np.ndarray], cut: Cut
) -> float:
    """By how much all scores are too high. marked: regions on the object, and beside it. cut: of the run before."""
    doubt = 0.0 if task.own_words.outlined else task.settled_bound.doubt  # outlines have said how large it is
    if not doubt:
        return 0.0
    covered, excess = near.areas[scores >= 0].sum(), find_contradiction(task, cut).excess
    if covered and excess is not None:
        return level_of_area(scores, near.areas, covered * math.exp(-excess))
    before = _regions_learnt_first(task, near)
    missed, leaked = before[scores[before] < 0], before[scores[before] > 0]
    positive, negative = np.setdiff1d(marked[0], missed), np.setdiff1d(marked[1], leaked)
    return find_shift(scores[positive], scores[negative], doubt)


def _regions_learnt_first(task: Task, near: Surroundings) -> np.ndarray:
    """Regions under the points that networks learnt from scratch from.

    Where they still contradict one, something is unusual, and that says nothing about how large all of the object is.
    """
    points = None if task.previous is None else task.previous.started
    if points is None:
        return np.zeros(0, np.int64)
    return np.concatenate([regions_at_points(near.superpixels, points), regions_at_negatives(near.superpixels, points)])


def _frames_told_larger(task: Task, scores: np.ndarray, near: Surroundings) -> np.ndarray:
    """Frames that are outlined, or on which a click lies on what the scores do not mark."""
    clicked = regions_at_points(near.superpixels, task.points)
    missed = near.frames[clicked[scores[clicked] < 0]]
    return np.union1d(missed, np.array(list(task.own_words.outlined), int))


def _most_wrong(regions: np.ndarray, wrongness: np.ndarray, areas: np.ndarray) -> np.ndarray:
    """The regions, MOST_OUTLINED at most, whose wrongness above 0 times area is largest."""
    wrong = regions[wrongness[regions] > 0]
    return wrong[np.argsort(-(wrongness * areas)[wrong], kind="stable")[:MOST_OUTLINED]]


def _levels_of_outlines(scores: np.ndarray, words: Words, near: Surroundings, doubt: float) -> np.ndarray:
    """(T,) levels at which outlined frames say that the object ends.

    The level of an outlined frame is the one at which the mask cut from it is most like the outline. The less like it
    that mask is even so, and the more its size was unlike that on other frames, the less its level says. Levels are
    taken to differ from 0 by as much on all frames as the bound is doubted, and by more or less on frames near each
    other: what is expected of them, given those of the outlined frames, is a regression on a Gaussian process.
    """
    n_frames = len(near.superpixels.counts)
    inside, _ = outlined_regions(near.superpixels, replace(words, boxes=()))
    frames = [frame for frame, runs in words.outlined.items() if runs]  # an empty one says nothing about sizes
    if not frames:
        return np.zeros(n_frames)
    covered = np.bincount(near.frames, near.areas * (scores >= 0), n_frames)
    usual = np.median(covered[covered > 0]) if covered.any() else 1.0
    steps = round((LARGEST_LEVEL + DOUBTED_LEVELS * doubt) / OUTLINE_STEP)
    asked = OUTLINE_STEP * np.arange(-steps, steps + 1)  # level 0 among them
    levels, noise = [], []
    for frame in frames:
        here = near.superpixels.on_frame(frame)
        truth = np.isin(np.arange(here.start, here.stop), inside)
        level, likeness = _likest_level(scores[here], near.areas[here], truth, asked)
        odd = math.log(max(covered[frame], 1.0) / usual)
        levels.append(level)
        noise.append(1 + ((1 - likeness) / UNLIKE) ** 2 + (odd / ODD) ** 2)
    apart = np.arange(n_frames)[:, np.newaxis] - np.array(frames)
    shared = (DOUBTED_LEVELS * doubt) ** 2 + np.exp(-0.5 * (apart / NEAR_FRAMES) ** 2)
    return shared @ np.linalg.solve(shared[frames] + np.diag(noise), np.array(levels))


def _likest_level(scores: np.ndarray, areas: np.ndarray, truth: np.ndarray, levels: np.ndarray) -> tuple[float, float]:
    """The level at which scores cut out what has the largest F1 with the (n,) truth, and that F1.

    Of several levels it is the one nearest 0.
    """
    marked = scores >= levels[:, np.newaxis]
    hits = (areas * truth * marked).sum(1)
    f1 = 2 * hits / ((areas * marked).sum(1) + (areas * truth).sum())
    best = levels[f1 >= f1.max() - 1e-9]
    return float(best[np.abs(best).argmin()]), float(f1.max())


def _heed_sizes(scores: np.ndarray, words: Words, near: Surroundings) -> np.ndarray:
    """(total,) by how much scores rise for masks to be as many times larger as a person wants.

    A size for the sequence goes half by each frame, whose mask grows by as much as those of others, and half by scores,
    which says where there is more to be found.
    """
    rise = np.zeros(len(scores))
    if words.size != 1 and (scores >= 0).any():
        for frame in range(len(near.superpixels.counts)):
            here = near.superpixels.on_frame(frame)
            rise[here] = 0.5 * shift_to_factor(scores[here], near.areas[here], words.size)
        wanted = words.size * near.areas[scores >= 0].sum()
        rise -= level_of_area(scores + rise, near.areas, wanted)
    for frame, factor in words.sizes.items():
        here = near.superpixels.on_frame(frame)
        rise[here] += shift_to_factor(scores[here] + rise[here], near.areas[here], factor)
    return rise


@dataclass(frozen=True, eq=False)
class Chosen:
    """labels: (T, H, W) uint8, 0 or the number of an object from 1. ties: pixels as likely one object as another.

    cuts, probabilities: of each object, how its mask was cut, and from what at 0.5 before words were obeyed to the
    letter.
    """

    labels: np.ndarray
    ties: int
    cuts: tuple[Cut, ...]
    probabilities: tuple[ProbabilityMaps, ...]


def choose_labels(
    tasks: Tasks,
    superpixels: SuperpixelMap,
    probabilities: tuple[ProbabilityMaps, ...],
    smoothers: tuple[Smoother | None, ...],
    cuts: tuple[Cut | None, ...] | None = None,
    heard: tuple[Heard | None, ...] | None = None,
) -> Chosen:
    """The object that each pixel belongs to.

    An object's mask holds superpixels on tracked paths, or without tracking those at 0.5 or above, on no absent frame.
    smoothers: even out the probabilities first and heed words; without tracking, masks are then cut pixel by pixel.
    cuts: of each object, see settle. heard: what a witness said about each, heeded where masks are cut pixel by pixel.
    Clicked superpixels always belong to the mask, and those under a negative never:
    a person saw what is there. One that holds both belongs to it, but for the pixel of the negative. Outlined frames
    are exactly as drawn. Of the objects whose masks would hold a pixel, the likeliest gets it; of equally likely ones,
    the first. Masks cut pixel by pixel are left without specks and pinholes.
    """
    cuts = (None,) * len(tasks) if cuts is None else cuts
    heard = (None,) * len(tasks) if heard is None else heard
    given = zip(tasks.values(), probabilities, smoothers, cuts, heard, strict=True)
    made = [_claim(task, superpixels, maps, own, (cut, said)) for task, maps, own, cut, said in given]
    labels, ties = make_frames(superpixels.labels.shape, np.uint8), 0
    for place, of_frame in zip(walk(labels), zip(*(each.frames for each in made), strict=True), strict=True):
        place[:], tied = share_pixels(of_frame)
        ties += tied
    for number, task in enumerate(tasks.values(), start=1):
        if task.plan.diffusion is not None:
            clean_labels(labels, number, task.points, task.own_words)
            drop_untied(labels, number, task.points, task.own_words)
    return Chosen(labels, ties, tuple(each.cut for each in made), tuple(each.probabilities for each in made))


def await_labels(
    tasks: Tasks, evidence: tuple[Evidence, ...], smoothers: tuple[Smoother, ...], cuts: tuple[Cut, ...]
) -> Awaited:
    """The labels of choose_labels, of any frame or of all: sizes are settled and words heeded now, masks cut later.

    evidence: of each object, with the probabilities of its pixels if masks are not cut by pixel.
    """
    first = evidence[0]
    if any(task.plan.diffusion is None for task in tasks.values()):  # as on tracked paths, which need all frames
        maps = tuple(ProbabilityMaps(each.pixels) for each in evidence if each.pixels is not None)
        return Awaited.of(choose_labels(tasks, first.superpixels, maps, smoothers, cuts).labels)
    given = zip(tasks.values(), evidence, smoothers, cuts, strict=True)
    objects = [
        SettledObject(task, own, expit(settle(task, own.means, smoother, cut).scores), smoother.settings.blur)
        for task, own, smoother, cut in given
    ]
    return cut_labels(tuple(objects))


@dataclass(frozen=True, eq=False)
class Claim:
    """What one object claims of each frame, see claim_frame, with its probabilities and its cut, see Chosen."""

    frames: Iterator[np.ndarray]
    probabilities: ProbabilityMaps
    cut: Cut


def _claim(
    task: Task,
    superpixels: SuperpixelMap,
    probabilities: ProbabilityMaps,
    smoother: Smoother | None,
    found: tuple[Cut | None, Heard | None],
) -> Claim:
    cut, heard = found
    if smoother is None or task.plan.diffusion is None:
        regions = _claim_regions(task, superpixels, region_probabilities(superpixels, probabilities.values))
        return Claim(_claim_frames(task, superpixels, regions), probabilities, Cut())
    evidence = Evidence.of_maps(superpixels, probabilities)
    settled = settle(task, evidence.means, smoother, cut)
    own = SettledObject(task, evidence, expit(settled.scores), smoother.settings.blur)
    moved = own.walk_chances() if heard is None else heard.heed(own.walk_chances())
    maps = gather_frames(moved, superpixels.labels.shape, np.float16)
    maps[list(task.points.absent)] = 0
    claims = (own.claim(frame, chances) for frame, chances in enumerate(walk(maps)))
    return Claim(claims, ProbabilityMaps(maps), settled.cut)


def _claim_regions(task: Task, superpixels: SuperpixelMap, likely: np.ndarray) -> Iterator[np.ndarray]:
    """(H, W) float32 of each frame: f of a superpixel that is on a path or likely the object, else -inf."""
    likely[regions_at_negatives(superpixels, task.points)] = 0
    if task.plan.tracking is not None:
        tracks = track(likely, superpixels, task.points, task.settled_bound, settings=task.plan.tracking)
        selected = tracks.selected
    else:
        selected = likely >= 0.5
    return paint_frames(superpixels, np.where(selected, likely, -np.inf).astype(np.float32))


def _claim_frames(task: Task, superpixels: SuperpixelMap, frames: Iterator[np.ndarray]) -> Iterator[np.ndarray]:
    """What an object claims of each frame, see claim_frame; frames: the same before words are obeyed to the letter."""
    # A path may pass through a negative if nothing is pruned.
    fixed = paint_frames(superpixels, fix_regions(task, superpixels))
    for number, (likely, known) in enumerate(zip(frames, fixed, strict=True)):
        yield claim_frame(task, number, likely, known)


@dataclass(frozen=True)
class Touched:
    """words: the objects about which something was said since the run that is refined. lessons: those of them about
    which more was said than how large they should be, so that there is something to learn.
    """

    words: frozenset[str]
    lessons: frozenset[str]


def find_touched(task: Task) -> Touched:
    """The objects about which something was said since the run that is refined; all if that is not known.

    task: on all objects. A point on another object, though it is a negative of this one, says something about this one
    only if it lies in what was its mask.
    """
    names, previous = task.object_names, task.previous
    if previous is None or previous.points is None or previous.settings != task.settings:
        return Touched(frozenset(names), frozenset(names))
    said, before = dict(task.words), dict(previous.words_about(task.points))
    own = {name: (said.get(name, NOTHING_SAID), before.get(name, NOTHING_SAID)) for name in names}
    bounds, earlier = dict(task.own_bounds), previous.bounds_of(names)
    contradicted = set(map(previous.owner_of, _new_points(task.points, previous.points)))
    lessons = frozenset(
        name
        for name in names
        if name not in earlier
        or name in contradicted
        or (bounds.get(name, task.bound) or earlier[name]).fraction != earlier[name].fraction
        or task.points.marks_of(name) != previous.points.marks_of(name)
        or own[name][0].without_sizes != own[name][1].without_sizes
    )
    return Touched(lessons | {name for name, (now, then) in own.items() if now != then}, lessons)


def _new_points(points: PointSet, before: PointSet) -> list[tuple[int, int, int]]:
    """Frame, y and x of the points that were not there before."""
    known = set(map(tuple, before.coordinates.tolist()))
    return [(frame, y, x) for frame, y, x in points.coordinates.tolist() if (frame, y, x) not in known]


@dataclass(frozen=True, eq=False)
class Untouched:
    """Objects that nobody touched stay as they were, unless a word about another one says otherwise.

    before: (T, H, W) labels of the run that is refined. numbers: of these objects. others: tasks on those touched.
    """

    before: np.ndarray
    numbers: tuple[int, ...]
    others: tuple[Task, ...]

    @classmethod
    def find(cls, tasks: Tasks, touched: frozenset[str], shape: tuple[int, ...]) -> "Untouched | None":
        """None if there are none. tasks: on objects in order, which know the run. shape: of the labels made now."""
        previous = next(iter(tasks.values())).previous
        before = None if previous is None else previous.groups[0].labels
        numbers = tuple(number for number, name in enumerate(tasks, start=1) if name not in touched)
        if before is None or not numbers or before.shape != shape:
            return None
        return cls(before, numbers, tuple(task for name, task in tasks.items() if name in touched))

    def keep(self, frame: int, labels: np.ndarray) -> np.ndarray:
        """(H, W) labels of a frame, with these objects as they were."""
        then, claimed = self.before[frame], np.zeros(labels.shape, bool)
        for task in self.others:
            claimed |= _said_to_be(task, frame)
        now = np.where(np.isin(labels, self.numbers), np.uint8(0), labels)
        again = np.isin(then, self.numbers) & ~claimed
        now[again] = then[again]
        return now


def keep_untouched(labels: np.ndarray, tasks: Tasks, touched: frozenset[str]) -> np.ndarray:
    """Labels (T, H, W) in which objects that nobody touched are as they were, see Untouched; changed in place."""
    untouched = Untouched.find(tasks, touched, labels.shape)
    if untouched is not None:
        for frame, now in enumerate(labels):
            now[:] = untouched.keep(frame, now)
    return labels


def _said_to_be(task: Task, frame: int) -> np.ndarray:
    """(H, W) bool, where a person said outright that an object is on a frame."""
    size = task.sequence.size
    said = task.own_words.mask(frame, size) if frame in task.own_words.outlined else np.zeros(size, bool)
    rows = task.points.coordinates[task.points.frames == frame]
    said[rows[:, 1], rows[:, 2]] = True
    return said


def _logits(probabilities: np.ndarray) -> np.ndarray:
    return logit(np.clip(np.asarray(probabilities, np.float64), SUREST, 1 - SUREST))
