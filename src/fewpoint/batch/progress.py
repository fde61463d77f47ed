"""What an item reports while it runs: a file that the driver and other shells read, and lines in its log."""

import os
import socket
import sys
import time
from dataclasses import asdict, dataclass
from pathlib import Path

from fewpoint.core import EpochFinished, Message, StageFinished, StageProgress, StageStarted, StepsTaken
from fewpoint.core.progress import Event
from fewpoint.errors import InputError
from fewpoint.io.atomic import read_json, write_json

SECONDS_BETWEEN_WRITES = 1.0
SECONDS_BETWEEN_LINES = 10.0


@dataclass(frozen=True)
class Progress:
    """How far an item is. done, total: steps of the stage, total 0 if unknown. at: seconds since 1970."""

    stage: str = "reading"
    done: float = 0.0
    total: int = 0
    host: str = ""
    pid: int = 0
    at: float = 0.0

    def describe(self) -> str:
        """
        >>> Progress("learning", 12.4, 48, host="node3").describe()
        'learning 12 of 48 on node3'
        """
        steps = f" {self.done:.0f} of {self.total}" if self.total else ""
        return f"{self.stage}{steps}" + (f" on {self.host}" if self.host else "")


def read_progress(path: Path) -> Progress | None:
    """What an item reported last; None if it has reported nothing."""
    try:
        return Progress(**read_json(path))
    except (InputError, TypeError):
        return None


class ItemListener:
    """Writes how far the item is, at most once a second, and says in the log what is over."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._written = self._said = 0.0
        self._stage = StageStarted("reading")
        self.tell("reading", 0, 0)

    def __call__(self, event: Event) -> None:
        if isinstance(event, StageStarted):
            self._stage = event
            self.tell(event.stage, 0, event.steps)
        elif isinstance(event, StageProgress):
            self.tell(event.stage, event.done, self._stage.steps)
        elif isinstance(event, StepsTaken):
            self.tell("learning", event.epochs_done, event.total)
        elif isinstance(event, EpochFinished):
            self._tell_epoch(event)
        elif isinstance(event, StageFinished):
            say(f"{event.stage}: " + ("already finished" if event.reused else f"{event.seconds:.1f} s"))
        elif isinstance(event, Message):
            say(("warning: " if event.warning else "") + event.text)

    def tell(self, stage: str, done: float, total: int) -> None:
        now = time.monotonic()
        if done and now - self._written < SECONDS_BETWEEN_WRITES:
            return
        self._written = now
        write_json(self._path, asdict(Progress(stage, done, total, socket.gethostname(), os.getpid(), time.time())))

    def _tell_epoch(self, event: EpochFinished) -> None:
        self.tell("learning", event.epochs_done, event.total)
        if time.monotonic() - self._said > SECONDS_BETWEEN_LINES or event.epochs_done == event.total:
            self._said = time.monotonic()
            say(f"{event.record.phase}, epoch {event.epochs_done} of at most {event.total}")


def say(text: str) -> None:
    """A line of the log, with the time."""
    print(time.strftime("%Y-%m-%d %H:%M:%S"), text, file=sys.stderr, flush=True)
