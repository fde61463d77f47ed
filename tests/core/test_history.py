"""What a history says of the epoch that was selected."""

import numpy as np
import pytest

from fewpoint.core import EpochRecord, PriorHistory


def make_history(streaks: list[int], stopped: int, selected: int) -> PriorHistory:
    """A history of one frame whose epochs have these streaks of calm, with the window filled at `stopped`, if any."""
    records = tuple(
        EpochRecord(epoch, "estimation", *[0.0] * 8, stop_streak=streak, stopped=epoch == stopped)
        for epoch, streak in enumerate(streaks, start=1)
    )
    rows = np.zeros((len(streaks), 1), np.float32)
    return PriorHistory(records, rows, rows, rows, selected)


@pytest.mark.parametrize(
    ("streaks", "stopped", "selected", "by"),
    [
        ([0, 0, 1, 2, 3], 4, 3, "rule"),
        ([1, 2, 3, 4, 5], 4, 3, "minimum"),
        ([0, 1, 0, 1, 0], 0, 4, "neither"),
        ([0, 0, 0, 0, 0], 0, 5, "neither"),
        ([1, 2, 3, 4, 5], 4, 0, ""),
        ([], 0, 0, ""),
    ],
)
def test_what_decided_the_epoch_is_where_calm_began(streaks, stopped, selected, by):
    assert make_history(streaks, stopped, selected).selected_by == by
