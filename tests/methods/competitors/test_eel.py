"""EEL's formulas by hand: guess, propagation, loss, boosting."""

import numpy as np
import pytest

from fewpoint.core import ImageSequence, SuperpixelMap
from fewpoint.errors import SettingsError
from fewpoint.evaluation.phantom import make_phantom
from fewpoint.methods.competitors.eel import (
    Eel,
    Splits,
    Stump,
    best_step,
    boost,
    build_affinity,
    calibrate,
    colour_density,
    expected_loss,
    guess_probabilities,
    propagate,
    pull,
)
from fewpoint.methods.competitors.settings import (
    AutoencoderSettings,
    BoostingSettings,
    EelSettings,
    PropagationSettings,
)
from fewpoint.superpixels.slic import SuperpixelSettings


def test_the_density_is_normalised_and_falls_with_the_mahalanobis_distance():
    """Pixels 0.4 and 0.6: mean 0.5, variance 0.01 + 0.0001; 0.6005 is one deviation away."""
    pixels = np.array([[0.4], [0.6]])
    means = np.array([[0.5], [0.5 + np.sqrt(0.0101)]])
    peak = 1 / np.sqrt(2 * np.pi * 0.0101)
    np.testing.assert_allclose(colour_density(means, pixels), [peak, peak * np.exp(-0.5)])


def test_a_superpixel_of_one_colour_has_a_higher_density_than_one_of_many():
    """Two channels, both of variance 0.0001 (the ridge alone) or 0.0101: the ratio is that of the variances."""
    uniform, mixed = np.zeros((4, 2)), np.array([[0.1, 0.1], [-0.1, -0.1], [0.1, -0.1], [-0.1, 0.1]])
    densities = [colour_density(np.zeros((1, 2)), pixels)[0] for pixels in (uniform, mixed)]
    assert densities[0] / densities[1] == pytest.approx(0.0101 / 0.0001)


def test_the_guess_is_the_best_over_the_clicked_superpixels_of_the_frame():
    """Both ends are clicked on the first frame, nothing on the second, although it looks the same."""
    frames = np.tile(np.array([0, 0, 100, 100, 200, 200], np.uint8), (2, 1, 1))
    superpixels = SuperpixelMap(np.tile(np.array([0, 0, 1, 1, 2, 2], np.int32), (2, 1, 1)))
    positive = np.array([True, False, True, False, False, False])
    guess = guess_probabilities(ImageSequence.from_array(frames), superpixels, positive)
    peak = 1 / np.sqrt(2 * np.pi * 1e-4)
    np.testing.assert_allclose(guess, [peak, 0, peak, 0, 0, 0], atol=1e-6)


def test_half_of_the_clicked_superpixels_are_certain_however_high_the_densest_is():
    expected, positive = np.array([2.0, 4.0, 1000.0, 1.0]), np.array([True, True, True, False])
    assert calibrate(expected, positive).tolist() == [0.5, 1.0, 1.0, 0.25]


def test_affinity_is_that_of_a_slow_version():
    """Four superpixels in a row of 40 pixels on two frames; the farthest pair is out of reach."""
    labels = np.tile(np.repeat(np.arange(4, dtype=np.int32), 10), (2, 1, 1))
    directions = np.linspace(-3, 3, 8)
    settings = PropagationSettings(reach=0.5)
    found = build_affinity(SuperpixelMap(labels), directions, settings).toarray()
    expected = np.zeros((8, 8))
    for one in range(8):
        for other in range(8):
            distance = 10 * abs(one % 4 - other % 4)
            turn = abs(directions[one] - directions[other])
            turn = min(turn, 2 * np.pi - turn)
            if one != other and distance <= 20:
                expected[one, other] = np.exp(-(turn**2) / (2 * 0.5**2)) * np.exp(-(distance**2) / (2 * 20**2))
    totals = expected.sum(axis=1)
    np.testing.assert_allclose(found, expected / np.sqrt(np.outer(totals, totals)), rtol=1e-6)
    np.testing.assert_allclose(found, found.T, rtol=1e-12)


def test_links_lie_within_a_frame_or_across_to_the_next():
    superpixels = SuperpixelMap(np.tile(np.repeat(np.arange(2, dtype=np.int32), 10), (3, 1, 1)))
    linked = {}
    for links in ("within", "across", "both"):
        affinity = build_affinity(superpixels, np.zeros(6), PropagationSettings(reach=0.6, links=links)).toarray()
        linked[links] = np.flatnonzero(affinity[0]).tolist()
    assert linked == {"within": [1], "across": [2, 3], "both": [1, 2, 3]}
    with pytest.raises(SettingsError, match=r"propagation\.links must be within or across or both, got none"):
        PropagationSettings(links="none")


def test_a_lone_frame_linked_across_keeps_its_guess_alone():
    superpixels = SuperpixelMap(np.array([[[0, 0, 1, 1]]], np.int32))
    affinity = build_affinity(superpixels, np.zeros(2), PropagationSettings(links="across"))
    assert (affinity @ np.ones(2)).tolist() == [0, 0]


def test_propagation_takes_ten_steps_towards_the_neighbours():
    affinity = np.array([[0, 1.0], [1.0, 0]])
    guess = np.array([1.0, 0.0])
    expected = guess
    for _ in range(10):
        expected = 0.95 * affinity @ expected + 0.05 * guess
    np.testing.assert_allclose(propagate(guess, affinity, PropagationSettings()), expected)


def test_clicked_superpixels_are_in_the_mask_whatever_their_score():
    phantom = make_phantom(n_frames=3, size=(40, 48))
    small = AutoencoderSettings(base_width=2, levels=2, max_side=32, epochs=1, frames_per_epoch=4)
    settings = EelSettings(SuperpixelSettings(count=60), small, boosting=BoostingSettings(rounds=1))
    masks = Eel(settings, "cpu").segment(phantom.sequence, phantom.points, None, seed=0).masks
    assert masks[tuple(phantom.points.coordinates.T)].all()


def test_the_loss_counts_an_unlabelled_superpixel_as_both():
    """f = 1: a positive costs e^-1, an unlabelled of probability 1/4 costs e^-1 / 4 + 3 e / 4."""
    loss = expected_loss(np.ones(2), np.array([True, False]), np.array([0.9, 0.25]))
    assert loss == pytest.approx(np.exp(-1) + np.exp(-1) / 4 + 3 * np.e / 4)


def test_the_pull_is_the_loss_s_negative_gradient():
    scores, positive, belief = np.array([0.3, -0.2]), np.array([True, False]), np.array([0.0, 0.6])
    up, down = pull(scores, np.where(positive, 1.0, belief))
    for place in range(2):
        moved = [scores.copy(), scores.copy()]
        moved[0][place] -= 1e-5
        moved[1][place] += 1e-5
        slope = (expected_loss(moved[1], positive, belief) - expected_loss(moved[0], positive, belief)) / 2e-5
        assert up[place] - down[place] == pytest.approx(-slope, rel=1e-6)


def test_the_best_step_is_the_lowest_point():
    steps = np.linspace(-1, 1, 2001)
    losses = 3 * np.exp(-steps) + 1.5 * np.exp(steps)
    assert best_step(3, 1.5) == pytest.approx(steps[losses.argmin()], abs=1e-3)
    assert best_step(1, 0) == 3


def test_boosting_lowers_the_loss_and_separates_what_one_feature_tells_apart():
    rng = np.random.default_rng(0)
    truth = rng.random(400) < 0.3
    features = np.stack([truth + 0.3 * rng.standard_normal(400), rng.standard_normal(400)], axis=1).astype(np.float32)
    positive = truth & (rng.random(400) < 0.2)
    belief = np.where(truth, 0.8, 0.1)
    losses = []
    for rounds in (1, 10):
        settings = BoostingSettings(rounds=rounds, unlabelled=1.0)
        scores = boost(features, positive, belief, settings, np.random.default_rng(0))
        losses.append(expected_loss(scores, positive, belief))
    assert losses[1] < losses[0] < expected_loss(np.zeros(400), positive, belief)
    assert ((scores > 0) == truth).mean() > 0.9


@pytest.mark.parametrize("seed", range(5))
def test_the_best_split_is_that_of_a_slow_version(seed):
    """Rounded values, so that many are equal: no threshold lies between those."""
    rng = np.random.default_rng(seed)
    features, targets = rng.standard_normal((40, 3)).round(1), rng.standard_normal(40)
    errors = {}
    for feature, column in enumerate(features.T):
        values = np.unique(column)
        for threshold in (values[1:] + values[:-1]) / 2:
            sides = (targets[column > threshold], targets[column <= threshold])
            errors[feature, threshold] = sum(((side - side.mean()) ** 2).sum() for side in sides)
    feature, threshold = min(errors, key=errors.get)
    found = Splits.of(features).find_best(targets)
    assert found.feature == feature and found.threshold == pytest.approx(threshold)


def test_boosting_is_that_of_regression_trees_of_depth_one():
    from sklearn.tree import DecisionTreeRegressor

    rng = np.random.default_rng(0)
    features, expected = rng.standard_normal((300, 6)).astype(np.float32), rng.random(300)
    positive = np.arange(300) < 10
    belief, scores = np.where(positive, 1.0, expected), np.zeros(300)
    for _ in range(8):
        up, down = pull(scores, belief)
        sides = DecisionTreeRegressor(max_depth=1).fit(features, up - down).apply(features)
        for side in np.unique(sides):
            scores[sides == side] += best_step(up[sides == side].sum(), down[sides == side].sum())
    settings = BoostingSettings(rounds=8, unlabelled=1.0)
    np.testing.assert_allclose(boost(features, positive, expected, settings, np.random.default_rng(0)), scores)


@pytest.mark.parametrize("features", [np.ones((4, 2)), np.ones((1, 2))])
def test_samples_that_no_feature_tells_apart_are_not_parted(features):
    assert Splits.of(features).find_best(np.arange(len(features), dtype=float)) == Stump(0, np.inf)
    positive = np.arange(len(features)) < 1
    scores = boost(
        features, positive, np.zeros(len(features)), BoostingSettings(unlabelled=1.0), np.random.default_rng(0)
    )
    assert len(np.unique(scores)) == 1
