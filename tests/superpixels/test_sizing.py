"""How much is the object, on a square whose edge is known."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fewpoint.core import ImageSequence, SuperpixelMap
from fewpoint.superpixels.diffusion import RegionLinks, link_regions
from fewpoint.superpixels.sizing import (
    LEVELS,
    MORE_GROWTH,
    MOST_DEPTH,
    find_excess,
    find_level,
    limit_growth,
    outline_openness,
    shift_to_factor,
    sum_up_depths,
)

SIDE, BLOCK = 10, 4  # blocks in a row, and pixels along each
ROWS, COLUMNS = np.divmod(np.arange(SIDE**2), SIDE)
DEPTH = 2 - np.maximum(np.abs(ROWS - 4), np.abs(COLUMNS - 4))  # of a block in the square, below 0 outside it
SQUARE = DEPTH >= 0
AREAS = np.full(SIDE**2, float(BLOCK**2))
DOUBT = 1.0


def make_chain(flow: list[float], borders: list[float], across: tuple[int, ...] = ()) -> RegionLinks:
    """Regions in a row, each linked to the next."""
    first = np.arange(len(flow))
    return RegionLinks(
        first, first + 1, np.array(flow), np.isin(first, across), np.ones(len(flow) + 1), np.array(borders)
    )


@pytest.fixture(scope="module")
def links() -> RegionLinks:
    """Of a bright square of 5 x 5 blocks on even ground."""
    labels = np.arange(SIDE**2, dtype=np.int32).reshape(SIDE, SIDE).repeat(BLOCK, 0).repeat(BLOCK, 1)
    frame = np.where(SQUARE, 200, 50).astype(np.uint8)[labels]
    return link_regions(ImageSequence.from_array(frame[np.newaxis]), SuperpixelMap(labels[np.newaxis]), 10.0)


def test_openness_is_the_flow_through_the_outline_by_its_length():
    links = make_chain([1.0, 3.0, 8.0], [2.0, 4.0, 8.0])
    scores = np.array([4.0, 2.0, 3.0, 0.0])
    # Above 3.5 the first alone, above 2.5 the first and the third, above 1 all but the last.
    assert outline_openness(links, scores, np.array([1.0, 2.5, 3.5])).tolist() == [8 / 8, 12 / 14, 1 / 2]


def test_a_score_at_the_level_is_inside():
    links = make_chain([1.0], [2.0])
    assert outline_openness(links, np.array([1.0, 0.0]), np.array([0.0, 1.0, 1.5])).tolist() == pytest.approx(
        [np.nan, 0.5, np.nan], nan_ok=True
    )


def test_links_through_time_are_no_outline():
    links = make_chain([1.0, 9.0], [2.0, 0.0], across=(1,))
    assert outline_openness(links, np.array([2.0, 1.0, -1.0]), np.array([0.5, 1.5])).tolist() == pytest.approx(
        [np.nan, 0.5], nan_ok=True
    )


@settings(max_examples=30)
@given(st.lists(st.floats(-3, 3), min_size=SIDE**2, max_size=SIDE**2))
def test_openness_equals_a_loop_over_links(links, scores):
    scores = np.array(scores)
    slow = []
    for level in LEVELS:
        marked = scores >= level
        cut = marked[links.first] != marked[links.second]
        slow.append(links.flow[cut].sum() / links.borders[cut].sum() if cut.any() else np.nan)
    np.testing.assert_allclose(outline_openness(links, scores, LEVELS), slow, atol=1e-9)


def grade(inside: float, rim: float, outside: float, generous: bool) -> np.ndarray:
    """Scores of the square and of a rim one block wide, round it or within it."""
    rim_depth = -1 if generous else 0
    return np.where(rim_depth == DEPTH, rim, np.where(SQUARE, inside, outside))


def test_the_edge_is_found_where_too_much_is_marked(links):
    scores = grade(4.0, 0.8, -4.0, generous=True)
    assert (scores >= 0).sum() == 49
    level = find_level(links, scores, AREAS, DOUBT)
    assert level > 0.8
    np.testing.assert_array_equal(scores >= level, SQUARE)


def test_the_edge_is_found_where_too_little_is_marked(links):
    scores = grade(4.0, -0.8, -4.0, generous=False)
    assert (scores >= 0).sum() == 9
    level = find_level(links, scores, AREAS, DOUBT)
    assert level <= -0.8
    np.testing.assert_array_equal(scores >= level, SQUARE)


def test_a_mask_that_ends_at_the_edge_stays(links):
    assert find_level(links, np.where(SQUARE, 3.0, -3.0), AREAS, DOUBT) == 0


@pytest.mark.parametrize("scores", [-1.0, 1.0])
def test_nothing_is_found_where_nothing_or_all_is_marked(links, scores):
    """There is no outline within the frame at any level that marks about as much."""
    assert find_level(links, np.full(SIDE**2, scores), AREAS, DOUBT) == 0


def test_a_small_remnant_with_a_sharp_outline_is_not_the_object(links):
    # One block is under a twentieth of the 25 that are marked.
    scores = np.where(SQUARE, 0.5, -4.0)
    scores[0], scores[44] = -4.0, 2.0
    assert (scores >= find_level(links, scores, AREAS, DOUBT)).sum() > 1


@pytest.mark.parametrize(
    ("factor", "marked"),
    [(0.05, 1), (0.5, 1), (0.75, 2), (1.0, 2), (1.5, 3), (1.6, 3), (2.0, 4), (20.0, 4)],
)
def test_as_many_regions_are_marked_as_come_closest_to_the_factor(factor, marked):
    scores = np.array([-2.0, 3.0, 1.0, -1.0])
    shifted = scores + shift_to_factor(scores, np.ones(4), factor)
    assert set(np.flatnonzero(shifted >= 0)) == set([1, 2, 3, 0][:marked])


def test_areas_count_and_not_the_number_of_regions():
    scores, areas = np.array([3.0, -1.0, -2.0]), np.array([10.0, 1.0, 9.0])
    assert (scores + shift_to_factor(scores, areas, 1.1) >= 0).tolist() == [True, True, False]
    assert (scores + shift_to_factor(scores, areas, 2.0) >= 0).tolist() == [True, True, True]


def test_nothing_cannot_be_made_larger():
    assert shift_to_factor(np.array([-1.0, -2.0]), np.ones(2), 3.0) == 0


@given(st.lists(st.floats(-5, 5), min_size=1, max_size=12), st.data())
def test_a_factor_of_one_marks_the_same(scores, data):
    areas = np.array(data.draw(st.lists(st.integers(1, 50), min_size=len(scores), max_size=len(scores))), float)
    scores = np.array(scores)
    shifted = scores + shift_to_factor(scores, areas, 1.0)
    np.testing.assert_array_equal(shifted >= 0, scores >= 0)


# Scores are logits of half-precision probabilities, the smallest of which lie far above the subnormal numbers.
@given(
    st.lists(st.floats(-5, 5, allow_subnormal=False), min_size=1, max_size=12), st.floats(0.05, 20), st.floats(0.05, 20)
)
def test_a_larger_factor_marks_no_less(scores, one, other):
    scores = np.array(scores)
    smaller, larger = (shift_to_factor(scores, np.ones(len(scores)), each) for each in sorted((one, other)))
    assert set(np.flatnonzero(scores + smaller >= 0)) <= set(np.flatnonzero(scores + larger >= 0))


# Three frames of a hundred regions; of the last, networks are unsure altogether.
FRAMES = np.repeat(np.arange(3), 100)
SURE = np.linspace(1.0, -1.0, 100)
UNSURE = np.linspace(0.05, -0.4, 100)
BEFORE = np.concatenate([SURE, SURE, UNSURE])
NOBODY = np.zeros(0, int)


def count_marked(scores: np.ndarray) -> list[int]:
    return np.bincount(FRAMES, scores >= 0).tolist()


def limit(after: np.ndarray, told: np.ndarray = NOBODY) -> np.ndarray:
    return limit_growth(BEFORE, after, np.ones(300), FRAMES, told)


def test_a_frame_about_which_nothing_was_said_grows_little_more_than_others():
    after = BEFORE + 0.2
    assert count_marked(BEFORE) == [50, 50, 12]
    assert count_marked(after) == [60, 60, 56]
    assert count_marked(limit(after)) == [60, 60, round(12 * 1.2 * np.exp(MORE_GROWTH))]


def test_a_frame_that_somebody_said_is_larger_grows_as_far_as_they_said():
    after = BEFORE + 0.2
    np.testing.assert_array_equal(limit(after, np.array([2])), after)


def test_scores_that_fall_or_grow_alike_stay_as_they_are():
    for after in (BEFORE, BEFORE - 0.3, np.where(FRAMES == 2, BEFORE, BEFORE + 0.5)):
        np.testing.assert_array_equal(limit(after), after)


def test_a_frame_without_anything_may_come_up_to_a_small_part_of_what_is_usual():
    before = np.where(FRAMES == 2, np.tile(np.linspace(-0.1, -0.2, 100), 3), BEFORE)
    limited = limit_growth(before, before + 0.3, np.ones(300), FRAMES, NOBODY)
    marked = count_marked(limited)
    assert marked[:2] == count_marked(before + 0.3)[:2]
    assert 0 < marked[2] <= 0.1 * 50 * marked[0] / 50 * np.exp(MORE_GROWTH) + 1


def test_nothing_is_limited_where_nothing_was_marked():
    nothing = np.full(300, -1.0)
    np.testing.assert_array_equal(limit_growth(nothing, nothing + 2, np.ones(300), FRAMES, NOBODY), nothing + 2)


def excess_of(missed: list[float], leaked: list[float]) -> float:
    return find_excess(*(sum_up_depths(np.array(depths)) for depths in (missed, leaked)))


def test_deeper_leaks_say_that_masks_are_larger_but_not_beyond_an_object():
    excess = [excess_of([0.2], [depth]) for depth in (0.0, 0.1, 0.2, 0.4, MOST_DEPTH, 3.0)]
    assert excess[0] < excess[1] < excess[2] == 0 < excess[3] < excess[4] == excess[5]


def test_what_is_missed_says_less_about_the_size_than_what_leaks():
    assert 0 < -excess_of([0.5], [0.1]) < excess_of([0.1], [0.5])


def test_several_words_count_as_one_of_their_usual_depth():
    assert excess_of([0.2, 0.2], [0.1, 0.7]) == pytest.approx(excess_of([0.2], [0.3]))  # the same product above 0.1
