"""Health figures of results made up so that each is known."""

from dataclasses import fields, replace

import numpy as np
import pytest

from fewpoint.core import AreaBound, PointSet, PriorEstimate, ProbabilityMaps
from fewpoint.report.health import FIGURES, WORDS, Health, measure_health
from results import change


@pytest.fixture
def sound(result):
    """Four frames with the same rectangle of 120 pixels, and clicks in it; the fifth frame, empty, is marked absent."""
    _, _, segmentation = result(n_frames=5)
    points = PointSet.from_rows([(0, 13, 16), (2, 15, 20)], absent=[4])
    certain = ProbabilityMaps(segmentation.masks.astype(np.float32))
    return change(segmentation, probabilities=certain), points


def test_a_result_without_doubt_has_a_health_of_one(sound):
    segmentation, points = sound
    exact = replace(segmentation.priors, deviation=np.zeros(5))
    health = measure_health(change(segmentation, priors=exact), points)
    assert health.stopped is None
    # That the area falls to nothing on a frame marked absent is as it should be.
    others = [getattr(health, name) for name in FIGURES if name not in ("score", "stopped")]
    assert others == [1.0] * 9
    assert health.score == 1.0


def test_clicks_that_only_force_puts_into_the_mask_are_told(sound):
    segmentation, points = sound
    doubted = segmentation.probabilities.values.copy()
    doubted[2] = 0.2
    health = measure_health(change(segmentation, probabilities=ProbabilityMaps(doubted)), points)
    assert health.clicks_inside == 0.5
    # Three of the four rectangles: 2 * 3 / (4 + 3).
    assert health.step_agreement == pytest.approx(6 / 7)
    assert health.certainty < 0.9


def test_a_mask_apart_from_the_clicks_is_told(sound):
    segmentation, points = sound
    masks = segmentation.masks.copy()
    masks[:4, 30:40, 30:36] = True  # 60 pixels beside 120
    health = measure_health(change(segmentation, masks=masks), points)
    assert health.connected == pytest.approx(2 / 3)
    assert health.prior_agreement == pytest.approx(2 / 3)


def test_masks_or_priors_at_the_bound_are_told(sound):
    segmentation, points = sound
    share = 120 / (40 * 48)
    assert measure_health(change(segmentation, bound=AreaBound(share)), points).below_bound == pytest.approx(1 / 5)
    high = PriorEstimate(np.array([0.3, 0, 0, 0, 0]), np.zeros(5), np.zeros(5))
    assert measure_health(change(segmentation, priors=high), points).below_bound == pytest.approx(4 / 5)


def test_networks_that_differ_by_half_of_the_area_agree_by_half(sound):
    segmentation, points = sound
    apart = replace(segmentation.priors, deviation=0.5 * segmentation.priors.mean)
    assert measure_health(change(segmentation, priors=apart), points).network_agreement == pytest.approx(0.5)


def test_nothing_found_is_the_worst(sound):
    segmentation, points = sound
    nothing = np.zeros_like(segmentation.masks)
    empty = change(segmentation, masks=nothing, probabilities=ProbabilityMaps(nothing.astype(np.float32)))
    health = measure_health(empty, points)
    assert (health.found, health.connected, health.step_agreement, health.clicks_inside) == (0, 0, 0, 0)
    assert health.prior_agreement == 0 and health.steadiness is None
    assert health.score < 0.5


@pytest.mark.parametrize(("stopped", "figure"), [(True, 1.0), (False, 0.0)])
def test_whether_the_stopping_rule_held_is_told_where_there_is_one(sound, history, stopped, figure):
    segmentation, points = sound
    learnt = change(segmentation, history=history(6, 5, stopped=stopped))
    assert measure_health(learnt, points).stopped == figure


def test_the_score_is_the_mean_of_the_figures_that_tell_most(sound):
    segmentation, points = sound
    masks = segmentation.masks.copy()
    masks[1] = 0
    health = measure_health(change(segmentation, masks=masks), points)
    assert health.steadiness == pytest.approx(1 / 3)
    assert health.score == pytest.approx((health.certainty + health.step_agreement + health.steadiness) / 3)


def test_every_figure_has_words():
    assert [*WORDS] == [field.name for field in fields(Health) if field.name != "score"]
