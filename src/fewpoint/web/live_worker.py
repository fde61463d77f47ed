"""The process that answers at once: python -m fewpoint.web.live_worker

Reads from standard input first which sequence it is about and where masks go, then orders, one line of JSON each, and
says on standard output what became of each. If several orders wait, only the last is answered. Until all frames are
read and prepared, an order that brings a clip is answered for its frames, and once more for all of them later. After
that, the frame in view is answered first, then all, unless another order has come meanwhile. When standard input ends,
the server is gone, and so is this process.
"""

import json
import os
import sys
import threading
import time
import traceback
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path

import numpy as np

from fewpoint.errors import FewpointError
from fewpoint.io.images import read_sequence
from fewpoint.runs.live import Answer, Live, answer_clip
from fewpoint.web.clips import read_clip
from fewpoint.web.events import Answered, LiveNews, Prepared, Refused
from fewpoint.web.orders import LiveOrder, shown_folder
from fewpoint.web.shown import map_probabilities, write_answer, write_view

LATER = 5  # as the command nice counts


class Mailbox:
    """Keeps the line that came last; one that it takes the place of is never read."""

    def __init__(self) -> None:
        self._line: str | None = None
        self._closed = False
        self._hurry = False
        self._changed = threading.Condition()

    def fill(self, lines: Iterable[str]) -> None:
        """Put in all that comes, until nothing does."""
        for line in lines:
            with self._changed:
                self._line = line
                self._changed.notify()
        with self._changed:
            self._closed = True
            self._changed.notify()

    def put_back(self, line: str | None) -> None:
        """Have a line read again, unless another one has come since."""
        with self._changed:
            self._line = self._line or line
            self._changed.notify()

    def stop_waiting(self) -> None:
        """Let whoever waits for a line go on without one, once."""
        with self._changed:
            self._hurry = True
            self._changed.notify()

    def is_filled(self) -> bool:
        """Whether a line waits."""
        with self._changed:
            return self._line is not None

    def take(self) -> str | None:
        """Wait for a line; None once there will be no more, or if nobody is to wait."""
        with self._changed:
            while self._line is None and not self._closed and not self._hurry:
                self._changed.wait()
            line, self._line, self._hurry = self._line, None, False
            return line


class Answerer:
    """Answers orders about one sequence with masks on disk, whatever is in them."""

    def __init__(self, live: Live, folder: Path) -> None:
        self._live, self._folder = live, folder
        self._tried: str | None = None

    def answer(self, line: str, is_late: Callable[[], bool] = lambda: False) -> Iterator[LiveNews]:
        """What becomes of an order: first the frame in view, then all frames unless it is too late for them."""
        number = 0
        try:
            began = time.monotonic()
            order = LiveOrder.from_table(json.loads(line))
            number = order.number
            note = self._take(order.run)
            found = self._live.settle(order.points.to_points(), order.words, _find_known(order))
            for view in (None,) if order.view is None else (order.view, None):
                objects = self._write(found, order, view)
                yield Answered(
                    number=number,
                    version=order.version,
                    objects=objects,
                    rough=self._live.rough,
                    seconds=time.monotonic() - began,
                    partly=view is not None,
                    view=view,
                    note=note,
                )
                if is_late():
                    return
        except FewpointError as error:
            yield Refused(number=number, error=_in_one_line(error))
        except Exception as error:  # nothing that one order does may end the process
            traceback.print_exc()
            yield Refused(number=number, error=f"no live preview: {type(error).__name__}: {_in_one_line(error)}")

    def _take(self, run: str | None) -> str:
        """Go over to a run that has finished, once; if that fails, answers stay as they were, and the note says why.

        run: None once there is none to go on from.
        """
        if run == self._tried:
            return ""
        self._tried = run
        if run is None:
            self._live.forget()
            return ""
        try:
            self._live.take(Path(run))
        except Exception as error:
            traceback.print_exc()
            return f"the live preview cannot use the last run: {_in_one_line(error)}"
        return ""

    def _write(self, found: Answer, order: LiveOrder, view: int | None) -> list[int]:
        """Leave masks of a frame, or of all, for the page; returns the numbers of their objects."""
        masks = found.all() if view is None else found.on_frame(view)
        wanted = {number: masks[name] for name, number in order.objects.items() if name in masks}
        for number, each in wanted.items():
            folder = shown_folder(self._folder, number)
            if view is None:
                write_answer(each, folder)
            else:
                write_view(each, folder, view)
        return sorted(wanted)


def _find_known(order: LiveOrder) -> dict[str, np.ndarray]:
    """What a run that was stopped had found of each object."""
    if order.stopped is None or order.run is not None:
        return {}
    stopped = Path(order.stopped)
    found = {name: map_probabilities(shown_folder(stopped, number)) for name, number in order.objects.items()}
    return {name: values for name, values in found.items() if values is not None}


def glance(line: str, folder: Path) -> LiveNews | None:
    """Answer an order for the frames of its clip alone; None if nothing can be said of them."""
    try:
        began = time.monotonic()
        order = LiveOrder.from_table(json.loads(line))
        if not order.clip:
            return None
        clip = read_clip(Path(order.clip))
        masks = answer_clip(clip.sequence, clip.first, order.points.to_points(), order.words)
        found = {number: masks[name] for name, number in order.objects.items() if name in masks}
        for number, each in found.items():
            write_answer(each, shown_folder(folder, number), clip.first, clip.total)
    except Exception:  # the whole answer, which follows, says what is wrong
        traceback.print_exc()
        return None
    if not found:
        return None
    seconds = time.monotonic() - began
    objects = sorted(found)
    return Answered(
        number=order.number, version=order.version, objects=objects, rough=True, seconds=seconds, partly=True
    )


def glance_until(prepared: "Future[Live]", mailbox: Mailbox, folder: Path, say: Callable[[LiveNews], None]) -> Live:
    """Answer what comes in part until everything is prepared; the order that came last then waits in the mailbox."""
    prepared.add_done_callback(lambda _: mailbox.stop_waiting())
    last = None
    while not prepared.done():
        line = mailbox.take()
        last = line or last
        news = glance(line, folder) if line is not None and not prepared.done() else None
        if news is not None:
            say(news)
    mailbox.put_back(last)
    return prepared.result()


def answer_all(mailbox: Mailbox, answerer: Answerer, say: Callable[[LiveNews], None]) -> None:
    """Answer what comes, until nothing does."""
    while (line := mailbox.take()) is not None:
        for news in answerer.answer(line, mailbox.is_filled):
            say(news)


def prepare(path: str, features: str) -> Live:
    """Read and prepare all frames, behind whoever waits for an answer about some of them."""
    if sys.platform == "linux":  # where each thread has a priority of its own, which those that it starts have too
        os.setpriority(os.PRIO_PROCESS, threading.get_native_id(), LATER)
    return Live(read_sequence(path), features)


def _in_one_line(error: Exception) -> str:
    return " ".join(str(error).split())[:500]


def _read_until_gone(mailbox: Mailbox) -> None:
    mailbox.fill(sys.stdin)
    os._exit(0)


def main() -> None:
    # What libraries print must not come between the news.
    stream = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)

    def say(news: LiveNews) -> None:
        stream.write(news.model_dump_json() + "\n")
        stream.flush()

    began = time.monotonic()
    setting = json.loads(sys.stdin.readline())
    mailbox = Mailbox()
    threading.Thread(target=_read_until_gone, args=(mailbox,), daemon=True).start()
    folder = Path(setting["folder"])
    with ThreadPoolExecutor(1) as pool:
        prepared = pool.submit(prepare, setting["input"], setting.get("features", ""))
        live = glance_until(prepared, mailbox, folder, say)
    say(Prepared(seconds=time.monotonic() - began))
    answer_all(mailbox, Answerer(live, folder), say)


if __name__ == "__main__":
    main()
