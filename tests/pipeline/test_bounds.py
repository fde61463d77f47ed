"""The bound on the object's size: refused where it cannot be, estimated where it is not given."""

import numpy as np
import pytest

from fewpoint.core import AreaBound, ImageSequence, PointSet, SuperpixelMap
from fewpoint.errors import InputError
from fewpoint.learning.clicks import squared_steps
from fewpoint.pipeline.bounds import (
    LARGEST,
    LARGEST_RAISED,
    SMALLEST,
    USUAL,
    USUAL_PAIRS,
    check_bound,
    doubt_bound,
    estimate_bound,
    raise_bound,
)
from fewpoint.pipeline.focus import Focus


def even_frames(size: tuple[int, int]) -> ImageSequence:
    """Six frames on which there is nothing to follow."""
    return ImageSequence.from_array(np.full((6, *size), 90, np.uint8))


EVEN = even_frames((100, 100))


def make_blocks(block: int = 5, n_frames: int = 6) -> SuperpixelMap:
    """Frames of 100 x 100 pixels cut into square blocks."""
    index = np.arange(100) // block
    labels = (index[:, np.newaxis] * (index.max() + 1) + index).astype(np.int32)
    return SuperpixelMap(np.tile(labels, (n_frames, 1, 1)))


def walk(step: int, n_frames: int = 6) -> PointSet:
    """To and fro by 3 * step rows and 4 * step columns: 5 * step pixels."""
    return PointSet.from_rows([(t, 10 + (t % 2) * 3 * step, 10 + (t % 2) * 4 * step) for t in range(n_frames)])


def test_a_bound_that_the_clicked_superpixels_fill_is_refused_with_both_shares():
    superpixels = make_blocks()
    points = PointSet.from_rows([(0, 2, 2), (0, 50, 50)])  # two of 400 superpixels
    with pytest.raises(InputError, match=r"may cover 0.50% of a frame.*already cover 0.50%; give a larger --max-frac"):
        check_bound(AreaBound(0.005), superpixels, points)
    bound = AreaBound(0.0051)
    assert check_bound(bound, superpixels, points) is bound


def test_shares_are_of_the_whole_frame_where_only_a_part_of_it_is_cut():
    # The superpixels fill a fifth of a frame: two of 400 cover 0.001 of it.
    superpixels, points = make_blocks(), PointSet.from_rows([(0, 2, 2), (0, 50, 50)])
    with pytest.raises(InputError, match=r"may cover 0.09% of a frame.*already cover 0.10%;"):
        check_bound(AreaBound(0.0009), superpixels, points, share=0.2)
    assert check_bound(AreaBound(0.0011), superpixels, points, share=0.2).fraction == 0.0011
    # Four of 400 are twice as much.
    assert raise_bound(AreaBound(0.0001), superpixels, points, share=0.2).fraction == pytest.approx(0.002)


def between(measured: float, pairs: int = 5) -> float:
    """What is estimated if so many pairs of clicks suggest the measured share."""
    return float(np.exp((pairs * np.log(measured) + USUAL_PAIRS * np.log(USUAL)) / (pairs + USUAL_PAIRS)))


def test_the_estimate_lies_between_three_times_the_disc_that_the_steps_span_and_what_is_usual():
    # Steps of 5 pixels: 3 * pi * 25 of 10 000 pixels.
    bound = estimate_bound(EVEN, walk(1))
    assert bound.fraction == pytest.approx(between(3 * np.pi * 25 / 10_000))
    assert bound.origin == "estimated as 4.5% of a frame from how far apart the points lie"
    wide = estimate_bound(even_frames((200, 100)), walk(1))
    assert wide.fraction == pytest.approx(between(3 * np.pi * 25 / 20_000))


def test_the_more_clicks_there_are_the_less_counts_what_is_usual():
    frames = ImageSequence.from_array(np.full((200, 100, 100), 90, np.uint8))
    measured = 3 * np.pi * 25 / 10_000
    shares = [estimate_bound(frames, walk(1, n_frames)).fraction for n_frames in (5, 20, 200)]
    assert USUAL > shares[0] > shares[1] > shares[2] > measured
    assert shares[2] == pytest.approx(measured, rel=0.05)
    doubts = [estimate_bound(frames, walk(1, n_frames)).doubt for n_frames in (2, 5, 20, 200)]
    assert doubts == sorted(doubts, reverse=True)


def test_movement_that_can_be_followed_counts_half_of_the_way():
    """A texture that moves by 5 pixels to and fro, as the clicks do, and one on which they stay where they are."""
    texture = np.random.default_rng(0).integers(0, 256, (120, 120)).astype(np.uint8)
    moving = np.stack([texture[10 - y : 110 - y, 10 - x : 110 - x] for y, x in [(0, 0), (3, 4)] * 3])
    resting = np.stack([texture[:100, :100]] * 6)
    clicks = PointSet.from_rows([(t, 50 + (t % 2) * 3, 50 + (t % 2) * 4) for t in range(6)])
    plain = 3 * np.pi * 25 / 10_000
    assert estimate_bound(ImageSequence.from_array(moving), clicks).fraction == pytest.approx(between(SMALLEST))
    assert estimate_bound(ImageSequence.from_array(resting), clicks).fraction == pytest.approx(between(plain))
    # Of steps of 10 pixels 5 are the texture's.
    wider = PointSet.from_rows([(t, 50 + (t % 2) * 6, 50 + (t % 2) * 8) for t in range(6)])
    estimated = estimate_bound(ImageSequence.from_array(moving), wider)
    assert estimated.fraction == pytest.approx(between(3 * np.pi * (100 * 25) ** 0.5 / 10_000))


def test_clicks_suggest_half_a_frame_at_most_and_never_nothing():
    trembling = PointSet.from_rows([(t, 10, 10 + t % 2) for t in range(6)])
    assert estimate_bound(EVEN, trembling).fraction == pytest.approx(between(SMALLEST))
    assert estimate_bound(EVEN, walk(15)).fraction == pytest.approx(between(LARGEST))


@pytest.mark.parametrize("n_frames", [1, 2, 3])
def test_with_fewer_than_three_steps_a_tenth_is_assumed_and_said(n_frames):
    bound = estimate_bound(EVEN, walk(1, n_frames))
    assert bound.fraction == USUAL
    assert bound.origin.startswith("assumed to be 10.0% of a frame")
    assert "--max-fraction" in bound.origin


def test_an_estimate_is_raised_to_four_superpixels_and_says_so():
    raised = raise_bound(AreaBound(SMALLEST, "estimated"), make_blocks(), PointSet.from_rows([(0, 10, 10)]))
    assert raised == AreaBound(4 / 400, "estimated; raised to 1.0%, the least that superpixels allow")


def test_an_estimate_is_raised_to_twice_what_the_clicks_cover():
    # Six clicks on six of 400 superpixels of every frame: 0.015.
    rows = [(t, 2 + 5 * row, 2) for t in range(6) for row in range(6)]
    assert raise_bound(AreaBound(0.01), make_blocks(), PointSet.from_rows(rows)).fraction == pytest.approx(2 * 6 / 400)


def test_an_estimate_that_is_large_enough_stays():
    bound = AreaBound(0.2, "estimated")
    assert raise_bound(bound, make_blocks(), walk(1)) is bound


@pytest.mark.parametrize("block", [50, 100])
def test_a_bound_is_found_even_where_superpixels_are_as_large_as_the_frame(block):
    assert raise_bound(AreaBound(0.1), make_blocks(block), walk(1)).fraction == LARGEST_RAISED


def test_steps_run_between_the_mean_points_of_neighbouring_clicked_frames():
    points = PointSet.from_rows([(0, 0, 0), (0, 4, 0), (3, 2, 3), (7, 2, 1)])
    assert squared_steps(points).tolist() == [9.0, 4.0]
    assert squared_steps(PointSet.from_rows([(2, 5, 5)])).tolist() == []


def test_a_bound_is_doubted_unless_a_person_gave_it_and_raised_or_narrowed_it_stays_so():
    focus, points = Focus((100, 100), 0, 50, 0, 50), PointSet.from_rows([(0, 10, 10)])
    assert AreaBound(0.1).doubt == 0
    assert AreaBound.from_box((0, 0, 5, 10), (10, 20)).doubt > 0
    assert estimate_bound(EVEN, walk(1, 2)).doubt > estimate_bound(EVEN, walk(1)).doubt > 0
    for doubt in (0.0, 0.6):
        bound = AreaBound(SMALLEST, doubt=doubt)
        raised = raise_bound(bound, make_blocks(), points)
        assert raised.fraction > bound.fraction
        assert (raised.doubt, focus.narrow_bound(bound).doubt) == (doubt, doubt)


def test_clicks_at_one_place_on_every_frame_tell_nothing_of_the_size():
    sequence = ImageSequence.from_array(np.zeros((8, 100, 100), np.uint8))
    points = PointSet.from_rows([(frame, 50, 50) for frame in range(8)])
    bound = estimate_bound(sequence, points)
    assert bound.fraction == USUAL and "all points lie at one place" in bound.origin


@pytest.mark.parametrize(("clicks", "times", "doubted"), [(6, 1.8, False), (6, 2.4, True), (6, 0.285, False)])
def test_a_given_bound_is_doubted_if_it_is_far_from_what_clicks_suggest(clicks, times, doubted):
    suggested = estimate_bound(EVEN, walk(2, clicks)).fraction
    sentence = doubt_bound(AreaBound(times * suggested), EVEN, walk(2, clicks))
    assert (sentence is not None) == doubted
    assert sentence is None or f"{times:.1f} times" in sentence


def test_many_clicks_doubt_a_bound_that_few_do_not_and_two_say_nothing():
    frames = ImageSequence.from_array(np.full((30, 100, 100), 90, np.uint8))
    many = estimate_bound(frames, walk(2, 30)).fraction
    assert doubt_bound(AreaBound(1.8 * many), frames, walk(2, 30)) is not None
    assert doubt_bound(AreaBound(0.01 * USUAL), EVEN, walk(2, 2)) is None
