"""Health figures of results made up so that each is known."""

from dataclasses import fields, replace

import numpy as np
import pytest

from fewpoint.core import AreaBound, PointSet, PriorEstimate, ProbabilityMaps
from fewpoint.report import health as figures
from fewpoint.report.health import FIGURES, SCORED, WORDS, Health
from fewpoint.report.looking import Looks
from results import change


def measure_health(result, points, unlike=0.0, outline=0.0) -> Health:
    """With a second look that found so many pixels on each frame."""
    each = np.ones(len(result.masks))
    return figures.measure_health(result, points, Looks(unlike * each, 100 * each, outline * each, outline * each))


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
    # That the area falls to nothing on a frame marked absent is as it should be; no pixel but a click's is at a click.
    others = [getattr(health, name) for name in FIGURES if name not in ("score", "stopped", "near_clicks")]
    assert others == [1.0] * 10
    assert 0 < health.near_clicks < 1


def test_clicks_that_only_force_puts_into_the_mask_are_told(sound):
    segmentation, points = sound
    doubted = segmentation.probabilities.values.copy()
    doubted[2] = 0.2
    health = measure_health(change(segmentation, probabilities=ProbabilityMaps(doubted)), points)
    assert health.clicks_inside == 0.5
    # A whole frame of 40 x 48 pixels is undecided beside four rectangles of 120.
    assert health.decided == pytest.approx(480 / (480 + 1920))


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
    assert (health.found, health.connected, health.near_clicks, health.decided, health.clicks_inside) == (0, 0, 0, 0, 0)
    assert health.prior_agreement == 0 and health.steadiness is None
    assert health.score < 0.5


@pytest.mark.parametrize(("stopped", "figure"), [(True, 1.0), (False, 0.0)])
def test_whether_the_stopping_rule_held_is_told_where_there_is_one(sound, history, stopped, figure):
    segmentation, points = sound
    learnt = change(segmentation, history=history(6, 5, stopped=stopped))
    assert measure_health(learnt, points).stopped == figure


def test_the_score_is_the_mean_of_the_figures_that_tell_most(sound):
    segmentation, points = sound
    health = measure_health(segmentation, points, unlike=30, outline=20)
    # A second look finds 30 of 100 on the wrong side; 480 pixels of mask have outlines of 5 x 20.
    assert (health.distinct, health.sturdy) == (pytest.approx(0.7), pytest.approx(480 / (480 + 4 * 100)))
    assert health.score == pytest.approx(np.mean([getattr(health, name) for name in SCORED]))


def test_masks_far_from_clicks_are_told(sound):
    segmentation, points = sound
    far = change(segmentation, masks=np.roll(segmentation.masks, 20, axis=2))
    assert measure_health(far, points).near_clicks < 0.5 * measure_health(segmentation, points).near_clicks


def test_figures_of_an_earlier_version_are_left_out():
    table = dict.fromkeys(FIGURES, 0.5)
    assert Health.from_table(table) == Health(**table)
    assert Health.from_table({"score": 0.5, "certainty": 0.4}) is None and Health.from_table(None) is None


def test_every_figure_has_words():
    assert [*WORDS] == [field.name for field in fields(Health) if field.name != "score"]
