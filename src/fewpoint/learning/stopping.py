"""When the estimation of the priors ends."""

from dataclasses import dataclass

from fewpoint.learning.settings import StoppingSettings


@dataclass(frozen=True)
class StopState:
    """streak: epochs in a row on which both conditions held. halted: the streak filled the window."""

    streak: int = 0
    halted: bool = False


def update_stop(
    state: StopState, epoch: int, variance: float, largest_share: float, bound: float, settings: StoppingSettings
) -> StopState:
    """Count epochs on which pseudo-negatives vary little and no frame holds more pseudo-positives than the bound.

    epoch: counts from 1. Counting starts so late that a full window ends no earlier than the least number of epochs;
    the window that halts is therefore exactly `window` epochs long and starts with the streak.

    >>> settings = StoppingSettings(variance=0.007, window=2, minimum=2)
    >>> update_stop(StopState(streak=1), 2, 0.001, 0.05, 0.1, settings)
    StopState(streak=2, halted=True)
    """
    counts = epoch > settings.minimum - settings.window
    holds = counts and variance < settings.variance and largest_share < bound
    streak = state.streak + 1 if holds else 0
    return StopState(streak, streak >= settings.window)
