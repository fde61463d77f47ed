"""The events that long work reports to its listener."""

import logging
from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np

from fewpoint.core.history import EpochRecord
from fewpoint.core.result import ObjectResult
from fewpoint.core.superpixels import SuperpixelMap


@dataclass(frozen=True)
class StageStarted:
    """A stage begins; steps is how many pieces of work it has, 0 if unknown."""

    stage: str
    steps: int = 0


@dataclass(frozen=True)
class StageProgress:
    """How many of the stage's steps are done."""

    stage: str
    done: int


@dataclass(frozen=True, eq=False)
class SuperpixelsReady:
    """The frames are cut; reported once per group of objects that learn together, before their first epoch.

    objects: names of the objects that are segmented with these superpixels, "" for one without a name.
    """

    superpixels: SuperpixelMap
    objects: tuple[str, ...] = ("",)


@dataclass(frozen=True, eq=False)
class EpochPredicted:
    """What the network predicts for every superpixel; reported per object, before the same epoch's EpochFinished.

    Not every epoch is followed by a look at the network; the last one of each network always is.

    epoch: as in EpochFinished's record. probabilities: (T, regions) float16; zero on frames marked absent and for a
    superpixel that is too small for the working size. priors: (T,) float64 share of each frame that the object is now
    taken to cover: the filter's estimate in the estimation, the share at 0.5 or above in other phases.
    object: its name, "" if it has none.
    """

    epoch: int
    probabilities: np.ndarray
    priors: np.ndarray
    object: str = ""


@dataclass(frozen=True, eq=False)
class ObjectsFound:
    """Masks that will not change any more, by object: a group is finished and others are still to come."""

    objects: Mapping[str, ObjectResult]


@dataclass(frozen=True)
class StepsTaken:
    """How many of an epoch's steps are done; total is the most epochs of the run, as in EpochFinished."""

    epoch: int
    done: int
    steps: int
    total: int

    @property
    def epochs_done(self) -> float:
        """Epochs since the start, counting the current one in part.

        >>> StepsTaken(epoch=3, done=5, steps=10, total=24).epochs_done
        2.5
        """
        return self.epoch - 1 + self.done / self.steps


@dataclass(frozen=True)
class EpochFinished:
    """An epoch of training is over; total is the most epochs that the run may take.

    done: epochs that are over by now, if networks learn side by side and so do not finish in order; 0 if they do.
    """

    record: EpochRecord
    total: int
    done: int = 0

    @property
    def epochs_done(self) -> int:
        """Epochs since the start."""
        return self.done or self.record.epoch


@dataclass(frozen=True)
class StageFinished:
    """A stage is over. reused: an earlier start of the same run had finished it."""

    stage: str
    seconds: float
    reused: bool = False


@dataclass(frozen=True)
class WorkGoesOn:
    """Reported often, between all other events, so that a listener can stop what takes long."""


@dataclass(frozen=True)
class Message:
    """A sentence for the user; a warning is something to act on."""

    text: str
    warning: bool = False


Event = (
    StageStarted
    | StageProgress
    | SuperpixelsReady
    | ObjectsFound
    | StepsTaken
    | EpochPredicted
    | EpochFinished
    | StageFinished
    | WorkGoesOn
    | Message
)
Listener = Callable[[Event], None]


def ignore(event: Event) -> None:
    """A listener that does nothing."""


def logging_events(listener: Listener, logger: logging.Logger) -> Listener:
    """A listener that passes events on and logs stages and messages; warnings are told by whoever listens."""

    def listen(event: Event) -> None:
        if isinstance(event, StageStarted):
            logger.info("%s begins", event.stage)
        elif isinstance(event, StageFinished):
            logger.info("%s %s", event.stage, "already finished" if event.reused else f"took {event.seconds:.1f} s")
        elif isinstance(event, EpochFinished):
            logger.debug("%s, epoch %d of at most %d", event.record.phase, event.epochs_done, event.total)
        elif isinstance(event, Message):
            logger.info("%s", event.text)
        listener(event)

    return listen
