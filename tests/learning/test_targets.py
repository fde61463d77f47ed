"""What a further round learns from."""

import math
from dataclasses import replace

import numpy as np
import pytest
import torch

from fewpoint.core import AreaBound, PointSet, Words
from fewpoint.errors import SettingsError
from fewpoint.learning.prediction import pool_regions_of
from fewpoint.learning.settings import RoundSettings
from fewpoint.learning.targets import (
    Clues,
    ClueWeights,
    Targets,
    _follow_image,
    click_distances,
    emphasise_labels,
    frame_means,
    hangs_together,
    make_targets,
    nearness_prior,
    obey_labels,
    share_out,
    shift_to_share,
    spread,
    stand_in,
)
from learning.conftest import CLICKED, blocks_of, outline, scores_of


def weigh(**given: float) -> ClueWeights:
    """How much clues count by default, with some changed."""
    return ClueWeights.of(RoundSettings(**given))


def test_distances_are_to_the_nearest_click_of_the_frame(samples):
    points = PointSet.from_rows([(0, 5, 6), (0, 5, 10), (2, 0, 0)])
    distances = click_distances(samples(4, points), points)
    assert distances[0, 5, 6] == 0
    assert distances[0, 5, 9] == 1
    assert distances[2, 3, 4] == 5
    assert torch.isinf(distances[1]).all()


def test_the_nearness_prior_integrates_to_the_share_and_falls_with_the_distance(samples):
    points = PointSet.from_rows([(0, 5, 6), (2, 8, 8)])
    share, valid = torch.tensor([0.1, 0.2, 0.05, 0.1]), torch.ones(4, 16, 16)
    prior = nearness_prior(click_distances(samples(4, points), points), share, valid, 0.5)
    torch.testing.assert_close(frame_means(prior, valid), share, rtol=0, atol=1e-3)
    assert prior[0, 5, 6] > prior[0, 5, 8] > prior[0, 5, 12] >= 0.05 - 1e-6
    torch.testing.assert_close(prior[1], torch.full((16, 16), 0.2))


def test_shifted_scores_have_the_share_and_keep_their_order():
    scores = torch.randn(3, 16, 16, generator=torch.Generator().manual_seed(0))
    share, valid = torch.tensor([0.01, 0.3, 0.9]), torch.ones(3, 16, 16)
    shifted = shift_to_share(scores, share, valid)
    torch.testing.assert_close(frame_means(torch.sigmoid(shifted), valid), share, rtol=0, atol=1e-4)
    differences = (shifted - scores).flatten(1)
    torch.testing.assert_close(differences, differences[:, :1].expand_as(differences), rtol=0, atol=1e-5)


def test_only_what_a_click_reaches_through_space_and_time_hangs_together(samples):
    points = PointSet.from_rows([(0, 2, 2)])
    likely = torch.zeros(4, 16, 16)
    likely[0, 1:4, 1:4] = 0.9
    likely[1, 3:6, 3:6] = 0.9  # touches the first in time
    likely[3, 3:6, 3:6] = 0.9  # a frame of nothing lies between
    likely[0, 10:12, 10:12] = 0.9
    kept = hangs_together(likely, points, samples(4, points))
    assert kept[0, 1:4, 1:4].all()
    assert kept[1, 3:6, 3:6].all()
    assert not kept[3, 3:6, 3:6].any()
    assert not kept[0, 10:12, 10:12].any()
    assert kept[likely < 0.5].all()


def test_where_no_click_is_likely_nothing_is_doubted(samples):
    points = PointSet.from_rows([(0, 2, 2)])
    likely = torch.zeros(4, 16, 16)
    likely[0, 10:12, 10:12] = 0.9
    assert hangs_together(likely, points, samples(4, points)).all()


def test_spreading_means_gives_each_pixel_its_superpixels_mean(samples):
    given = samples(4)
    values = torch.rand(4, 16, 16, generator=torch.Generator().manual_seed(1))
    expected = torch.empty_like(values)
    for frame in range(4):
        for label in given.labels[frame].unique():
            inside = given.labels[frame] == label
            expected[frame][inside] = values[frame][inside].mean()
    torch.testing.assert_close(spread(pool_regions_of(values, given), given), expected)
    assert spread(given.positive, given).sum() == 4 * 16  # the clicked block of 4 x 4 pixels on each frame


def test_targets_hold_the_clicks_favour_what_is_near_and_leave_absent_frames_empty(samples):
    points = PointSet.from_rows([(0, 5, 6), (1, 5, 6), (2, 5, 6)], absent=[3])
    given = samples(4, points)
    even = torch.full((4, 16, 16), 0.1)
    targets = make_targets(even, given, Clues(points, points), AreaBound(0.3), weigh())
    assert (targets.probability[:3, 4:8, 4:8] == 1).all()
    near, far = targets.probability[0, 9, 6], targets.probability[0, 15, 15]
    assert near > far
    assert (targets.probability[3] == 0).all()
    assert (targets.weight[3] == 1).all()
    assert targets.weight.min() > 0


@pytest.mark.parametrize(
    "wrong",
    [
        {"rounds": -1},
        {"networks": 0},
        {"floor": 0.0},
        {"doubt": 2.0},
        {"nearness": -1.0},
        {"heldout": 1.1},
        {"taper": -1.0},
        {"outlines": 3.0},
    ],
)
def test_meaningless_rounds_are_refused_by_name(wrong):
    with pytest.raises(SettingsError, match=f"rounds.{next(iter(wrong))}"):
        RoundSettings(**wrong)


def test_targets_respect_the_bound(samples):
    given = samples(4)
    points = PointSet.from_rows([(frame, 5, 6) for frame in range(4)])
    sure, weights = torch.full((4, 16, 16), 0.9), weigh(doubt=1.0)
    targets = make_targets(sure, given, Clues(points, points), AreaBound(0.2), weights)
    clicked = 16 / 256
    assert (np.array(frame_means(targets.probability, torch.ones(4, 16, 16))) <= 0.2 + clicked + 1e-3).all()


@pytest.mark.parametrize(
    ("heldout", "told", "marked"),
    [
        (1.0, 3 / 16, [5, 6, 7]),  # the held-out clicks alone
        (0.0, 3 / 16, [5, 6, 7, 9]),  # the network alone
        (0.5, 1 / 16, [5, 6]),  # the root of 4/16 x 1/16 is 2/16
        (1.0, 12 / 16, [5, 6, 7, 9]),  # they never make the object larger
    ],
)
def test_the_amount_is_that_of_held_out_clicks_as_far_as_they_count(samples, heldout, told, marked):
    # Shares are put a little below the sixteenths, so that rounding does not ask for one block more.
    scores = scores_of({5: 0.9, 6: 0.8, 7: 0.7, 9: 0.6, 10: 0.1})
    clues = Clues(CLICKED, CLICKED, heldout_share=told * 0.998)
    moved = _follow_image(scores, samples(4), clues, AreaBound(0.25 * 0.999), heldout)
    probabilities = blocks_of(moved)
    assert [block for block in range(16) if probabilities[block] >= 0.5 - 1e-5] == marked


def test_scores_move_as_a_whole_so_that_the_level_becomes_one_half(samples):
    # At two blocks of three the level is 0.7: each logit moves down by log(7 / 3); the clicked block counts as sure.
    clues = Clues(CLICKED, CLICKED, heldout_share=0.999 * 2 / 16)
    scores = scores_of({5: 0.9, 6: 0.7, 7: 0.6})
    moved = blocks_of(_follow_image(scores, samples(4), clues, AreaBound(0.5), 1.0))
    assert moved[6] == pytest.approx(0.5)
    assert math.log(moved[7] / (1 - moved[7])) == pytest.approx(math.log(0.6 / 0.4) - math.log(7 / 3), abs=1e-4)
    assert moved[5] > 0.999


def test_evened_out_values_replace_the_scores_and_keep_their_amount(samples):
    seen = []

    def swap(pooled: np.ndarray) -> np.ndarray:
        """Blocks in the opposite order."""
        seen.append(pooled)
        return pooled[:, ::-1].copy()

    scores = scores_of({5: 0.9, 6: 0.8, 7: 0.3})
    clues = Clues(CLICKED, CLICKED, even_out=swap)
    result = blocks_of(_follow_image(scores, samples(4), clues, AreaBound(0.5), 0.0))
    # What is evened out is the probability of each superpixel, a clicked one's being 1.
    np.testing.assert_allclose(seen[0][0, [4, 5, 6, 7]], [0.001, 1.0, 0.8, 0.3], rtol=1e-4)
    # Two blocks were at one half or above, and two are: 10 for 5 and, at the level itself, 9 for 6.
    assert [block for block in range(16) if result[block] >= 0.5 - 1e-5] == [9, 10]
    assert result[9] == pytest.approx(0.5, abs=1e-5)


def test_carried_points_count_for_nearness_and_for_what_hangs_together(samples):
    clicked = PointSet.from_rows([(0, 5, 6)])
    carried = PointSet.from_rows([(0, 5, 6), (3, 13, 13)])
    likely = torch.full((4, 16, 16), 0.02)
    likely[0, 4:8, 4:8] = likely[3, 12:, 12:] = 0.95
    weights = weigh(nearness=1.0, doubt=0.1)
    given = samples(4, clicked)
    without = make_targets(likely, given, Clues(clicked, clicked), AreaBound(0.5), weights).probability
    with_carried = make_targets(likely, given, Clues(clicked, carried), AreaBound(0.5), weights).probability
    assert with_carried[3, 13, 13] > 0.5 > without[3, 13, 13]
    assert with_carried[3, 13, 13] / with_carried[3, 2, 2] > without[3, 13, 13] / without[3, 2, 2]
    # Elsewhere a frame moves as a whole, if at all: amounts are shared out over the sequence.
    moved = torch.logit(with_carried[0]) - torch.logit(without[0])
    clicked = with_carried[0] == 1
    torch.testing.assert_close(moved[~clicked], moved[~clicked].mean().expand_as(moved[~clicked]), atol=1e-3, rtol=0)


def test_targets_are_zero_and_weigh_in_full_where_a_person_said_that_the_object_is_not(samples):
    points = PointSet.from_rows([(0, 5, 6)], negatives=[(1, 9, 1)])
    given = samples(2, points)
    weights, sure = weigh(), torch.full((2, 16, 16), 0.9)
    targets = make_targets(sure, given, Clues(points, points), AreaBound(0.99), weights)
    assert (targets.probability[1, 8:12, 0:4] == 0).all()
    assert (targets.weight[1, 8:12, 0:4] == 1.1).all()
    assert (targets.probability[0] > 0.5).all()
    assert (targets.probability[0, 4:8, 4:8] == 1).all()


def test_sizes_that_taper_as_a_balls_do_are_tapered_in_full(samples):
    points = PointSet.from_rows([(frame, 5, 6) for frame in range(2, 20, 5)])
    given = samples(20, points)
    heights = (np.arange(20) + 0.5) / 10 - 1
    ball = torch.from_numpy(1 - heights**2).float()
    likely = torch.full((20, 16, 16), 0.02)
    likely[:, 4:12, 4:12] = 0.6 * ball[:, None, None] ** 0.2

    def ends(taper: float) -> float:
        weights = weigh(nearness=0.0, outlines=0.0, taper=taper)
        share = make_targets(likely, given, Clues(points, points), AreaBound(0.5), weights).share()
        return share[0] / share[10]

    assert ends(1.0) < 0.5 * ends(0.0)


SPREAD_CLICKS, MIDDLE_CLICKS = [(4, 4), (7, 5), (5, 7), (6, 4)], [(7, 7)]
HALF_LIKELY = {1: 0.3, 2: 0.3, 13: 0.3, 14: 0.3}


@pytest.mark.parametrize(
    ("places", "surroundings", "marked"),
    [
        (SPREAD_CLICKS, HALF_LIKELY, 1 / 16),
        (MIDDLE_CLICKS, HALF_LIKELY, 4 / 16),  # they say where people click, not how large the object is
        (SPREAD_CLICKS, {}, 4 / 16),  # a clear outline says it better
    ],
)
def test_held_out_clicks_make_the_object_smaller_where_its_size_is_open(samples, places, surroundings, marked):
    """A square of four blocks of sixteen; held-out clicks tell of one block."""
    scores = scores_of({5: 0.9, 6: 0.8, 9: 0.7, 10: 0.6, **surroundings})
    points = PointSet.from_rows([(frame, *places[frame % len(places)]) for frame in range(20)])
    weights = weigh(nearness=0.0, outlines=0.0, taper=0.0, heldout=1.0)
    clues = Clues(points, points, heldout_share=0.998 / 16)
    likely = torch.sigmoid(scores)[:1].expand(20, 16, 16)
    targets = make_targets(likely, samples(20, points), clues, AreaBound(0.5), weights)
    assert float((targets.probability >= 0.5).float().mean()) == pytest.approx(marked)


def test_where_no_point_came_though_one_is_near_the_middle_of_a_clear_part_stands_in(samples):
    points = PointSet.from_rows([(0, 5, 6), (2, 5, 6)])
    outlined = np.zeros((6, 16, 16), bool)
    outlined[:, 2:7, 8:13] = True
    outlined[3] = False
    clues = Clues(points, points)
    rows = stand_in(outlined, samples(6, points), clues).coordinates.tolist()
    # Frame 3 has no such part, and frame 5 is farther from the last click than clicks are from one another.
    assert rows == [[0, 5, 6], [1, 4, 10], [2, 5, 6], [4, 4, 10]]


def test_no_point_stands_in_on_a_frame_marked_absent(samples):
    points = PointSet.from_rows([(0, 5, 6), (2, 5, 6)], absent=[1])
    given = samples(3, points)
    likely = torch.full((3, 16, 16), 0.05)
    likely[:, 4:8, 4:8] = 0.9
    targets = make_targets(likely, given, Clues(points, points), AreaBound(0.5), weigh())
    assert (targets.probability[1] == 0).all()


def test_a_clear_outline_is_favoured_over_a_blur_of_the_same_probability(samples):
    points = PointSet.from_rows([(0, 5, 6), (1, 5, 6)])
    given = samples(2, points)
    likely = torch.full((2, 16, 16), 0.02)
    likely[:, 4:8, 4:8] = 0.6
    likely[:, 8:16, 4:16] = torch.linspace(0.02, 0.6, 8)[:, None]

    def differ(outlines: float) -> float:
        weights = weigh(nearness=0.0, doubt=1.0, taper=0.0, outlines=outlines)
        found = make_targets(likely, replace_positive(given), Clues(points, points), AreaBound(0.5), weights)
        return float(found.probability[0, 5, 5] - found.probability[0, 15, 10])

    assert differ(1.0) > differ(0.0)


def replace_positive(given):
    """Samples without a positive one, so that targets are what probabilities make them."""
    return replace(given, positive=torch.zeros_like(given.positive))


def test_outlines_move_the_object_and_leave_its_amount_unless_clicks_are_sparse(samples):
    likely = torch.full((4, 16, 16), 0.1)
    likely[:, 4:8, 4:8] = 0.7
    likely[:, 8:16, 4:16] = torch.linspace(0.1, 0.6, 8)[:, None]

    def amounts(clicked: list[int]) -> list[float]:
        points = PointSet.from_rows([(frame, 5, 6) for frame in clicked])
        given = replace_positive(samples(4, points))
        weights = weigh(nearness=0.0, doubt=1.0, taper=0.0)
        found = [
            make_targets(likely, given, Clues(points, points), AreaBound(0.9), replace(weights, outlines=outlines))
            for outlines in (0.0, 1.0)
        ]
        return [float(each.probability.mean()) for each in found]

    plain, outlined = amounts([0, 1, 2, 3])
    assert outlined == pytest.approx(plain, rel=1e-3)
    plain, outlined = amounts([0])
    assert outlined < 0.95 * plain


def test_targets_of_several_objects_are_at_most_one_together_and_left_alone_below():
    both = [Targets(torch.tensor([[values]]), torch.ones(1, 1, 3)) for values in ([0.9, 0.3, 0.0], [0.6, 0.4, 1.0])]
    first, second = share_out(both)
    torch.testing.assert_close(first.probability, torch.tensor([[[0.6, 0.3, 0.0]]]))
    torch.testing.assert_close(second.probability, torch.tensor([[[0.4, 0.4, 1.0]]]))
    assert second.weight is both[1].weight


def test_targets_of_one_object_are_shared_with_nobody():
    alone = Targets(torch.rand(2, 4, 4, generator=torch.Generator().manual_seed(0)), torch.ones(2, 4, 4))
    (shared,) = share_out([alone])
    assert torch.equal(shared.probability, alone.probability)


def test_targets_obey_every_label_and_are_exactly_as_drawn_on_outlined_frames(samples):
    points = PointSet.from_rows([(0, 5, 6), (1, 5, 6)], absent=[2], negatives=[(0, 9, 1)])
    given = samples(4, points, Words.of({3: outline(9, 10)}))
    targets = obey_labels(torch.full((4, 16, 16), 0.6), given)
    probability = pool_regions_of(targets.probability, given)
    assert (probability[0, 5], probability[0, 8], probability[1, 8]) == (1, 0, pytest.approx(0.6))
    assert not probability[2].any()
    np.testing.assert_array_equal(targets.probability[3].numpy(), outline(9, 10))
    # What a person said counts fully, what is decided by little only a little.
    weight = pool_regions_of(targets.weight, given)
    assert (weight[0, 8], weight[3, 0], weight[3, 9]) == (pytest.approx(1.1),) * 3
    assert weight[1, 8] == pytest.approx(0.2 + 0.1)


def test_what_a_person_marked_weighs_more_but_not_on_frames_that_are_outlined(samples):
    points = PointSet.from_rows([(0, 5, 6), (3, 5, 6)], negatives=[(0, 9, 1)])
    given = samples(4, points, Words.of({3: outline(5, 9, 10)}))
    targets = obey_labels(torch.full((4, 16, 16), 0.6), given)
    weight, before = (pool_regions_of(each.weight, given) for each in (emphasise_labels(targets, given, 20), targets))
    assert (weight[0, 5], weight[0, 8]) == (20, 20)
    others = torch.ones_like(weight, dtype=torch.bool)
    others[0, [5, 8]] = False
    assert torch.equal(weight[others], before[others])
