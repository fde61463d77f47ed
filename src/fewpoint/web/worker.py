"""The process of one run: python -m fewpoint.web.worker

Reads its order as a line of JSON from standard input, and says on standard output how far it is, a line of JSON an
event. A line `stop` ends the run after the present step and keeps what there is. When standard input ends, the server
is gone, and so is this process; the run can go on later.
"""

import json
import os
import sys
import threading
import time
import traceback
from pathlib import Path
from typing import TextIO

from fewpoint.core import (
    EpochFinished,
    EpochPredicted,
    Listener,
    Message,
    StageFinished,
    StageStarted,
    StepsTaken,
)
from fewpoint.core.progress import Event, StageProgress
from fewpoint.core.project import NamedObject
from fewpoint.errors import FewpointError
from fewpoint.pipeline.early import LastLook
from fewpoint.web.events import Ended, Noted, Previewed, PriorsSeen, Progressed, WorkerEvent
from fewpoint.web.jobs import StoppedError, run_order
from fewpoint.web.orders import Order, shown_folder
from fewpoint.web.shown import write_preview

SECONDS_BETWEEN_NEWS = 0.2
SECONDS_BETWEEN_PREVIEWS = 1.0
PREVIEW_SHARE = 0.05  # of the time, at most, that drawing previews may take
STOPPABLE = ("superpixels", "learning")
STAGE_WORDS = {
    "superpixels": "cutting frames into superpixels",
    "learning": "learning",
    "prediction": "predicting",
    "masks": "choosing masks",
    "report": "writing the report",
}
POLITENESS = 5


class Teller:
    """Says what happens, not too often."""

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream
        self._last = 0.0

    def say(self, event: WorkerEvent) -> None:
        self._stream.write(event.model_dump_json() + "\n")
        self._stream.flush()

    def say_sometimes(self, event: WorkerEvent) -> None:
        """Leave out what comes right after the last such event."""
        if time.monotonic() - self._last > SECONDS_BETWEEN_NEWS:
            self._last = time.monotonic()
            self.say(event)


class Course:
    """How far all objects of a run are, told as one course of epochs; stops it where the user wants to."""

    def __init__(self, order: Order, teller: Teller, stop: threading.Event) -> None:
        self._order, self._teller, self._stop = order, teller, stop
        self._number, self._before, self._epochs, self._done = -1, 0, 0, 0.0
        self._first: float | None = None
        self._stage, self._phase, self._began = "", "", time.monotonic()
        self._preview_due = 0.0

    def listen(self, target: NamedObject, look: LastLook) -> Listener:
        """The listener of the next object's run."""
        self._number, self._before, self._done = self._number + 1, self._before + self._epochs, 0.0

        def tell(event: Event) -> None:
            self._tell(event)
            if isinstance(event, EpochPredicted):
                self._teller.say(PriorsSeen(object=target.id, priors=event.priors.tolist()))
                self._draw_preview(target, look)
            stoppable = self._stage in STOPPABLE and isinstance(event, StageProgress | StepsTaken | EpochFinished)
            if stoppable and self._stop.is_set():
                raise StoppedError

        return tell

    def _tell(self, event: Event) -> None:
        if isinstance(event, StageStarted):
            self._stage, self._phase = event.stage, STAGE_WORDS.get(event.stage, event.stage)
            self._teller.say(self._progress())
        elif isinstance(event, StageFinished):
            self._stage = ""
        elif isinstance(event, StepsTaken):
            self._epochs, self._done = event.total, event.epochs_done
            self._teller.say_sometimes(self._progress())
        elif isinstance(event, EpochFinished):
            self._epochs, self._done, self._phase = event.total, event.epochs_done, event.record.phase
            self._teller.say(self._progress())
        elif isinstance(event, Message):
            self._teller.say(Noted(text=event.text, warning=event.warning))

    def _progress(self) -> Progressed:
        count = len(self._order.objects)
        of_several = f"object {self._number + 1} of {count}: " if count > 1 else ""
        # Those that are still to come are taken to be as long as the present one.
        done, total = self._before + self._done, self._before + (count - self._number) * self._epochs
        left = self._estimate(done, total) if self._stage == "learning" else None
        return Progressed(phase=of_several + self._phase, epoch=int(done), epochs=total, seconds_left=left)

    def _estimate(self, done: float, total: int) -> float | None:
        """Seconds left at the pace since the first news of this start; None before there is a pace."""
        now = time.monotonic()
        if self._first is None:
            self._first, self._began = done, now
        advanced = done - self._first
        return None if advanced < 0.5 or not total else (now - self._began) / advanced * (total - done)

    def _draw_preview(self, target: NamedObject, look: LastLook) -> None:
        started = time.monotonic()
        if started < self._preview_due or not look.saw_something:
            return
        write_preview(look, shown_folder(Path(self._order.folder), target.id))
        taken = time.monotonic() - started
        self._preview_due = time.monotonic() + max(SECONDS_BETWEEN_PREVIEWS, taken / PREVIEW_SHARE)
        self._teller.say(Previewed())


def work(order: Order, teller: Teller, stop: threading.Event) -> None:
    """Run an order, and say how it ended."""
    try:
        stopped = run_order(order, Course(order, teller, stop).listen)
    except FewpointError as error:
        teller.say(Ended(state="failed", error=" ".join(str(error).split())))
    except Exception as error:
        traceback.print_exc()
        cause = " ".join(f"{type(error).__name__}: {error}".split())[:500]
        teller.say(Ended(state="failed", error=f"the training stopped with {cause}"))
    else:
        teller.say(Ended(state="cancelled" if stopped else "finished", error=""))


def _obey(commands: TextIO, stop: threading.Event) -> None:
    """Wait for a stop, or for the server to be gone."""
    for line in commands:
        if line.strip() == "stop":
            stop.set()
    os._exit(1)


def main() -> None:
    # What libraries print must not come between the events.
    events = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)
    order = Order.from_table(json.loads(sys.stdin.readline()))
    stop = threading.Event()
    threading.Thread(target=_obey, args=(sys.stdin, stop), daemon=True).start()
    if hasattr(os, "nice"):
        os.nice(POLITENESS)  # the page comes first
    work(order, Teller(events), stop)


if __name__ == "__main__":
    main()
