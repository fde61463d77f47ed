"""How a run goes, for a caller: a callback with plain figures, a line in a notebook, and a way to cancel."""

import sys
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, Protocol

from fewpoint.core.given import need
from fewpoint.core.progress import (
    EpochFinished,
    Event,
    Listener,
    Message,
    StageFinished,
    StageProgress,
    StageStarted,
    StepsTaken,
)
from fewpoint.errors import CancelledError

BAR = 240  # pixels
SECONDS_BETWEEN = 0.2  # that a notebook draws anew


@dataclass(frozen=True)
class Progress:
    """How far a run is.

    stage: what is done now, such as "learning". done: share of the stage, 0 to 1; 0 if it is not known. seconds: since
    the start. seconds_left: of the stage, None before there is a pace. message: a sentence for the user, or "".
    warning: whether the sentence is something to act on.
    """

    stage: str = "reading"
    done: float = 0.0
    seconds: float = 0.0
    seconds_left: float | None = None
    message: str = ""
    warning: bool = False

    def __str__(self) -> str:
        """One line for people.

        >>> str(Progress("learning", 0.25, 10.0, 30.0))
        'learning 25%, 0:30 left'
        """
        if self.message:
            return ("warning: " if self.warning else "") + self.message
        if not self.done:
            return self.stage
        minutes, seconds = divmod(round(self.seconds_left or 0), 60)
        left = "" if self.seconds_left is None or self.done == 1 else f", {minutes}:{seconds:02d} left"
        return f"{self.stage} {self.done:.0%}{left}"


ProgressCallback = Callable[[Progress], None]


class Cancel(Protocol):
    """Whatever says whether to stop, such as a threading.Event."""

    def is_set(self) -> bool:
        """Whether the run is to be cancelled."""
        ...


def watch(progress: ProgressCallback | bool | None, cancel: Cancel | None, listener: Listener) -> Listener:
    """A listener that cancels if asked to, tells progress, and passes events on.

    progress: a callback; True to show it, False for nothing, None to show it in a notebook alone.
    """
    if cancel is not None and not callable(getattr(cancel, "is_set", None)):
        need(cancel, type(None), "cancel", "something with is_set(), such as a threading.Event")
    if progress is not None and not isinstance(progress, bool) and not callable(progress):
        need(progress, bool, "progress", "a function of a Progress, True, False or None")
    if not callable(listener):
        need(listener, type(None), "listener", "a function of an event")
    show = _choose_display(progress)
    follow = None if show is None else Follower(show)

    def listen(event: Event) -> None:
        if cancel is not None and cancel.is_set():
            raise CancelledError("the run was cancelled; give the same folder as out again to continue")
        if follow is not None:
            follow(event)
        listener(event)

    return listen


class Follower:
    """A listener that turns events into Progress."""

    def __init__(self, callback: ProgressCallback) -> None:
        self._callback = callback
        self._began = self._stage_began = time.monotonic()
        self._stage, self._steps = "reading", 0

    def __call__(self, event: Event) -> None:
        if isinstance(event, StageStarted):
            self._stage, self._steps, self._stage_began = event.stage, event.steps, time.monotonic()
            self._tell(0.0)
        elif isinstance(event, StageProgress):
            self._tell(event.done / self._steps if self._steps else 0.0)
        elif isinstance(event, StepsTaken | EpochFinished):
            self._tell(event.epochs_done / event.total)
        elif isinstance(event, StageFinished):
            self._tell(1.0)
        elif isinstance(event, Message):
            self._callback(Progress(self._stage, 0.0, self._seconds(), None, event.text, event.warning))

    def _tell(self, done: float) -> None:
        spent = time.monotonic() - self._stage_began
        left = spent / done * (1 - done) if done else None
        self._callback(Progress(self._stage, min(done, 1.0), self._seconds(), left))

    def _seconds(self) -> float:
        return time.monotonic() - self._began


def _choose_display(progress: ProgressCallback | bool | None) -> ProgressCallback | None:
    if progress is False or (progress is None and not in_notebook()):
        return None
    if progress is None or progress is True:
        return NotebookLine() if in_notebook() else print_lines()
    return progress


def in_notebook() -> bool:
    """Whether the code runs in the kernel of a notebook, which shows what displays update."""
    shell: Any = None
    if "IPython" in sys.modules:
        with suppress(ImportError, AttributeError):
            shell = sys.modules["IPython"].get_ipython()
    return hasattr(shell, "kernel")


def print_lines() -> ProgressCallback:
    """A callback that prints messages, and each stage once, on standard error."""
    told: list[str] = []

    def show(progress: Progress) -> None:
        line = progress.message or progress.stage
        if told[-1:] != [line]:
            told.append(line)
            print(str(progress), file=sys.stderr, flush=True)

    return show


class NotebookLine:
    """One line with a bar below a cell, which follows the run; messages stay above it."""

    def __init__(self) -> None:
        self._handle: Any = None
        self._messages: list[str] = []
        self._drawn = 0.0

    def __call__(self, progress: Progress) -> None:
        if 0 < progress.done < 1 and time.monotonic() - self._drawn < SECONDS_BETWEEN:
            return
        self._drawn = time.monotonic()
        from IPython import display  # pyright: ignore[reportMissingImports]

        if progress.message:
            self._messages.append(str(progress))
        shown = display.HTML(self.render(progress))
        if self._handle is None:
            self._handle = display.display(shown, display_id=True)
        else:
            self._handle.update(shown)

    def render(self, progress: Progress) -> str:
        """The line as HTML."""
        from html import escape

        line = escape(str(progress) if not progress.message else progress.stage)
        bar = f'<progress value="{progress.done:.3f}" max="1" style="width:{BAR}px"></progress>'
        return "".join(f"<div>{escape(each)}</div>" for each in self._messages) + f"<div>{bar} {line}</div>"
