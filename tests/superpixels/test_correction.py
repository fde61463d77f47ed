"""What is said about single places, carried over to what is like them."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fewpoint.core import ImageSequence, SuperpixelMap
from fewpoint.superpixels.correction import (
    ANYWHERE,
    MARGIN,
    MOST_STRENGTH,
    RIDGE,
    TOLERANCE,
    RegionTraits,
    describe_regions,
    find_change,
    find_shift,
)

NONE = np.array([], int)
RADIUS = 10.0
SLACK = RIDGE * MOST_STRENGTH + TOLERANCE  # by which the solver may fall short


def make_traits(places: list[float], looks: list[float], frames: list[int] | None = None) -> RegionTraits:
    """Regions in a row, x pixels from the first, that look alike by a single number in both features."""
    count = len(places)
    rows = np.stack([np.zeros(count), np.array(places)], axis=1)
    return RegionTraits(rows, np.array(frames or [0] * count), np.repeat(np.array(looks)[:, np.newaxis], 2, axis=1))


def test_nothing_changes_where_no_label_is_contradicted():
    traits = make_traits([0, 5, 9], [0, 0, 0])
    assert find_change(traits, np.array([0.2, 0.0, -0.3]), np.array([0, 1]), np.array([2]), RADIUS).tolist() == [0] * 3
    assert find_change(traits, np.array([-1.0, 1.0, 0.0]), NONE, NONE, RADIUS).tolist() == [0] * 3


def test_a_change_by_hand():
    # A quarter of a radius away is half a length of the kernel: exp(-1 / 8). What is far off keeps the part of the
    # kernel that ignores places; nothing is left where looks differ by four standard deviations.
    traits = make_traits([0, 2.5, 1000, 2.5], [0, 0, 0, 4])
    change = find_change(traits, np.full(4, -2.0), np.array([0]), NONE, RADIUS)
    strength = (2 + MARGIN) / (1 + ANYWHERE + RIDGE)
    expected = strength * np.array([1 + ANYWHERE, np.exp(-1 / 8) + ANYWHERE, ANYWHERE, 0])
    np.testing.assert_allclose(change, expected, atol=1e-5)


@pytest.mark.parametrize(
    ("positive", "negative", "doubt", "shift"),
    [
        ([], [3.0], 1.0, 1.0),  # pulls by 1, however far off, against shift / doubt ** 2
        ([], [3.0], 0.5, 0.25),
        ([], [3.0, 4.0], 1.0, 2.0),
        ([], [0.5], 1.0, 0.25),
        ([-3.0], [], 1.0, -1.0),
        ([-3.0], [9.0], 1.0, 0.0),  # both are as far off as counts
        ([-0.2], [3.0], 1.0, 0.4),  # shift + (shift + 0.2) = 1
        ([5.0], [-5.0], 1.0, 0.0),  # nothing is contradicted
        ([], [], 1.0, 0.0),
        ([], [3.0], 0.0, 0.0),
    ],
)
def test_how_far_all_scores_are_off_by_hand(positive, negative, doubt, shift):
    assert find_shift(np.array(positive), np.array(negative), doubt) == pytest.approx(shift, abs=1e-9)


@settings(max_examples=60)
@given(st.lists(st.floats(-9, 9), max_size=6), st.lists(st.floats(-9, 9), max_size=6), st.floats(0.1, 2))
def test_no_other_shift_costs_less(positive, negative, doubt):
    """The cost: Huber's loss of what is contradicted, and a Gaussian about 0."""

    def cost(shift: float) -> float:
        off = np.maximum(np.concatenate([shift - np.array(positive), np.array(negative) - shift]), 0)
        return shift**2 / (2 * doubt**2) + float(np.where(off < 1, off**2 / 2, off - 0.5).sum())

    found = find_shift(np.array(positive), np.array(negative), doubt)
    assert all(cost(found) <= cost(found + step) + 1e-9 for step in (-0.5, -0.01, 0.01, 0.5))


def test_object_and_background_are_alike_but_for_the_sign():
    traits = make_traits([0, 3, 20], [0, 0.3, 0])
    scores = np.array([2.0, 1.0, 0.5])
    down = find_change(traits, scores, NONE, np.array([0]), RADIUS)
    np.testing.assert_allclose(find_change(traits, -scores, np.array([0]), NONE, RADIUS), -down)


def test_a_change_fades_with_time():
    traits = make_traits([0, 0, 0], [0, 0, 0], [0, 8, 80])
    now, soon, later = find_change(traits, np.full(3, -1.0), np.array([0]), NONE, RADIUS)
    assert now > soon > later > 0


def test_a_label_that_agrees_holds_its_side():
    traits, scores = make_traits([0, 5, 10], [0, 0, 0]), np.array([-3.0, -0.5, -0.5])
    free = scores + find_change(traits, scores, np.array([0]), NONE, RADIUS)
    held = scores + find_change(traits, scores, np.array([0]), np.array([1]), RADIUS)
    assert free[0] > 0 and free[1] > 0
    assert held[0] > 0 > held[1]
    assert held[2] < free[2]


@settings(max_examples=60)
@given(st.integers(0, 10_000), st.integers(1, 8), st.integers(0, 8))
def test_every_label_is_obeyed(seed, n_positive, n_negative):
    """Of regions that lie a radius apart, whatever they look like."""
    rng = np.random.default_rng(seed)
    places = RADIUS * np.stack(np.divmod(np.arange(36), 6), axis=1).astype(float)
    traits = RegionTraits(places, np.zeros(36, int), rng.standard_normal((36, 4)))
    scores, chosen = rng.uniform(-9, 9, 36), rng.permutation(36)
    positive, negative = chosen[:n_positive], chosen[n_positive : n_positive + n_negative]
    changed = scores + find_change(traits, scores, positive, negative, RADIUS)
    for sides, labelled in ((1, positive), (-1, negative)):
        before, after = sides * scores[labelled], sides * changed[labelled]
        assert (after[before < 0] >= MARGIN - SLACK).all()
        assert (after >= np.minimum(before, MARGIN).clip(0) - SLACK).all()


def test_of_many_regions_each_is_compared_with_the_labels(monkeypatch):
    monkeypatch.setattr("fewpoint.superpixels.correction.AT_ONCE", 7)
    rng = np.random.default_rng(0)
    traits = RegionTraits(rng.uniform(0, 50, (30, 2)), rng.integers(0, 4, 30), rng.standard_normal((30, 3)))
    in_pieces = find_change(traits, np.full(30, -1.0), np.array([3, 20]), NONE, RADIUS)
    monkeypatch.undo()
    np.testing.assert_allclose(in_pieces, find_change(traits, np.full(30, -1.0), np.array([3, 20]), NONE, RADIUS))


@pytest.mark.parametrize("channels", [1, 3])
def test_traits_are_places_frames_and_colours_with_those_around(channels):
    frames = np.full((2, 16, 16, channels), 50, np.uint8)
    frames[:, :, 8:] = 200
    labels = np.zeros((2, 16, 16), np.int32)
    labels[:, :, 4:8], labels[:, :, 8:12], labels[:, :, 12:] = 1, 2, 3
    traits = describe_regions(ImageSequence.from_array(frames), SuperpixelMap(labels))
    assert traits.frames.tolist() == [0] * 4 + [1] * 4
    assert traits.places[:4].tolist() == [[7.5, 1.5], [7.5, 5.5], [7.5, 9.5], [7.5, 13.5]]
    assert traits.looks.shape == (8, 2 * channels)
    np.testing.assert_allclose(traits.looks[:4], traits.looks[4:])

    def apart(one: int, other: int) -> float:
        return float(np.linalg.norm(traits.looks[one] - traits.looks[other]))

    assert apart(0, 1) < apart(0, 2) and apart(2, 3) < apart(1, 3)


def test_frames_of_one_colour_have_finite_traits():
    labels = np.arange(4, dtype=np.int32).reshape(1, 2, 2).repeat(2, 1).repeat(2, 2)
    traits = describe_regions(ImageSequence.from_array(np.full((1, 4, 4), 7, np.uint8)), SuperpixelMap(labels))
    assert np.isfinite(traits.looks).all()
