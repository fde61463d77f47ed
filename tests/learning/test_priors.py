"""The priors: smoothing, control and observation as the method says, and what the truth, observed, makes of them."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fewpoint.core import AreaBound
from fewpoint.errors import SettingsError
from fewpoint.learning.kalman import Gaussian
from fewpoint.learning.priors import control_input, estimate_from, initial_state, smoothing_matrix, update_priors
from fewpoint.learning.settings import PriorSettings

BOUND = AreaBound(0.2)
LENGTHS = [1, 2, 3, 4, 10, 59, 60, 61, 99, 100, 300]


@pytest.mark.parametrize("n_frames", LENGTHS)
def test_smoothing_keeps_a_constant_and_treats_both_ends_alike(n_frames):
    matrix = smoothing_matrix(n_frames, 0.05)
    np.testing.assert_allclose(matrix.sum(axis=1), 1, rtol=1e-12)
    assert (matrix >= 0).all()
    np.testing.assert_allclose(matrix[::-1, ::-1], matrix, rtol=1e-12)


@pytest.mark.parametrize("n_frames", LENGTHS[1:])
def test_smoothing_smooths_at_every_length(n_frames):
    zigzag = (-1.0) ** np.arange(n_frames)
    assert np.abs(smoothing_matrix(n_frames, 0.05) @ zigzag).max() < 0.5


@pytest.mark.parametrize(("n_frames", "length"), [(1, 1), (20, 3), (60, 3), (100, 5), (200, 11), (300, 15)])
def test_the_window_is_five_hundredths_of_the_frames_made_odd(n_frames, length):
    assert (smoothing_matrix(n_frames, 0.05)[n_frames // 2] > 0).sum() == length


def test_with_its_end_points_a_short_window_smooths_nothing_and_a_long_one_less():
    """A Hann window of length 3 is 0, 1, 0; of length 5 0, 1/2, 1, 1/2, 0, which sum to 2."""
    np.testing.assert_array_equal(smoothing_matrix(40, 0.05, ends=True), np.eye(40))
    np.testing.assert_allclose(smoothing_matrix(100, 0.05, ends=True)[50, 48:53], [0, 0.25, 0.5, 0.25, 0], atol=1e-12)


def test_a_window_of_five_by_hand():
    # Hann at sixths of a turn: sin^2 of 30, 60, 90 degrees: 1/4, 3/4, 1; they sum to 3.
    middle = smoothing_matrix(100, 0.05)[50, 48:53]
    np.testing.assert_allclose(middle, np.array([0.25, 0.75, 1, 0.75, 0.25]) / 3, rtol=1e-12)
    np.testing.assert_allclose(smoothing_matrix(100, 0.05)[0, :4], [1 / 2, 3 / 8, 1 / 8, 0], atol=1e-12)


def test_the_control_rises_evenly_from_the_first_to_the_last_value():
    steps = [control_input(epoch, 100, PriorSettings()) for epoch in (0, 50, 100)]
    assert steps == pytest.approx([0.002, 0.021, 0.04])
    assert control_input(3, 10, PriorSettings(first_control=0.5, last_control=0.5)) == 0.5


def test_every_frame_starts_at_the_bound():
    state = initial_state(3, BOUND, PriorSettings())
    np.testing.assert_array_equal(state.mean, [0.2] * 3)
    np.testing.assert_array_equal(state.covariance, 0.03 * np.eye(3))


def test_one_step_for_one_frame_by_hand():
    # From the bound 0.2 down by 0.1 of it: 0.18. Variance 1 + 0.5; the observation, clipped to 0.2, has the gain
    # 1.5 / (1.5 + 50).
    chosen = PriorSettings(initial_variance=1.0, first_control=0.1, last_control=0.1)
    state = update_priors(initial_state(1, BOUND, chosen), np.array([0.7]), 0, 10, BOUND, chosen)
    gain = 1.5 / 51.5
    assert state.mean[0] == pytest.approx(0.18 + gain * (0.2 - 0.18))
    assert state.covariance[0, 0] == pytest.approx((1 - gain) * 1.5)


@pytest.mark.parametrize("n_frames", [25, 74, 114])
@pytest.mark.parametrize("fraction", [0.01, 0.1, 0.4])
def test_the_truth_observed_for_thirty_epochs_is_found(n_frames, fraction):
    """With the paper's own settings and horizon; the shape is that of a volume, small at both ends."""
    bound = AreaBound(fraction)
    truth = fraction * (0.1 + 0.6 * np.sin(np.pi * np.arange(n_frames) / n_frames) ** 2)
    state = initial_state(n_frames, bound, PriorSettings())
    for epoch in range(30):
        state = update_priors(state, truth, epoch, 100, bound, PriorSettings())
    assert np.abs(state.mean - truth).mean() < 0.1 * fraction
    assert np.corrcoef(state.mean, truth)[0, 1] > 0.9


def test_what_is_observed_decides_the_priors():
    """Whether nothing or the bound is observed all along changes the mean prior at epoch 30 by half the bound."""
    means = []
    for observed in (0.0, 0.2):
        state = initial_state(20, BOUND, PriorSettings())
        for epoch in range(30):
            state = update_priors(state, np.full(20, observed), epoch, 100, BOUND, PriorSettings())
        means.append(state.mean.mean())
    assert means[1] - means[0] > 0.5 * BOUND.fraction


@settings(max_examples=30)
@given(st.lists(st.floats(0, 1), min_size=1, max_size=8), st.floats(0.01, 0.95), st.integers(1, 30))
def test_priors_stay_between_zero_and_the_bound(observed, fraction, horizon):
    bound, chosen = AreaBound(fraction), PriorSettings()
    state = initial_state(len(observed), bound, chosen)
    for epoch in range(horizon):
        state = update_priors(state, np.array(observed), epoch, horizon, bound, chosen)
        assert (state.mean >= 0).all() and (state.mean <= fraction).all()


def test_with_a_patient_filter_a_larger_observation_gives_a_larger_prior():
    state = initial_state(3, BOUND, PriorSettings())
    low, high = (
        update_priors(state, np.full(3, observed), 0, 100, BOUND, PriorSettings()).mean for observed in (0.01, 0.19)
    )
    assert (low < high).all()


def test_the_estimate_of_an_absent_frame_is_zero_for_certain():
    estimate = estimate_from(
        Gaussian(np.array([0.1, 0.1]), np.diag([1e-4, 1e-4])), np.array([0.3, 0.4]), np.array([False, True]), BOUND
    )
    assert estimate.mean.tolist() == [0.1, 0.0]
    assert estimate.deviation.tolist() == [pytest.approx(0.01), 0.0]
    assert estimate.observed.tolist() == [0.3, 0.4]


def test_no_deviation_is_wider_than_a_guess_within_the_bound():
    estimate = estimate_from(Gaussian(np.array([0.1]), np.array([[0.5]])), np.zeros(1), np.array([False]), BOUND)
    # A number drawn evenly from [0, b] has the deviation b / sqrt(12).
    assert estimate.deviation[0] == pytest.approx(0.2 / np.sqrt(12))


@pytest.mark.parametrize(
    "wrong", [{"gamma": 0.0}, {"observation_noise": -1.0}, {"first_control": np.nan}, {"smoothing": 1.5}]
)
def test_meaningless_settings_are_refused_by_name(wrong):
    with pytest.raises(SettingsError, match=f"priors.{next(iter(wrong))}"):
        PriorSettings(**wrong)
