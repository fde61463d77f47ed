"""What a run of a project does, in its own process: all objects in one run, as for `fewpoint segment`."""

from pathlib import Path
from typing import TYPE_CHECKING

from fewpoint.core import Listener, Result
from fewpoint.io.atomic import read_json
from fewpoint.runs.jobs import run_until_stopped
from fewpoint.web.figures import SUMMARY_FILE
from fewpoint.web.orders import Order, result_folder, shown_folder
from fewpoint.web.shown import write_shown

if TYPE_CHECKING:
    from fewpoint.runs.partial import LastLook  # loads torch


def run_order(order: Order, listener: Listener, look: "LastLook") -> bool:
    """Segment all objects of an order, and leave what the page shows of each; returns whether the user stopped it.

    listener: may raise StoppedError; what was last seen of the objects is then kept.
    """
    run = Path(order.folder)
    result, stopped = run_until_stopped(order.job, result_folder(run), listener, look)
    for name, (part, worths) in _name_parts(order, result).items():
        if not stopped or name in look.names:
            write_shown(part, worths, shown_folder(run, order.objects[name]))
    return stopped


def _name_parts(order: Order, result: Result | None) -> dict[str, tuple[Result, list[float]]]:
    """The result of each object by its name, in whose order a run has them, and the worth of a look at each frame."""
    if result is None:
        return {}
    told = read_json(result_folder(Path(order.folder)) / SUMMARY_FILE)["objects"]
    parts = zip(result.split(), (each["worth_a_look"] for each in told), strict=True)
    return dict(zip(sorted(order.objects), parts, strict=True))
