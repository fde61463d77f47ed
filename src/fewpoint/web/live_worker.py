"""The process that answers at once: python -m fewpoint.web.live_worker

Reads from standard input first which sequence it is about and where masks go, then orders, one line of JSON each, and
says on standard output what became of each. If several orders wait, only the last is answered. When standard input
ends, the server is gone, and so is this process.
"""

import json
import os
import sys
import threading
import time
import traceback
from collections.abc import Callable, Iterable
from pathlib import Path

from fewpoint.errors import FewpointError
from fewpoint.io.images import read_sequence
from fewpoint.runs.live import Live
from fewpoint.web.events import Answered, LiveNews, Prepared, Refused
from fewpoint.web.orders import LiveOrder, shown_folder
from fewpoint.web.shown import write_answer


class Mailbox:
    """Keeps the line that came last; one that it takes the place of is never read."""

    def __init__(self) -> None:
        self._line: str | None = None
        self._closed = False
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

    def take(self) -> str | None:
        """Wait for a line; None once there will be no more."""
        with self._changed:
            while self._line is None and not self._closed:
                self._changed.wait()
            line, self._line = self._line, None
            return line


class Answerer:
    """Answers orders about one sequence with masks on disk, whatever is in them."""

    def __init__(self, live: Live, folder: Path) -> None:
        self._live, self._folder = live, folder
        self._tried: str | None = None

    def answer(self, line: str) -> LiveNews:
        number = 0
        try:
            began = time.monotonic()
            order = LiveOrder.from_table(json.loads(line))
            number = order.number
            note = self._take(order.run)
            objects = self._write(order)
            seconds = time.monotonic() - began
            return Answered(
                number=number,
                version=order.version,
                objects=objects,
                rough=self._live.rough,
                seconds=seconds,
                note=note,
            )
        except FewpointError as error:
            return Refused(number=number, error=_in_one_line(error))
        except Exception as error:  # nothing that one order does may end the process
            traceback.print_exc()
            return Refused(number=number, error=f"no mask at once: {type(error).__name__}: {_in_one_line(error)}")

    def _take(self, run: str | None) -> str:
        """Go over to a run that has finished, once; if that fails, answers stay as they were, and the note says why."""
        if run is None or run == self._tried:
            return ""
        self._tried = run
        try:
            self._live.take(Path(run))
        except Exception as error:
            traceback.print_exc()
            return f"masks at once do not know the last run: {_in_one_line(error)}"
        return ""

    def _write(self, order: LiveOrder) -> list[int]:
        masks = self._live.answer(order.points.to_points(), order.words)
        found = {number: masks[name] for name, number in order.objects.items() if name in masks}
        for number, each in found.items():
            write_answer(each, shown_folder(self._folder, number))
        return sorted(found)


def answer_all(mailbox: Mailbox, answerer: Answerer, say: Callable[[LiveNews], None]) -> None:
    """Answer what comes, until nothing does."""
    while (line := mailbox.take()) is not None:
        say(answerer.answer(line))


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
    live = Live(read_sequence(setting["input"]))
    say(Prepared(seconds=time.monotonic() - began))
    answer_all(mailbox, Answerer(live, Path(setting["folder"])), say)


if __name__ == "__main__":
    main()
