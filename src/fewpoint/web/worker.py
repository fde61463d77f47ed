"""The process of one run: python -m fewpoint.web.worker

Reads its order as a line of JSON from standard input, and says on standard output how far it is, one line of JSON per
event. A line `stop` ends the run at the next event and keeps what there is. When standard input ends, the server
is gone, and so is this process; the run can go on later.
"""

import json
import os
import sys
import threading
import time
import traceback
from pathlib import Path
from typing import TYPE_CHECKING, TextIO

from fewpoint.core import (
    EpochFinished,
    EpochPredicted,
    Message,
    StageFinished,
    StageStarted,
    StepsTaken,
)
from fewpoint.core.progress import Event, ObjectsFound
from fewpoint.errors import FewpointError
from fewpoint.runs.jobs import StoppedError, holds_looks
from fewpoint.web.events import Ended, Noted, Previewed, PriorsSeen, Progressed, WorkerEvent
from fewpoint.web.jobs import run_order
from fewpoint.web.orders import Order, result_folder, shown_folder
from fewpoint.web.shown import write_found, write_preview
from fewpoint.web.wording import word_for_page

if TYPE_CHECKING:
    from fewpoint.runs.partial import LastLook, ObjectLook

SECONDS_BETWEEN_NEWS = 0.2
SECONDS_BETWEEN_PREVIEWS = 1.0
PREVIEW_SHARE = 0.05  # of the time, at most, that drawing previews may take
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
    """A listener that reports how far a run is, and stops it if the user wants to."""

    def __init__(self, order: Order, teller: Teller, stop: threading.Event, look: "LastLook") -> None:
        self._order, self._teller, self._stop, self._look = order, teller, stop, look
        self._epochs, self._done = 0, 0.0
        self._first: float | None = None
        self._stage, self._phase, self._began = "", "", time.monotonic()
        self._preview_due, self._unseen = 0.0, False
        self._previewed: dict[str, ObjectLook] = {}
        self._found: set[str] = set()

    def __call__(self, event: Event) -> None:
        self._tell(event)
        if isinstance(event, EpochPredicted):
            self._teller.say(PriorsSeen(object=self._order.objects[event.object], priors=event.priors.tolist()))
            self._unseen = True
        elif isinstance(event, ObjectsFound):
            self._draw_found(event)
        elif isinstance(event, EpochFinished) and self._unseen:  # all objects have been looked at by now
            self._draw_previews()
        if self._stop.is_set() and self._stage != "report":  # by then there is more than what was previewed
            # What a person saw when they stopped it is kept, not what another network made of it since.
            self._look.objects |= self._previewed
            raise StoppedError

    def _tell(self, event: Event) -> None:
        if isinstance(event, StageStarted):
            self._stage, self._phase = event.stage, STAGE_WORDS.get(event.stage, event.stage)
            self._teller.say(self._progress())
        elif isinstance(event, StageFinished) and event.stage != "report":  # after which the manifest is still to come
            self._stage = ""
        elif isinstance(event, StepsTaken):
            self._epochs, self._done = event.total, event.epochs_done
            self._teller.say_sometimes(self._progress())
        elif isinstance(event, EpochFinished):
            self._epochs, self._done, self._phase = event.total, event.epochs_done, event.record.phase
            self._teller.say(self._progress())
        elif isinstance(event, Message):
            self._teller.say(Noted(text=word_for_page(event.text), warning=event.warning))

    def _progress(self) -> Progressed:
        left = self._estimate(self._done, self._epochs) if self._stage == "learning" else None
        return Progressed(phase=self._phase, epoch=int(self._done), epochs=self._epochs, seconds_left=left)

    def _estimate(self, done: float, total: int) -> float | None:
        """Seconds left at the pace since the first news of this start; None before there is a pace."""
        now = time.monotonic()
        if self._first is None:
            self._first, self._began = done, now
        advanced = done - self._first
        return None if advanced < 0.5 or not total else (now - self._began) / advanced * (total - done)

    def _draw_found(self, event: ObjectsFound) -> None:
        """What is finished of the run is what it keeps if it has to be ended."""
        self._found |= event.objects.keys()
        for name, found in event.objects.items():
            write_found(found, shown_folder(Path(self._order.folder), self._order.objects[name]))
        self._teller.say(Previewed())

    def _draw_previews(self) -> None:
        started = time.monotonic()
        if started < self._preview_due or not self._look.saw_something:
            return
        for name, seen in self._look.objects.items():
            if name in self._found:
                continue
            write_preview(seen, shown_folder(Path(self._order.folder), self._order.objects[name]))
        self._unseen, self._previewed = False, dict(self._look.objects)
        taken = time.monotonic() - started
        self._preview_due = time.monotonic() + max(SECONDS_BETWEEN_PREVIEWS, taken / PREVIEW_SHARE)
        self._teller.say(Previewed())


def work(order: Order, teller: Teller, stop: threading.Event, ready: threading.Event | None = None) -> None:
    """Run an order, and say how it ended. ready: set once libraries are loaded, which takes seconds."""
    from fewpoint.runs.partial import LastLook  # loads torch

    look = LastLook()
    if ready is not None:
        ready.set()
    try:
        stopped = run_order(order, Course(order, teller, stop, look), look)
    except FewpointError as error:
        reason = " ".join(str(error).split())
        teller.say(Ended(state="failed", error=word_for_page(reason) or reason))
    except Exception as error:
        traceback.print_exc()
        cause = " ".join(f"{type(error).__name__}: {error}".split())[:500]
        teller.say(Ended(state="failed", error=f"the training stopped with {cause}"))
    else:
        teller.say(Ended(state="cancelled" if stopped else "finished", error=""))


def _obey(commands: TextIO, order: Order, teller: Teller, stop: threading.Event, ready: threading.Event) -> None:
    """Wait for a stop, or for the server to be gone.

    What is stopped before libraries are loaded ends at once, unless an earlier start has left something to keep.
    """
    for line in commands:
        if line.strip() == "stop":
            stop.set()
            if not ready.is_set() and not holds_looks(result_folder(Path(order.folder))):
                teller.say(Ended(state="cancelled", error=""))
                os._exit(0)
    os._exit(1)


def main() -> None:
    # What libraries print must not come between the events.
    events = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)
    order = Order.from_table(json.loads(sys.stdin.readline()))
    teller, stop, ready = Teller(events), threading.Event(), threading.Event()
    threading.Thread(target=_obey, args=(sys.stdin, order, teller, stop, ready), daemon=True).start()
    if hasattr(os, "nice"):
        os.nice(POLITENESS)  # the page comes first
    work(order, teller, stop, ready)
    os._exit(0)  # all is written, and libraries take seconds to unload on a busy machine


if __name__ == "__main__":
    main()
