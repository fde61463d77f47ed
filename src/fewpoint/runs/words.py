"""What a job says besides points, with its files read: the words that a task carries."""

from dataclasses import replace

from fewpoint.core import Box, ImageSequence, ObjectResult, PointSet, Words
from fewpoint.core.job import EVERY, Bounds, GivenWords, Job, PlainPoints
from fewpoint.core.obeying import obey
from fewpoint.core.saying import SaidWords, add_words, agree, lies_in, name_objects, spread_words
from fewpoint.errors import InputError
from fewpoint.io.outlines import Outlines, read_outlines
from fewpoint.pipeline.previous import PreviousRun
from fewpoint.pipeline.task import Task


def read_words(
    job: Job, points: PointSet | None, previous: PreviousRun | None, sequence: ImageSequence
) -> tuple[PointSet, SaidWords]:
    """The points with what outlined frames add to them, and the words about each object; InputError if they disagree.

    points: None if outlined frames alone say where the objects are. A box that bounds an object is a word about its
    frame, too; one beside a click there is refused, unless the points are a project's, in which later words win.
    """
    said, added = dict(job.words or ()), dict(job.added_words)
    if job.words is None and previous is not None:
        said = dict(previous.words_about(points))
    names = name_objects(points, {**said, **added})
    words = spread_words(said, names)
    for name, box in _bound_boxes(job.bounds, names):
        if not (isinstance(job.points, PlainPoints) and _is_outside(points, name, box)):
            words[name] = add_words(words[name], boxes=(box,))
    outlines = read_outlines(
        ((name, file) for name, given in added.items() for file in given.outlined), names, sequence
    )
    words = add_given(words, added, outlines)
    return agree(points, words, len(sequence), sequence.size)


def add_given(words: dict[str, Words], added: dict[str, GivenWords], outlines: Outlines) -> dict[str, Words]:
    """Words by object with those that are given on top: first what is said of every object, then of each."""
    names, every = tuple(words), added.get(EVERY, GivenWords())
    if len(names) > 1 and every.boxes:
        raise InputError(f"a box needs the name of its object, there are {', '.join(names)}")
    for name in names:
        given = [every, *([added[name]] if name != EVERY and name in added else [])]
        for each in given:
            words = {**words, name: add_words(words[name], boxes=each.boxes, size=each.size, sizes=dict(each.sizes))}
        words = {**words, name: add_words(words[name], outlined=outlines.get(name, {}))}
    return words


def obey_words(found: ObjectResult, task: Task, name: str) -> ObjectResult:
    """What was found of an object, with masks that obey what was said of it and of the others."""
    others = tuple(words for other, words in task.words if other != name)
    own = task.of_object(name)
    return replace(found, masks=obey(found.masks, own.points, own.own_words, others))


def _bound_boxes(bounds: Bounds, names: tuple[str, ...]) -> list[tuple[str, Box]]:
    """The boxes that bound objects; one for all of several objects is drawn round none of them."""
    only = "".join(names) if len(names) == 1 else EVERY
    boxes = [(name or only, Box(*bound.box)) for name, bound in bounds if bound.box is not None]
    return [(name, box) for name, box in boxes if name in names]


def _is_outside(points: PointSet | None, name: str, box: Box) -> bool:
    """Whether a click on the object lies outside the box on its frame."""
    if points is None:
        return False
    clicked = zip(points.coordinates.tolist(), points.objects or (EVERY,) * len(points), strict=True)
    return any(frame == box.frame and own == name and not lies_in(box, y, x) for (frame, y, x), own in clicked)
