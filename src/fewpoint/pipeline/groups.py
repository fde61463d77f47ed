"""Several objects in one run: those that lie close enough learn together, the others one group after another."""

from collections.abc import Callable
from dataclasses import replace
from itertools import combinations

from fewpoint.core import EpochFinished, Listener, Message, StepsTaken
from fewpoint.core.progress import Event, ObjectsFound
from fewpoint.io.runs import RunFolder
from fewpoint.pipeline.costs import StageLog
from fewpoint.pipeline.focus import Focus
from fewpoint.pipeline.group import GroupOutcome, find_focus, guess_bound
from fewpoint.pipeline.kept import keep_found
from fewpoint.pipeline.task import Task

COARSER = 1.5  # times, above which an object is worth its own network

Names = tuple[str, ...]
RunGroup = Callable[[Names, Task, RunFolder | None], GroupOutcome]


def group_objects(task: Task) -> tuple[Names, ...]:
    """The names of the objects that learn together, each once, in order.

    Objects of a run to be refined stay together as they were; new ones are grouped among themselves.
    """
    names = task.object_names
    known = () if task.previous is None else task.previous.group_names(names)
    new = tuple(name for name in names if not any(name in group for group in known))
    return tuple(sorted((*known, *_group_near(task, new))))


def _group_near(task: Task, names: Names) -> list[Names]:
    """Merge groups, the closest first, as long as no object is worked on more than COARSER times coarser than alone."""
    if len(names) < 2:
        return [names] if names else []
    wholes = {name: task.of_object(name) for name in names}
    own = {name: find_focus(whole, guess_bound(whole)) for name, whole in wholes.items()}
    groups = [(name,) for name in own]
    while len(groups) > 1:
        pairs = combinations(groups, 2)
        loss, one, other = min((_coarsening(own, a + b, task.plan.training.max_side), a, b) for a, b in pairs)
        if loss > COARSER:
            break
        groups = [group for group in groups if group not in (one, other)] + [tuple(sorted(one + other))]
    return groups


def _coarsening(own: dict[str, Focus], names: Names, max_side: int) -> float:
    """How many times coarser the worst off of these objects is worked on together than alone."""
    together = max(max_side, Focus.round_all([own[name] for name in names]).longer_side)
    return max(together / max(max_side, own[name].longer_side) for name in names)


def run_groups(
    task: Task, groups: tuple[Names, ...], folder: RunFolder | None, log: StageLog, run: RunGroup
) -> list[GroupOutcome]:
    """What each group found, learning by itself; its artefacts are kept in its own folder."""
    log.listener(Message(describe_groups(groups)))
    outer, outcomes = log.listener, []
    epochs: dict[int, int] = {}
    for number, names in enumerate(groups):
        log.listener = _tell_as_one(outer, number, len(groups), epochs)
        own = None if folder is None else folder.group(f"group-{number + 1}")
        outer(Message(f"group {number + 1} of {len(groups)}: {', '.join(names)}"))
        outcomes.append(run(names, task.of_objects(names), own))
        if own is not None:
            keep_found(outcomes[-1], own)
        outer(ObjectsFound(outcomes[-1].objects))
    log.listener = outer
    return outcomes


def describe_groups(groups: tuple[Names, ...]) -> str:
    return f"objects train in {len(groups)} groups: {'; '.join(map(', '.join, groups))}"


def _tell_as_one(listener: Listener, number: int, count: int, epochs: dict[int, int]) -> Listener:
    """Report a group's epochs as those of the whole run; groups of unknown length count as long as this one.

    epochs: how many each group has, by number; known once it has reported one.
    """

    def tell(event: Event) -> None:
        if isinstance(event, StepsTaken | EpochFinished):
            own = epochs[number] = event.total
            before = sum(epochs.get(earlier, own) for earlier in range(number))
            total = before + (count - number) * own
            if isinstance(event, StepsTaken):
                event = replace(event, epoch=before + event.epoch, total=total)
            else:
                event = replace(event, total=total, done=before + event.epochs_done)
        listener(event)

    return tell
