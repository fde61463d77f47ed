"""AlterEstPU's prior takes turns with its classifier."""

import numpy as np
import pytest

from fewpoint.baselines.alterestpu import AlterEstPu, update_prior
from fewpoint.bench.methods import find_settings
from fewpoint.core import AreaBound, EpochPredicted
from fewpoint.evaluation.phantom import make_phantom
from fewpoint.pipeline.config import as_table
from synthetic import TINY

CHANGES = tuple((f"{part}.{key}", value) for part, values in as_table(TINY).items() for key, value in values.items())


def test_the_prior_follows_the_mean_prediction_below_the_bound_and_steps_down_above_it():
    follow = update_prior(np.full(2, 0.1), np.array([0.04, 0.06]), bound=0.08, step=0.005)
    above = update_prior(np.full(2, 0.1), np.array([0.5, 0.5]), bound=0.08, step=0.005)
    np.testing.assert_allclose([follow[0], above[0]], [0.05, 0.095])


def test_the_prior_never_reaches_zero_by_its_steps():
    assert update_prior(np.full(1, 0.003), np.array([0.9]), bound=0.1, step=0.005)[0] == 0.005


def test_phases_use_half_the_bound_then_one_estimate_for_all_frames_and_then_the_last_one():
    phantom, events = make_phantom(n_frames=4, size=(40, 48)), []
    method = AlterEstPu(find_settings("alterestpu", CHANGES), "cpu", events.append)
    history = method.segment(phantom.sequence, phantom.points, AreaBound(0.3), seed=0).history
    assert [record.phase for record in history.records] == ["warm-up"] * 2 + ["estimation"] * 3 + ["final"] * 2
    assert (np.ptp(history.priors, axis=1) == 0).all()
    np.testing.assert_allclose(history.priors[:3, 0], [0.15, 0.15, 0.3], rtol=1e-6)
    expected = np.full(4, 0.3)
    for epoch in (2, 3, 4):
        expected = update_prior(expected, history.observed[epoch].astype(float), bound=0.3, step=0.005)
        np.testing.assert_allclose(history.priors[epoch + 1], expected, rtol=1e-4)
    assert history.priors[6, 0] == history.priors[5, 0]
    told = [event for event in events if isinstance(event, EpochPredicted)]
    assert [event.epoch for event in told] == [2, 3, 4, 5, 7]  # outside the estimation only the last of a phase counts
    assert told[3].priors == pytest.approx(history.priors[5], rel=1e-4)
