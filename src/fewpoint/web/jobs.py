"""What a run of a project does, in the process of its own: the same functions as `fewpoint segment`.

Objects are segmented one after another, each into a run folder of its own; a refinement is a run anew.
"""

from collections.abc import Callable
from pathlib import Path

from fewpoint.core import ImageSequence, Listener, Message
from fewpoint.core.progress import Event
from fewpoint.core.project import NamedObject, Project
from fewpoint.io.images import read_sequence
from fewpoint.io.projects import read_project
from fewpoint.io.runs import RunFolder
from fewpoint.pipeline import config
from fewpoint.pipeline.early import LastLook, finish_early
from fewpoint.web.orders import Order, result_folder, shown_folder
from fewpoint.web.shown import write_shown


class StoppedError(Exception):
    """The user wants no more epochs; raised by a listener in the middle of a run."""


def run_order(order: Order, listen: Callable[[NamedObject, LastLook], Listener]) -> bool:
    """Segment every object of an order; returns whether the user stopped it.

    listen: gives the listener of each object's run, and with it the last look at its network.
    """
    project = read_project(order.project, order.version).project
    sequence = read_sequence(order.input)
    settings = choose_settings(order, project)
    targets = [each for each in project.objects if each.id in order.objects]
    for target in targets:
        look = LastLook()
        listener = listen(target, look)
        for note in _explain_limits(order, target):
            listener(Message(note, warning=True))
        try:
            _segment_object(order, project, target, sequence, settings, _both(look, listener), look)
        except StoppedError:
            return True
    return False


def choose_settings(order: Order, project: Project) -> config.Settings:
    """The project's preset, changed as the server was told to."""
    from fewpoint.learning.devices import choose_device

    chosen = config.preset(project.preset, choose_device(order.device).type)
    if order.config is not None:
        chosen = config.override_from_toml(chosen, Path(order.config))
    return config.override_from_text(chosen, list(order.changes))


def _segment_object(
    order: Order,
    project: Project,
    target: NamedObject,
    sequence: ImageSequence,
    settings: config.Settings,
    listener: Listener,
    look: LastLook,
) -> None:
    """Segment one object; where the user stops it, keep what there is and pass the stop on."""
    from fewpoint.pipeline.run import run_task
    from fewpoint.pipeline.task import Task

    bound = project.bound_of(target.name)
    task = Task(sequence, target.to_points(), bound, settings, project.seed, order.device)
    run = Path(order.folder)
    with RunFolder.open(result_folder(run, target.id), task.identity()) as folder:
        try:
            result = run_task(task, folder, listener)
        except StoppedError:
            if look.saw_something:
                write_shown(finish_early(task, folder, look), shown_folder(run, target.id))
            raise
    write_shown(result, shown_folder(run, target.id))


def _explain_limits(order: Order, target: NamedObject) -> list[str]:
    notes = []
    if target.negatives:
        notes.append(f"the {len(target.negatives)} points beside {target.name} are kept but not used yet")
    if order.refined_from is not None:
        notes.append("refining from trained networks is not possible yet, so that all is trained anew")
    return notes


def _both(first: Listener, second: Listener) -> Listener:
    def tell(event: Event) -> None:
        first(event)
        second(event)

    return tell
