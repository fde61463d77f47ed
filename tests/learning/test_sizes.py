"""How much of each frame is the object."""

import math

import numpy as np
import pytest
import torch

from fewpoint.core import AreaBound, PointSet
from fewpoint.learning.sizes import (
    SizeWitness,
    estimate_shares,
    find_excess,
    find_frame_excess,
    find_openness,
    hear_heldout,
    hear_taper,
    level_of_share,
)
from fewpoint.learning.taper import Taper
from learning.conftest import CLICKED, blocks_of, scores_of


def test_witnesses_move_logarithms_as_far_as_they_are_believed_and_the_bound_holds():
    own = np.array([0.1, 0.2, 0.4])
    rising = SizeWitness(np.log([2.0, 1.0, 0.5]), 1.0)
    half = SizeWitness(math.log(4.0), 0.5)
    np.testing.assert_allclose(estimate_shares(own, [], AreaBound(0.9)), own)
    np.testing.assert_allclose(estimate_shares(own, [rising], AreaBound(0.9)), [0.2, 0.2, 0.2])
    np.testing.assert_allclose(estimate_shares(own, [rising, half], AreaBound(0.9)), [0.4, 0.4, 0.4])
    np.testing.assert_allclose(estimate_shares(own, [half], AreaBound(0.3)), [0.2, 0.3, 0.3])


def test_a_taper_moves_sizes_between_frames_and_leaves_their_sum():
    own = np.array([0.2, 0.2, 0.2])
    taper = Taper(np.array([0.25, 1.0, 0.25]), 0.5)
    moved = estimate_shares(own, [hear_taper(taper, own)], AreaBound(0.9))
    np.testing.assert_allclose(moved, [0.15, 0.3, 0.15])  # by the root of the profile
    still = estimate_shares(own, [hear_taper(Taper(taper.profile, 0.0), own)], AreaBound(0.9))
    np.testing.assert_allclose(still, own)


@pytest.mark.parametrize(
    ("told", "belief", "share"), [(0.1, 1.0, 0.1), (0.1, 0.5, 0.2), (0.9, 1.0, 0.4), (None, 1.0, 0.4)]
)
def test_held_out_clicks_may_only_make_the_object_smaller(told, belief, share):
    witness = hear_heldout(told, 0.4, belief)
    assert float(estimate_shares(np.array(0.4), [witness], AreaBound(0.9))) == pytest.approx(share)


@pytest.mark.parametrize(
    ("blocks", "openness"),
    [
        ({5: 0.9, 6: 0.8}, 0.0),
        ({5: 0.9, 6: 0.8, 7: 0.3}, 0.5),
        ({5: 0.9, 6: 0.8, 7: 0.3, 8: 0.3, 9: 0.3}, 1.0),
        ({7: 0.3}, 1.0),  # nothing is sure
    ],
)
def test_a_size_is_as_open_as_what_is_half_likely_is_large(samples, blocks, openness):
    scores = scores_of(blocks).clone()
    scores[3] = 2.0  # on a frame marked absent nothing counts
    points = PointSet.from_rows([tuple(row) for row in CLICKED.coordinates[:3].tolist()], (3,))
    assert find_openness(torch.sigmoid(scores), samples(4, points)) == pytest.approx(openness)


@pytest.mark.parametrize(
    ("values", "share", "level"),
    [
        ([0.9, 0.6, 0.3, 0.1], 0.25, 0.9),  # the first quarter reaches it
        ([0.9, 0.6, 0.3, 0.1], 0.26, 0.6),
        ([0.1, 0.6, 0.9, 0.3], 0.75, 0.3),  # in whatever order they stand
        ([0.9, 0.6, 0.3, 0.1], 2.0, 0.1),
        ([1.0, 0.6, 0.3, 0.0], 0.1, 0.98),  # kept away from 1
        ([1.0, 0.6, 0.3, 0.0], 1.0, 0.02),  # and from 0
    ],
)
def test_the_level_of_a_share_by_hand(values, share, level):
    assert level_of_share(torch.tensor([values]), torch.full((1, 4), 0.25), share) == pytest.approx(level)


def test_the_level_counts_areas_and_is_one_for_the_whole_sequence():
    values, areas = torch.tensor([[0.9, 0.2], [0.7, 0.6]]), torch.tensor([[0.125, 0.875], [0.5, 0.5]])
    # 0.9 covers 1/16 of both frames together, 0.7 another quarter, 0.6 another.
    assert [level_of_share(values, areas, share) for share in (0.0625, 0.3125, 0.32)] == pytest.approx([0.9, 0.7, 0.6])


def test_what_covers_more_than_its_targets_is_lowered_to_their_size(samples):
    learnt = torch.sigmoid(scores_of({5: 0.9, 6: 0.8, 7: 0.7, 9: 0.6, 10: 0.1}))
    aimed_at = torch.sigmoid(scores_of({5: 0.9, 2: 0.9}))
    excess = find_excess(learnt, aimed_at, samples(4))
    assert excess == pytest.approx(math.log(0.8 / 0.2), abs=1e-4)
    lowered = blocks_of(torch.logit(learnt) - excess)
    assert [block for block in range(16) if lowered[block] >= 0.5 - 1e-5] == [5, 6]


def test_what_covers_less_than_its_targets_is_left_as_it_is(samples):
    learnt = torch.sigmoid(scores_of({5: 0.9}))
    aimed_at = torch.sigmoid(scores_of({5: 0.9, 6: 0.6}))
    assert find_excess(learnt, aimed_at, samples(4)) == 0


def test_frames_without_the_object_have_no_say_in_its_size(samples):
    absent = samples(4, PointSet.from_rows([(0, 5, 6)], absent=[2, 3]))
    learnt = torch.sigmoid(scores_of({5: 0.9, 6: 0.8}))
    aimed_at = torch.sigmoid(scores_of({5: 0.9, 6: 0.9}))
    learnt[2:] = 0.95  # on these frames alone it covers everything
    assert find_excess(learnt, aimed_at, absent) == 0


@pytest.mark.parametrize(("amount", "covered"), [(0.0, [5, 6, 7, 9]), (0.5, [5, 6]), (1.0, [5])])
def test_frames_take_the_size_of_their_targets_as_far_as_is_asked(samples, amount, covered):
    learnt = torch.sigmoid(scores_of({5: 0.9, 6: 0.8, 7: 0.7, 9: 0.6, 10: 0.1}))
    aimed_at = torch.sigmoid(scores_of({2: 0.9}))
    excess = find_frame_excess(learnt, aimed_at, samples(4), amount)
    lowered = blocks_of(torch.logit(learnt) - excess[:, None, None])
    assert [block for block in range(16) if lowered[block] >= 0.5 - 1e-5] == covered


def test_a_frame_on_which_a_network_found_nothing_is_raised_to_its_target(samples):
    learnt = torch.sigmoid(scores_of({5: 0.3, 6: 0.2}))
    aimed_at = torch.sigmoid(scores_of({5: 0.9}))
    excess = find_frame_excess(learnt, aimed_at, samples(4), 1.0)
    assert excess.tolist() == pytest.approx([math.log(0.3 / 0.7)] * 4, abs=1e-4)


def test_frames_marked_absent_and_frames_without_anything_keep_their_size(samples):
    absent = samples(4, PointSet.from_rows([(0, 5, 6)], absent=[2, 3]))
    learnt, aimed_at = torch.full((4, 16, 16), 0.1), torch.full((4, 16, 16), 0.1)
    learnt[2:] = 0.9
    assert not find_frame_excess(learnt, aimed_at, absent, 1.0).any()
