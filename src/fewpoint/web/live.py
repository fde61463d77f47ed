"""The process that answers a person's words about one project at once, as the server sees it."""

import json
import subprocess
import threading
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path

from fewpoint.core.workers import python_module
from fewpoint.errors import FewpointError
from fewpoint.io.atomic import explaining_write_errors
from fewpoint.web.events import Answered, LiveNews, Prepared, read_news
from fewpoint.web.orders import LOG_FILE, LiveOrder
from fewpoint.web.processes import close_pipes, explain_death, send_line, start_process

COMMAND = python_module("fewpoint.web.live_worker")
WHAT = "the live preview"
CLIP_FILE = "clip.npz"


@dataclass(frozen=True)
class Place:
    """input: the file or folder of the frames. folder: where masks go. features: a pretrained model, "" for none."""

    input: str
    folder: Path
    features: str = ""


class LiveProcess:
    """A process that is asked for masks; nobody who asks waits for it.

    hear: called with its news, in another thread. lost: called with the reason once it is given up: it is started again
    after it died, but not a second time before it has answered anything. clip: leaves the frames near one in a file,
    for an answer before the process has read all of them.
    """

    def __init__(
        self,
        place: Place,
        hear: Callable[[LiveNews], None],
        lost: Callable[[str], None],
        clip: Callable[[int, Path], None] | None = None,
    ) -> None:
        self._place, self._hear, self._lost, self._clip = place, hear, lost, clip
        self._prepared = False
        self._next: LiveOrder | None = None
        self._last: LiveOrder | None = None
        self._process: subprocess.Popen[str] | None = None
        self._closed = False
        self._changed = threading.Condition()
        for work in (self._live, self._write):
            threading.Thread(target=work, daemon=True).start()

    def ask(self, order: LiveOrder) -> None:
        """Have an order answered, in place of one that has not been sent yet."""
        with self._changed:
            self._next = order
            self._changed.notify_all()

    def close(self) -> None:
        """End the process."""
        with self._changed:
            self._closed = True
            if self._process is not None:
                self._process.kill()
            self._changed.notify_all()

    def _live(self) -> None:
        deaths = 0
        reason = ""
        while deaths < 2:
            try:
                process = self._start()
            except (FewpointError, OSError) as error:
                reason = str(error)
                break
            if process is None:
                return
            for line in process.stdout or ():
                news = read_news(line)
                self._prepared = self._prepared or isinstance(news, Prepared)
                deaths = 0 if isinstance(news, Answered) else deaths
                if not self._closed:
                    self._hear(news)
            reason = explain_death(process.wait(), self._place.folder / LOG_FILE, WHAT)
            close_pipes(process)
            deaths += 1
            if not self._forget():
                return
        self._lost(" ".join(reason.split()))

    def _start(self) -> subprocess.Popen[str] | None:
        """A new process, to which its place has been told; None if none is wanted any more."""
        folder = self._place.folder
        with explaining_write_errors(folder):
            folder.mkdir(parents=True, exist_ok=True)  # masks that were answered before stay until others come
        with self._changed:
            if self._closed:
                return None
            process = start_process(COMMAND, folder / LOG_FILE)
            with suppress(BrokenPipeError):
                send_line(
                    process,
                    json.dumps({"input": self._place.input, "folder": str(folder), "features": self._place.features}),
                )
            self._process, self._prepared = process, False
            self._changed.notify_all()
            return process

    def _forget(self) -> bool:
        """Let go of a process that died; returns whether another is wanted, which then gets the last order again."""
        with self._changed:
            self._process = None
            self._next = self._next or self._last
            return not self._closed

    def _write(self) -> None:
        """Send orders as they come; a process that is slow to read keeps nobody but this thread waiting."""
        while True:
            with self._changed:
                while not self._closed and (self._next is None or self._process is None):
                    self._changed.wait()
                if self._closed or self._next is None or self._process is None:
                    return
                order, process = self._next, self._process
                self._next, self._last = None, order
            order = self._add_clip(order)
            with suppress(OSError, ValueError):  # it has died; the next one gets the order
                send_line(process, json.dumps(order.as_table()))

    def _add_clip(self, order: LiveOrder) -> LiveOrder:
        """The order with what it can be answered from before the process has read all frames."""
        if self._prepared or self._clip is None or order.run is not None or order.stopped is not None:
            return order
        path = self._place.folder / CLIP_FILE
        try:
            self._clip(order.frame, path)
        except (FewpointError, OSError):  # the whole answer says what is wrong
            return order
        return replace(order, clip=str(path))
