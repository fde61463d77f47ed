"""Networks that learn side by side in threads."""

from dataclasses import replace

import pytest

from fewpoint.core import StepsTaken, ignore
from fewpoint.core.progress import Event
from fewpoint.learning.phases import learn_side_by_side
from fewpoint.learning.settings import PhaseSettings
from learning.conftest import TRAINING, only


class EnoughError(Exception):
    """Raised by a listener."""


def test_they_stop_together(learning):
    """Only the first tells its listener of its steps; the others would go on with hundreds of theirs."""
    phases = PhaseSettings.only_warm_up(3, 1e-3)
    both = [learning(phases, training=replace(TRAINING, frames_per_epoch=2000)) for _ in range(2)]

    def stop(event: Event) -> None:
        if isinstance(event, StepsTaken):
            raise EnoughError

    with pytest.raises(EnoughError):
        learn_side_by_side(both, [stop, ignore], [ignore, ignore])
    assert [only(each).progress.epoch for each in both] == [0, 0]
