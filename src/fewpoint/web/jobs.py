"""What a run of a project does, in the process of its own: the same functions as `fewpoint segment`.

Objects are segmented one after another, each into a run folder of its own.
"""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

from fewpoint.core import Listener, Message
from fewpoint.core.progress import Event
from fewpoint.core.project import NamedObject, Project
from fewpoint.errors import InputError
from fewpoint.io.formats import Outputs
from fewpoint.io.images import read_sequence
from fewpoint.io.projects import read_project
from fewpoint.io.runs import RunFolder
from fewpoint.pipeline import config
from fewpoint.pipeline.early import LastLook, finish_early
from fewpoint.pipeline.previous import load_previous
from fewpoint.pipeline.run import run_task
from fewpoint.pipeline.task import Task
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
    for target in [each for each in project.objects if each.id in order.objects]:
        look = LastLook()
        listener = listen(target, look)
        bound = project.bound_of(target.name)
        # The page shows all that a report would, and a person waits for it.
        outputs = Outputs(report=False)
        task = Task(sequence, project.points_of(target), bound, settings, project.seed, order.device, outputs)
        try:
            _segment_object(_refine(task, order, target, listener), Path(order.folder), target, look, listener)
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


def _refine(task: Task, order: Order, target: NamedObject, listener: Listener) -> Task:
    """The task, going on from the networks of the run that the order refines, where that one has the object."""
    if order.refined_from is None:
        return task
    folder = result_folder(Path(order.refined_from), target.id)
    if not folder.exists():
        listener(Message(f"{target.name} was not in the run to be refined, so that it is trained anew", warning=True))
        return task
    try:
        previous = load_previous(folder)
        refining = replace(task, settings=previous.settings, previous=previous)
        refining.check_previous()
    except InputError as error:
        listener(Message(f"{target.name} is trained anew: {error}", warning=True))
        return task
    return refining


def _segment_object(task: Task, run: Path, target: NamedObject, look: LastLook, listener: Listener) -> None:
    """Segment one object; where the user stops it, keep what there is and pass the stop on."""
    with RunFolder.open(result_folder(run, target.id), task.identity()) as folder:
        try:
            result = run_task(task, folder, _both(look, listener))
        except StoppedError:
            if look.saw_something:
                write_shown(finish_early(task, folder, look), shown_folder(run, target.id))
            raise
    write_shown(result, shown_folder(run, target.id))


def _both(first: Listener, second: Listener) -> Listener:
    def tell(event: Event) -> None:
        first(event)
        second(event)

    return tell
