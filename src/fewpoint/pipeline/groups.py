"""Several objects in one run: those that lie close enough learn together, the others one group after another."""

from collections.abc import Callable
from dataclasses import replace
from itertools import combinations

from fewpoint.core import (
    AnySegmentation,
    AreaBound,
    EpochFinished,
    LabelledSegmentation,
    Listener,
    Message,
    Segmentation,
    StepsTaken,
    label_objects,
)
from fewpoint.core.progress import Event
from fewpoint.io.runs import RunFolder
from fewpoint.pipeline.bounds import estimate_bound
from fewpoint.pipeline.config import Settings, as_table
from fewpoint.pipeline.costs import StageLog
from fewpoint.pipeline.exports import join_results
from fewpoint.pipeline.focus import Focus
from fewpoint.pipeline.task import Task

COARSER = 1.5  # times, from which on an object is worth a network of its own

Names = tuple[str, ...]
# Runs the objects of one group and gives the result and the settings as used.
RunGroup = Callable[[Task, RunFolder | None], tuple[AnySegmentation, Settings]]


def group_objects(task: Task) -> tuple[Names, ...]:
    """The names of the objects that learn together, each once, in order.

    Two groups become one, the closest first, where no object is then worked on more than COARSER times coarser than in
    a run of its own.
    """
    wholes = {name: task.of_object(name) for name in task.points.object_names}
    own = {name: find_focus(whole, guess_bound(whole)) for name, whole in wholes.items()}
    groups = [(name,) for name in own]
    while len(groups) > 1:
        pairs = combinations(groups, 2)
        loss, one, other = min((_coarsening(own, a + b, task.settings.training.max_side), a, b) for a, b in pairs)
        if loss > COARSER:
            break
        groups = [group for group in groups if group not in (one, other)] + [tuple(sorted(one + other))]
    return tuple(sorted(groups))


def guess_bound(task: Task) -> AreaBound:
    """The bound of a task on one object: that given, or one estimated, for which clicks are followed."""
    return task.bound or estimate_bound(task.sequence, task.points)


def find_focus(task: Task, bound: AreaBound) -> Focus:
    """The part of the frames that a run on one object would work on."""
    return Focus.find(task.points, task.sequence.size, bound, task.settings.clicks.focus)


def _coarsening(own: dict[str, Focus], names: Names, max_side: int) -> float:
    """How many times coarser than alone the worst off of some objects is worked on together with the others."""
    together = max(max_side, Focus.round_all([own[name] for name in names]).longer_side)
    return max(together / max(max_side, own[name].longer_side) for name in names)


def run_groups(
    task: Task, groups: tuple[Names, ...], folder: RunFolder | None, log: StageLog, run: RunGroup
) -> tuple[LabelledSegmentation, Settings]:
    """The result for all objects, of which each group learns by itself, and the settings as asked for.

    Artefacts, schedule and settings of each group stand in a part of the folder of their own.
    """
    note = f"objects lie far apart and learn in {len(groups)} groups: {'; '.join(map(', '.join, groups))}"
    log.listener(Message(note))
    outer, found, shortened = log.listener, {}, []
    for number, names in enumerate(groups):
        log.listener = _tell_as_one(outer, number, len(groups))
        log.start_turn(len(groups) - number)
        part = None if folder is None else folder.part(f"group-{number + 1}")
        outer(Message(f"group {number + 1} of {len(groups)}: {', '.join(names)}"))
        result, settings = run(task.of_objects(names), part)
        found.update(_by_name(result, names))
        shortened += [f"{', '.join(names)}: {log.note}"] if log.note else []
        if part is not None and not folder.finished:
            part.write_manifest("running", {"objects": list(names), "settings": as_table(settings)})
    log.listener, log.note = outer, "; ".join(shortened)
    every = task.points.object_names
    clicks = tuple(task.points.of_object(name) for name in every)
    joined = join_results(label_objects(every), tuple(found[name] for name in every), clicks)
    return replace(joined, notes=(note, *joined.notes)), task.settings


def _by_name(result: AnySegmentation, names: Names) -> dict[str, Segmentation]:
    return {names[0]: result} if isinstance(result, Segmentation) else {name: result[name] for name in names}


def _tell_as_one(listener: Listener, number: int, count: int) -> Listener:
    """Epochs of a group told as those of the whole run; the other groups are taken to be as long as this one."""

    def tell(event: Event) -> None:
        match event:
            case StepsTaken(epoch=epoch, total=total):
                event = replace(event, epoch=number * total + epoch, total=count * total)
            case EpochFinished(total=total):
                event = replace(event, total=count * total, done=number * total + event.epochs_done)
        listener(event)

    return tell
