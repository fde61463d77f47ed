"""When the estimation of the priors ends, as a table of cases."""

import pytest

from fewpoint.errors import SettingsError
from fewpoint.learning.settings import StoppingSettings
from fewpoint.learning.stopping import StopState, is_calm, update_stop

BOUND = 0.1
CALM, WILD = (0.001, 0.05), (0.5, 0.05)
TOO_LARGE = (0.001, 0.1)


NEVER = 1000


def follow(epochs: list[tuple[float, float]], settings: StoppingSettings, latest: int = NEVER) -> list[StopState]:
    """The rule's state after each epoch of such variances and shares."""
    states = [StopState()]
    for epoch, seen in enumerate(epochs, start=1):
        states.append(update_stop(states[-1], epoch, is_calm(*seen, BOUND, settings), latest, settings))
    return states[1:]


def run_rule(epochs: list[tuple[float, float]], window: int, minimum: int) -> list[int]:
    """The streak after each epoch up to the halt; a halt is shown as a last entry -1."""
    streaks = []
    for state in follow(epochs, StoppingSettings(0.007, window, minimum, halts=True)):
        streaks.append(state.streak)
        if state.halted:
            return [*streaks, -1]
    return streaks


@pytest.mark.parametrize(
    ("epochs", "window", "minimum", "streaks"),
    [
        ([CALM] * 5, 3, 0, [1, 2, 3, -1]),
        ([CALM] * 2, 3, 0, [1, 2]),
        ([CALM, CALM, WILD, CALM, CALM, CALM], 3, 0, [1, 2, 0, 1, 2, 3, -1]),
        ([CALM, CALM, TOO_LARGE, CALM], 3, 0, [1, 2, 0, 1]),
        # The window begins after the minimum.
        ([CALM] * 9, 3, 5, [0, 0, 0, 0, 0, 1, 2, 3, -1]),
        ([CALM] * 3 + [WILD] + [CALM] * 3, 3, 2, [0, 0, 1, 0, 1, 2, 3, -1]),
        ([WILD, CALM, CALM], 2, 1, [0, 1, 2, -1]),
        ([CALM] * 4, 1, 3, [0, 0, 0, 1, -1]),
        ([CALM], 1, 0, [1, -1]),
    ],
)
def test_the_streak_epoch_by_epoch(epochs, window, minimum, streaks):
    assert run_rule(epochs, window, minimum) == streaks


@pytest.mark.parametrize(
    ("variance", "share", "streak"),
    [
        (0.0069, 0.0999, 1),
        (0.007, 0.0999, 0),
        (0.0069, 0.1, 0),
        (float("nan"), 0.05, 0),
    ],
)
def test_both_conditions_are_strict(variance, share, streak):
    (state,) = follow([(variance, share)], StoppingSettings(0.007, 5, 0))
    assert state.streak == streak


def test_the_papers_rule_selects_epoch_31_at_the_earliest():
    streaks = run_rule([CALM] * 100, 10, 30)
    assert streaks.index(1) + 1 == 31
    assert len(streaks) - 1 == 40


def test_a_rule_that_does_not_halt_holds_once_and_counts_no_more():
    states = follow([CALM] * 5, StoppingSettings(0.007, 2, 0))
    after = [StopState(0, held=True, calm=calm) for calm in (3, 4, 5)]
    assert states == [StopState(1, promising=True, calm=1), StopState(2, held=True, calm=2), *after]


def test_calm_epochs_are_counted_before_the_least_number_too():
    states = follow([CALM, WILD] + [CALM] * 4, StoppingSettings(0.007, 2, 3))
    assert [state.streak for state in states] == [0, 0, 0, 1, 2, 0]
    assert [state.calm for state in states] == [1, 0, 1, 2, 3, 4]


def test_a_rule_that_holds_only_when_priors_are_swept_away_selects_the_first_epoch_that_it_could_have():
    states = follow([WILD] * 6 + [CALM] * 3, StoppingSettings(0.007, 2, 2, halts=True), latest=6)
    assert [state.promising for state in states] == [False, False, True] + [False] * 6
    assert states[5] == StopState() and states[6] == StopState(held=True, halted=True, overdue=True, calm=1)


def test_of_windows_that_were_not_filled_in_time_the_last_begun_is_selected():
    states = follow([CALM, WILD, WILD, CALM, WILD, WILD], StoppingSettings(0.007, 2, 0), latest=4)
    assert [number for number, state in enumerate(states, start=1) if state.promising] == [1, 4]
    assert states[3].streak == 1 and states[4].overdue


def test_a_window_that_began_in_time_may_be_filled_later():
    states = follow([WILD, CALM, CALM, CALM], StoppingSettings(0.007, 3, 0, halts=True), latest=2)
    assert states[3] == StopState(3, held=True, halted=True, calm=3)


@pytest.mark.parametrize("wrong", [{"variance": 0.0}, {"window": 0}, {"minimum": -1}])
def test_meaningless_settings_are_refused_by_name(wrong):
    with pytest.raises(SettingsError, match=f"stopping.{next(iter(wrong))}"):
        StoppingSettings(**wrong)
