"""Which frames a person should look at first."""

import numpy as np
import pytest

from fewpoint.core import AreaBound, ImageSequence, PointSet, PriorEstimate, PriorHistory, ProbabilityMaps, Result
from fewpoint.report import uncertainty
from fewpoint.report.looking import Looks, look_again
from fewpoint.report.uncertainty import count_undecided


def build(probabilities, masks):
    probabilities, masks = np.array(probabilities, np.float32), np.array(masks, bool)
    shares = masks.mean(axis=(1, 2))
    names = tuple(f"f{frame}" for frame in range(len(masks)))
    estimate = PriorEstimate(shares, 0 * shares, shares)
    history = PriorHistory.empty(len(masks))
    return Result.single(masks, ProbabilityMaps(probabilities), estimate, history, AreaBound(0.5), names)


def rank_frames(result, looks, absent=()):
    """With a click on the first frame and one on the last."""
    points = PointSet.from_rows([(frame, 0, 0) for frame in {0, len(result.masks) - 1}], absent)
    return uncertainty.rank_frames(result, looks, points)


def make_disc(radius, size=48):
    y, x = np.mgrid[:size, :size] - size / 2
    return np.hypot(y, x) < radius


def looks_of(n_frames, **values):
    given = {name: np.zeros(n_frames) for name in ("unlike", "by_chance", "outline", "faint")}
    return Looks(**{**given, **{name: np.array(each, np.float64) for name, each in values.items()}})


def test_worth_by_hand():
    unsure = np.array([[[1, 0.5, 0.5, 0.3]], [[1, 1, 1, 0]]])
    masks = np.array([[[1, 1, 1, 0]], [[1, 1, 1, 0]]])
    first, second = rank_frames(build(unsure, masks), looks_of(2, faint=[2, 2], unlike=[2, 0]))
    # D = 1, F = 2, L = 2, A = 3 on the first frame, and 0, 2, 0, 3 on the second.
    assert (first.frame, first.name, first.mask_share, first.worth) == (0, "f0", 0.75, 1)
    assert (second.frame, second.worth) == (1, pytest.approx(((3 / 4) / (8 * 3 * 3 / 4)) ** (1 / 4)))


def test_a_frame_that_lost_its_mask_comes_first_unless_it_is_marked_absent():
    masks = np.stack([make_disc(10)] * 5)
    masks[2] = False
    sure = build(masks, masks)
    first = rank_frames(sure, looks_of(5, outline=[60, 60, 0, 60, 60]))[0]
    assert (first.frame, first.worth, first.causes) == (2, 1, ("no mask between clicked frames",))
    marked = {entry.frame: entry.worth for entry in rank_frames(sure, looks_of(5, faint=[1, 1, 0, 1, 1]), absent=[2])}
    assert marked[2] == 0 < marked[1]


def test_frames_beyond_the_clicks_may_be_empty():
    masks = np.stack([make_disc(10)] * 5)
    masks[4] = False
    points = PointSet.from_rows([(0, 20, 20), (3, 20, 20)])
    assert uncertainty.rank_frames(build(masks, masks), looks_of(5), points)[-1].worth == 0


def test_a_mask_smaller_than_those_about_it_is_worth_more():
    masks = np.stack([make_disc(10)] * 9)
    masks[4] = make_disc(6)
    assert rank_frames(build(masks, masks), looks_of(9))[0].frame == 4


@pytest.mark.parametrize("given", ["faint", "unlike"])
def test_more_of_what_may_be_wrong_comes_first(given):
    masks = np.stack([make_disc(10)] * 3)
    ranked = rank_frames(build(masks, masks), looks_of(3, **{given: [1, 5, 3]}))
    assert [entry.frame for entry in ranked] == [1, 2, 0]


def test_equal_frames_stay_in_order_and_have_no_cause():
    masks = np.stack([make_disc(10)] * 3)
    ranked = rank_frames(build(masks, masks), looks_of(3))
    assert [(entry.frame, entry.worth, entry.causes) for entry in ranked] == [(0, 0, ()), (1, 0, ()), (2, 0, ())]


def test_pixels_are_undecided_between_a_tenth_and_nine_tenths():
    maps = [[[0.05, 0.2, 0.8]], [[0.95, 0.5, 1.0]]]
    assert count_undecided(build(maps, np.array(maps) >= 0.5)).tolist() == [2, 1]


def test_causes_are_named_where_a_frame_stands_out():
    masks = np.stack([make_disc(10)] * 6)
    masks[3] = make_disc(4)
    looks = looks_of(6, faint=[1, 1, 1, 1, 9, 1], outline=[20] * 6)
    causes = {entry.frame: entry.causes for entry in rank_frames(build(masks, masks), looks)}
    assert causes[3] == ("a size unlike its neighbours'",)
    assert causes[4] == ("an outline that follows no edge",)
    assert causes[0] == ()


def shade(masks, noise=0.05):
    """Frames on which an object is bright on dark ground."""
    random = np.random.default_rng(0)
    return np.where(masks, 0.8, 0.2) + random.normal(0, noise, masks.shape)


def test_a_mask_that_leaves_its_object_looks_unlike_the_others():
    truth = np.stack([make_disc(10)] * 8)
    masks = truth.copy()
    masks[4] = np.roll(make_disc(10), 12, axis=1)
    looks = look_again(ImageSequence.from_array(shade(truth).astype(np.float32)), masks)
    assert looks.unlike.argmax() == 4 and looks.faint.argmax() == 4
    assert looks.unlike[4] > 2 * np.delete(looks.unlike, 4).max()
    assert rank_frames(build(masks, masks), looks)[0].frame == 4


def test_an_object_is_distinct_from_its_ground_and_noise_is_not():
    masks = np.stack([make_disc(10)] * 8)
    clear = look_again(ImageSequence.from_array(shade(masks).astype(np.float32)), masks)
    noise = look_again(ImageSequence.from_array(shade(0 * masks).astype(np.float32)), masks)
    assert clear.distinct > 0.8 and noise.distinct < 0.1


def test_colours_are_looked_at_where_brightness_tells_nothing():
    masks = np.stack([make_disc(10)] * 8)
    frames = np.stack([shade(masks), shade(~masks), np.full(masks.shape, 0.5)], axis=-1)
    assert look_again(ImageSequence.from_array(frames.astype(np.float32)), masks).distinct > 0.6


@pytest.mark.parametrize("n_frames", [1, 2, 3])
def test_few_frames_are_looked_at_too(n_frames):
    masks = np.stack([make_disc(10)] * n_frames)
    looks = look_again(ImageSequence.from_array(shade(masks).astype(np.float32)), masks)
    assert np.isfinite(looks.unlike).all() and looks.outline.tolist() == [looks.outline[0]] * n_frames


def test_nothing_found_is_nothing_to_look_at():
    masks = np.zeros((3, 20, 20), bool)
    looks = look_again(ImageSequence.from_array(np.ones((3, 20, 20), np.float32)), masks)
    assert looks.distinct == 0 and not looks.faint.any()
    assert all(entry.worth == 0 for entry in rank_frames(build(masks, masks), looks))
