"""Progress for a person: a live display on a terminal, plain lines elsewhere."""

import math
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import TYPE_CHECKING

from fewpoint.cli.voice import VERBOSE, is_quiet, loudness
from fewpoint.core import EpochFinished, Listener, Message, StageFinished, StageProgress, StageStarted, StepsTaken
from fewpoint.core.plain_text import show_plainly
from fewpoint.core.progress import Event

if TYPE_CHECKING:
    from rich.progress import Progress, TaskID

SECONDS_BETWEEN_LINES = 5.0
FEW_STEPS = 5


@contextmanager
def show_progress(quiet: bool = False) -> Iterator[Listener]:
    """A listener that shows what happens on standard error; quiet, or -q, keeps to warnings."""
    if quiet or is_quiet():
        yield _tell_warnings
    elif sys.stderr.isatty():
        with _live_display() as listener:
            yield keep_clicks(listener)
    else:
        yield keep_clicks(PlainLines())


def name_stage(stage: str) -> str:
    """What a person calls a stage of a run.

    >>> name_stage("learning"), name_stage("masks")
    ('training', 'masks')
    """
    return "training" if stage == "learning" else stage


def describe_epoch(event: EpochFinished) -> str:
    """How far training is; with -v phase, epoch and the figures that show whether it goes well."""
    record = event.record
    if loudness() < VERBOSE:
        return f"training: {event.epochs_done / event.total:.0%}"
    return f"{record.phase}, epoch {event.epochs_done} of at most {event.total}: {describe_figures(event)}"


def describe_figures(event: EpochFinished) -> str:
    """Mean prior over frames, share of ascent steps, mean probability at the clicks once it is known."""
    record = event.record
    figures = f"prior {record.mean_prior:.4f}, ascent {record.ascent_share:.0%}"
    return figures if math.isnan(record.click_probability) else f"{figures}, clicks {record.click_probability:.2f}"


def keep_clicks(listener: Listener) -> Listener:
    """Pass events on; an epoch after which the network was not looked at gets the last known figure of the clicks."""
    latest = math.nan

    def tell(event: Event) -> None:
        nonlocal latest
        if isinstance(event, EpochFinished):
            known = not math.isnan(event.record.click_probability)
            latest = event.record.click_probability if known else latest
            event = replace(event, record=replace(event.record, click_probability=latest))
        listener(event)

    return tell


class RemainingTime:
    """Time left of a stage, from the pace since its first step of this start, which does not count itself.

    There is an estimate after a few steps; each later one is made of all that was measured until then.
    """

    def __init__(self) -> None:
        self._started = time.monotonic()
        self._first: float | None = None
        self._asked = 0

    def estimate(self, done: float, total: int) -> str:
        """Words such as "1:05 left", of done epochs or parts of them; empty before there is a pace."""
        self._asked += 1
        if self._first is None:
            self._first, self._started = done, time.monotonic()
        advanced = done - self._first
        if not total or advanced <= 0 or (advanced < 1 and self._asked <= FEW_STEPS):
            return ""
        seconds = round((time.monotonic() - self._started) / advanced * (total - done))
        return f"{seconds // 60}:{seconds % 60:02d} left"


class PlainLines:
    """Lines for logs: stages, and an epoch every few seconds."""

    def __init__(self) -> None:
        self._last = 0.0
        self._remaining, self._estimated = RemainingTime(), False

    def __call__(self, event: Event) -> None:
        if isinstance(event, EpochFinished):
            self._show_epoch(event)
        elif isinstance(event, StepsTaken):
            self._show_first_estimate(event)
        elif isinstance(event, StageStarted):
            self._remaining, self._estimated = RemainingTime(), False
        elif isinstance(event, StageFinished):
            _print(f"{name_stage(event.stage)}: " + ("already finished" if event.reused else f"{event.seconds:.1f} s"))
        elif isinstance(event, Message):
            _print(_word(event))

    def _show_first_estimate(self, event: StepsTaken) -> None:
        """Once, as soon as there is a pace; the lines of epochs put it right."""
        left = self._remaining.estimate(event.epochs_done, event.total)
        if left and not self._estimated:
            self._estimated = True
            _print(f"training: about {left}")

    def _show_epoch(self, event: EpochFinished) -> None:
        left = self._remaining.estimate(event.epochs_done, event.total)
        if time.monotonic() - self._last > SECONDS_BETWEEN_LINES or event.epochs_done == event.total:
            self._last = time.monotonic()
            _print(", ".join(filter(None, [describe_epoch(event), left])))


@contextmanager
def _live_display() -> Iterator[Listener]:
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

    columns = (
        TextColumn("{task.description:<11}"),
        BarColumn(bar_width=16),
        TimeElapsedColumn(),
        TextColumn("{task.fields[text]}"),
    )
    with Progress(*columns, console=Console(stderr=True)) as progress:
        yield LiveDisplay(progress)


class LiveDisplay:
    """One bar per stage; next to that of training how far it is. Fits into 80 columns."""

    def __init__(self, progress: "Progress") -> None:
        self._progress = progress
        self._stages: dict[str, TaskID] = {}
        self._remaining = RemainingTime()
        self._phase = self._figures = ""

    def __call__(self, event: Event) -> None:
        if isinstance(event, StageStarted):
            self._remaining = RemainingTime()
            self._stages[event.stage] = self._progress.add_task(
                name_stage(event.stage), total=event.steps or None, text=""
            )
        elif isinstance(event, StageProgress):
            self._progress.update(self._stages[event.stage], completed=event.done)
        elif isinstance(event, StepsTaken):
            self._show_steps(event)
        elif isinstance(event, EpochFinished):
            self._show_epoch(event)
        elif isinstance(event, StageFinished):
            self._progress.update(self._stages[event.stage], total=1, completed=1)
            if event.reused:
                self._progress.update(self._stages[event.stage], text="already finished")
        elif isinstance(event, Message):
            self._progress.console.print(_word(event), markup=False, highlight=False)

    def _show_epoch(self, event: EpochFinished) -> None:
        record = event.record
        if loudness() >= VERBOSE:
            self._phase, self._figures = f"{record.phase}, epoch {event.epochs_done}, ", f"\n{describe_figures(event)}"
        self._show_place(event.epochs_done, event.total)

    def _show_steps(self, event: StepsTaken) -> None:
        self._show_place(event.epochs_done, event.total)

    def _show_place(self, done: float, total: int) -> None:
        """The bar and the time left; with -v phase, number and figures of the last epoch that is over."""
        left = self._remaining.estimate(done, total)
        place = ", ".join(filter(None, [f"{self._phase}{done / total:.0%}", left]))
        self._progress.update(self._stages["learning"], completed=done, text=place + self._figures)


def _word(message: Message) -> str:
    return show_plainly(("warning: " if message.warning else "") + message.text)


def _tell_warnings(event: Event) -> None:
    if isinstance(event, Message) and event.warning:
        _print(_word(event))


def _print(line: str) -> None:
    print(show_plainly(line), file=sys.stderr, flush=True)
