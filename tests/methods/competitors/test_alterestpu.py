"""AlterEstPU's prior takes turns with its classifier."""

import numpy as np
import pytest

from fewpoint.bench.methods import find_settings
from fewpoint.core import AreaBound, EpochPredicted
from fewpoint.core.settings import as_table
from fewpoint.evaluation.phantom import make_phantom
from fewpoint.learning.estimators import update_prior
from fewpoint.methods.competitors.alterestpu import AlterEstPu
from synthetic import TINY

CHANGES = tuple((f"{part}.{key}", value) for part, values in as_table(TINY).items() for key, value in values.items())


def test_phases_use_half_the_bound_then_one_estimate_for_all_frames_and_then_the_last_one():
    phantom, events = make_phantom(n_frames=4, size=(40, 48)), []
    method = AlterEstPu(find_settings("alterestpu", CHANGES), "cpu", events.append)
    history = method.segment(phantom.sequence, phantom.points, AreaBound(0.3), seed=0).history
    assert [record.phase for record in history.records] == ["warm-up"] * 2 + ["estimation"] * 3 + ["final"] * 2
    assert (np.ptp(history.priors, axis=1) == 0).all()
    np.testing.assert_allclose(history.priors[:3, 0], [0.15, 0.15, 0.3], rtol=1e-6)
    expected = 0.3
    for epoch in (2, 3, 4):
        expected = update_prior(expected, history.observed[epoch].astype(float), bound=0.3, step=0.005)
        np.testing.assert_allclose(history.priors[epoch + 1], expected, rtol=1e-4)
    assert history.priors[6, 0] == history.priors[5, 0]
    told = [event for event in events if isinstance(event, EpochPredicted)]
    assert [event.epoch for event in told] == [2, 3, 4, 5, 7]  # outside the estimation only the last of a phase counts
    assert told[3].priors == pytest.approx(history.priors[5], rel=1e-4)
