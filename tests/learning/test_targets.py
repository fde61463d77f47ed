"""What a further round learns from."""

import numpy as np
import pytest
import torch

from fewpoint.core import AreaBound, PointSet
from fewpoint.learning.settings import RefinementSettings
from fewpoint.learning.targets import (
    click_distances,
    hangs_together,
    make_targets,
    mean_share,
    nearness_prior,
    shift_to_share,
    spread,
    spread_means,
)


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
    torch.testing.assert_close(mean_share(prior, valid), share, rtol=0, atol=1e-3)
    assert prior[0, 5, 6] > prior[0, 5, 8] > prior[0, 5, 12] >= 0.05 - 1e-6
    torch.testing.assert_close(prior[1], torch.full((16, 16), 0.2))


def test_shifted_scores_have_the_share_and_keep_their_order():
    scores = torch.randn(3, 16, 16, generator=torch.Generator().manual_seed(0))
    share, valid = torch.tensor([0.01, 0.3, 0.9]), torch.ones(3, 16, 16)
    shifted = shift_to_share(scores, share, valid)
    torch.testing.assert_close(mean_share(torch.sigmoid(shifted), valid), share, rtol=0, atol=1e-4)
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
    torch.testing.assert_close(spread_means(values, given), expected)
    assert spread(given.positive, given).sum() == 4 * 16  # the clicked block of 4 x 4 pixels on each frame


def test_targets_hold_the_clicks_favour_what_is_near_and_leave_absent_frames_empty(samples):
    points = PointSet.from_rows([(0, 5, 6), (1, 5, 6), (2, 5, 6)], absent=[3])
    given = samples(4, points)
    even = torch.full((4, 16, 16), 0.1)
    targets = make_targets(even, given, points, AreaBound(0.3), RefinementSettings())
    assert (targets.probability[:3, 4:8, 4:8] == 1).all()
    near, far = targets.probability[0, 9, 6], targets.probability[0, 15, 15]
    assert near > far
    assert (targets.probability[3] == 0).all()
    assert (targets.weight[3] == 1).all()
    assert targets.weight.min() > 0


@pytest.mark.parametrize("wrong", [{"rounds": -1}, {"networks": 0}, {"floor": 0.0}, {"doubt": 2.0}, {"nearness": -1.0}])
def test_meaningless_refinement_is_refused_by_name(wrong):
    from fewpoint.errors import SettingsError

    with pytest.raises(SettingsError, match=f"refinement.{next(iter(wrong))}"):
        RefinementSettings(**wrong)


def test_targets_respect_the_bound(samples):
    given = samples(4)
    points = PointSet.from_rows([(frame, 5, 6) for frame in range(4)])
    targets = make_targets(torch.full((4, 16, 16), 0.9), given, points, AreaBound(0.2), RefinementSettings(doubt=1.0))
    clicked = 16 / 256
    assert (np.array(mean_share(targets.probability, torch.ones(4, 16, 16))) <= 0.2 + clicked + 1e-3).all()
