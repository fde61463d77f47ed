"""DL-prior's three cross entropies and its objectness, by hand."""

import numpy as np
import pytest
import torch

from fewpoint.core import AreaBound
from fewpoint.methods.competitors.dl_prior import image_loss, point_loss, prior_loss, rate_objectness
from fewpoint.methods.competitors.frames import SmallFrame


def test_clicked_superpixels_pay_their_cross_entropy_and_others_nothing():
    """z = 0 costs log 2, z = log 3 costs log(4/3)."""
    logits = torch.tensor([[0.0, 5.0], [np.log(3), -5.0]])
    positive = torch.tensor([[1.0, 0.0], [1.0, 0.0]])
    assert float(point_loss(logits, positive)) == pytest.approx((np.log(2) + np.log(4 / 3)) / 2, rel=1e-6)


def test_the_prior_is_matched_at_its_own_probability():
    prior = torch.tensor([[[0.2, 0.8]]])
    valid = torch.ones(1, 1, 2)
    best = prior_loss(torch.logit(prior), prior, valid)
    for shift in (-0.1, 0.1):
        assert prior_loss(torch.logit(prior) + shift, prior, valid) > best


def test_padding_does_not_count():
    logits, prior = torch.tensor([[[0.0, 30.0]]]), torch.zeros(1, 1, 2)
    assert float(prior_loss(logits, prior, torch.tensor([[[1.0, 0.0]]]))) == pytest.approx(np.log(2), rel=1e-6)


def test_a_clicked_frame_shows_an_object_somewhere_and_an_absent_one_nowhere():
    """Largest logits log 3 on a clicked, log 3 on an absent, 9 on a frame that is neither."""
    largest = torch.tensor([np.log(3), np.log(3), 9.0])
    loss = image_loss(largest, torch.tensor([1.0, 0, 0]), torch.tensor([0, 1.0, 0]))
    assert float(loss) == pytest.approx((np.log(4 / 3) + np.log(4)) / 3, rel=1e-5)


def test_objectness_is_high_where_the_frame_stands_out_near_a_click():
    colours = np.full((40, 40, 1), 0.3, np.float32)
    colours[8:14, 8:14] = colours[28:34, 28:34] = 0.9
    objectness = rate_objectness(SmallFrame(colours, np.array([[10, 10]])), AreaBound(0.1))
    assert objectness[11, 11] > 0.7
    assert objectness[31, 31] < 0.01 and objectness[10, 30] < 0.05


def test_a_frame_without_a_click_has_half_the_bound_everywhere():
    frame = SmallFrame(np.random.default_rng(0).random((8, 8, 1)).astype(np.float32), np.zeros((0, 2), int))
    np.testing.assert_allclose(rate_objectness(frame, AreaBound(0.1)), 0.05)
