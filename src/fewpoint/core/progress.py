"""What long work tells whoever is listening."""

from collections.abc import Callable
from dataclasses import dataclass

from fewpoint.core.history import EpochRecord


@dataclass(frozen=True)
class StageStarted:
    """A stage begins; steps is how many pieces of work it has, 0 where unknown."""

    stage: str
    steps: int = 0


@dataclass(frozen=True)
class StageProgress:
    """So many of the stage's steps are done."""

    stage: str
    done: int


@dataclass(frozen=True)
class EpochFinished:
    """An epoch of training is over; total is the most epochs that may follow from the start."""

    record: EpochRecord
    total: int


@dataclass(frozen=True)
class StageFinished:
    """A stage is over. reused: it was found finished from an earlier start of the same run."""

    stage: str
    seconds: float
    reused: bool = False


@dataclass(frozen=True)
class Message:
    """A sentence for the user; a warning is something to act on."""

    text: str
    warning: bool = False


Event = StageStarted | StageProgress | EpochFinished | StageFinished | Message
Listener = Callable[[Event], None]


def ignore(event: Event) -> None:
    """The listener of those who do not care."""
