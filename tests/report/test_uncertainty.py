"""Which frames a person should look at first."""

import numpy as np
import pytest

from fewpoint.core import AreaBound, PriorEstimate, PriorHistory, ProbabilityMaps, Result
from fewpoint.report import rank_frames


def build(probabilities, masks, priors):
    probabilities, masks = np.array(probabilities, np.float32), np.array(masks, bool)
    priors = np.array(priors, np.float64)
    names = tuple(f"f{frame}" for frame in range(len(masks)))
    estimate = PriorEstimate(priors, 0 * priors, priors)
    history = PriorHistory.empty(len(masks))
    return Result.single(masks, ProbabilityMaps(probabilities), estimate, history, AreaBound(0.5), names)


def test_hand_computed():
    certain = [[1, 1, 0, 0], [0, 0, 0, 0]]
    unsure = [[1, 0.5, 0.5, 0], [0, 0, 0, 0]]
    mask = [[1, 1, 0, 0], [0, 0, 0, 0]]
    first, second = rank_frames(build([certain, unsure], [mask, mask], [2 / 8, 4 / 8]))
    # A = 4 pixels expected, 2 masked: D = 2 / 4. R: the mask and 4 outside, two of the six at one bit: E = 2 / 6
    assert (first.frame, first.name, first.mask_share, first.prior) == (1, "f1", 0.25, 0.5)
    assert first.uncertainty == pytest.approx(1 - (1 - 2 / 6) * (1 - 2 / 4))
    assert (second.frame, second.uncertainty) == (0, 0)


def make_disc(radius, size=64):
    y, x = np.mgrid[:size, :size] - size / 2
    return np.hypot(y, x) < radius


def test_blurred_frames_are_more_uncertain_than_sharp_ones_small_and_large_alike():
    masks = np.stack([make_disc(10), make_disc(25), make_disc(10), make_disc(25)])
    softness = np.array([0.4, 0.3, 0.2, 0.1])[:, None, None]
    ranked = rank_frames(build(np.where(masks, 1 - softness, 0), masks, masks.mean(axis=(1, 2))))
    assert [entry.frame for entry in sorted(ranked, key=lambda entry: -entry.uncertainty)] == [0, 1, 2, 3]


def test_a_look_is_worth_most_where_most_pixels_may_be_wrong():
    masks = np.stack([make_disc(10), make_disc(25), make_disc(10)])
    softness = np.array([0.4, 0.3, 0.2])[:, None, None]
    ranked = rank_frames(build(np.where(masks, 1 - softness, 0), masks, masks.mean(axis=(1, 2))))
    small, large = (float(make_disc(radius).sum()) for radius in (10, 25))
    # sqrt(area x doubtful pixels), and all doubt lies inside the discs.
    worth = [np.sqrt(small * 0.4 * small), np.sqrt(large * 0.3 * large), np.sqrt(small * 0.2 * small)]
    assert [entry.frame for entry in ranked] == [1, 0, 2]
    assert [entry.worth for entry in ranked] == pytest.approx(np.array([worth[1], worth[0], worth[2]]) / worth[1], 0.01)


def test_a_mask_far_from_its_prior_comes_first():
    masks = np.stack([make_disc(10)] * 3)
    priors = masks.mean(axis=(1, 2)) * np.array([1, 2, 1.1])
    assert [entry.frame for entry in rank_frames(build(masks, masks, priors))] == [1, 2, 0]


def test_equal_frames_stay_in_order():
    masks = np.stack([make_disc(10)] * 3)
    assert [entry.frame for entry in rank_frames(build(masks, masks, masks.mean(axis=(1, 2))))] == [0, 1, 2]


def test_neither_pixel_size_nor_empty_surroundings_matter():
    rng = np.random.default_rng(0)
    masks = rng.random((3, 8, 8)) > 0.7
    probabilities = rng.choice([0, 0.25, 0.5, 1], (3, 8, 8))
    areas = np.array([12, 16, 20])
    plain = rank_frames(build(probabilities, masks, areas / 64))
    twice = np.ones((1, 2, 2))
    finer = rank_frames(build(np.kron(probabilities, twice), np.kron(masks, twice), areas / 64))
    around = ((0, 0), (4, 4), (4, 4))
    wider = rank_frames(build(np.pad(probabilities, around), np.pad(masks, around), areas / 256))
    for other in (finer, wider):
        assert [entry.frame for entry in other] == [entry.frame for entry in plain]
        np.testing.assert_allclose([e.uncertainty for e in other], [e.uncertainty for e in plain], rtol=1e-9)


def test_a_frame_known_to_be_empty_is_certain():
    (entry,) = rank_frames(build(np.zeros((1, 4, 4)), np.zeros((1, 4, 4)), [0]))
    assert entry.uncertainty == 0


def test_a_full_mask_is_measured_too():
    (entry,) = rank_frames(build(np.full((1, 4, 4), 0.5), np.ones((1, 4, 4)), [1]))
    assert entry.uncertainty == 1


def test_one_doubtful_pixel_does_not_decide_where_the_object_is_absent():
    masks = np.stack([make_disc(20), make_disc(0)])
    probabilities = masks.astype(float)
    probabilities[1, 3, 3] = 0.5
    assert max(entry.uncertainty for entry in rank_frames(build(probabilities, masks, masks.mean(axis=(1, 2))))) < 0.02


def test_an_unknown_prior_does_not_count():
    masks = np.stack([make_disc(10)])
    (entry,) = rank_frames(build(masks, masks, [np.nan]))
    assert entry.uncertainty == 0 and np.isnan(entry.prior)
