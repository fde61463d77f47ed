"""When the estimation of the priors ends."""

from dataclasses import dataclass, replace

from fewpoint.learning.settings import StoppingSettings


@dataclass(frozen=True)
class StopState:
    """streak: epochs in a row on which both conditions held. held: an epoch is selected: the first of a streak that has
    filled the window. halted: the estimation ends.

    promising: the epoch just over is the one that would be selected: it begins a streak, or is the first that could.
    overdue: no streak that began in time filled the window, so that the last promising epoch is selected.
    calm: epochs in a row on which both conditions held, those before the least number included.
    """

    streak: int = 0
    held: bool = False
    halted: bool = False
    promising: bool = False
    overdue: bool = False
    calm: int = 0


def update_stop(state: StopState, epoch: int, calm: bool, latest: int, settings: StoppingSettings) -> StopState:
    """Count calm epochs, see is_calm, in a row.

    epoch: counts from 1. Counting starts after the least number of epochs. The first window that is filled is exactly
    `window` epochs long and starts with its streak, at the latest with epoch `latest`; nothing is counted after it.

    >>> settings = StoppingSettings(window=2, minimum=0)
    >>> update_stop(StopState(streak=1), 2, calm=True, latest=9, settings=settings)
    StopState(streak=2, held=True, halted=False, promising=False, overdue=False, calm=1)
    """
    in_a_row = state.calm + 1 if calm else 0
    if state.held:
        return replace(state, streak=0, promising=False, calm=in_a_row)
    may_begin = state.streak > 0 or settings.minimum < epoch <= latest
    streak = state.streak + 1 if calm and may_begin else 0
    overdue = streak == 0 and epoch > max(latest, settings.minimum)
    held = streak >= settings.window or overdue
    promising = streak == 1 or epoch == settings.minimum + 1
    return StopState(streak, held, held and settings.halts, promising, overdue, in_a_row)


def is_calm(variance: float, largest_share: float, bound: float, settings: StoppingSettings) -> bool:
    """Whether pseudo-negatives vary little and no frame holds more pseudo-positives than the bound."""
    return variance < settings.variance and largest_share < bound
