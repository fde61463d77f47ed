"""When the estimation of the priors ends."""

from dataclasses import dataclass, replace

from fewpoint.learning.settings import StoppingSettings


@dataclass(frozen=True)
class StopState:
    """streak: epochs in a row on which both conditions held. held: a streak has filled the window, which selects its
    first epoch. halted: the estimation ends."""

    streak: int = 0
    held: bool = False
    halted: bool = False


def update_stop(
    state: StopState, epoch: int, variance: float, largest_share: float, bound: float, settings: StoppingSettings
) -> StopState:
    """Count epochs on which pseudo-negatives vary little and no frame holds more pseudo-positives than the bound.

    epoch: counts from 1. Counting starts after the least number of epochs. The first window that is filled is exactly
    `window` epochs long and starts with its streak; nothing is counted after it.

    >>> settings = StoppingSettings(variance=0.007, window=2, minimum=0)
    >>> update_stop(StopState(streak=1), 2, 0.001, 0.05, 0.1, settings)
    StopState(streak=2, held=True, halted=True)
    """
    if state.held:
        return replace(state, streak=0)
    holds = epoch > settings.minimum and variance < settings.variance and largest_share < bound
    streak = state.streak + 1 if holds else 0
    held = streak >= settings.window
    return StopState(streak, held, held and settings.halts)
