"""Parts of a frame with a clear outline."""

import numpy as np

from fewpoint.learning.outlines import cut_parts, find_outlined, innermost

WHOLE = np.ones((1, 40, 40), bool)


def blurred_slope() -> np.ndarray:
    """(1, 40, 40) probabilities that fall slowly from column 39 to column 0, and a sharp square on the slope."""
    frame = np.tile(np.linspace(0.0, 0.7, 40), (40, 1))
    frame[10:20, 10:20] = 0.9
    return frame[np.newaxis]


def test_the_part_round_which_the_probability_falls_steepest_is_chosen():
    outlined = find_outlined(blurred_slope(), WHOLE, 0.9)
    expected = np.zeros((1, 40, 40), bool)
    expected[0, 10:20, 10:20] = True
    np.testing.assert_array_equal(outlined, expected)


def test_parts_with_outlines_as_steep_are_all_chosen_and_a_fainter_one_is_not():
    frame = np.zeros((1, 40, 40))
    frame[0, 5:12, 5:12], frame[0, 25:33, 25:33], frame[0, 5:12, 25:32] = 0.9, 0.85, 0.3
    outlined = find_outlined(frame, WHOLE, 0.9)
    np.testing.assert_array_equal(outlined, frame > 0.5)


def test_nothing_is_chosen_where_all_is_even_or_no_part_of_the_frame():
    assert not find_outlined(np.full((1, 40, 40), 0.6), WHOLE, 1.0).any()
    assert not find_outlined(blurred_slope(), ~WHOLE, 0.9).any()


def test_parts_larger_than_the_object_may_be_and_specks_are_left_out():
    frame = np.zeros((40, 40))
    frame[:30], frame[35, 35] = 0.9, 0.9
    assert cut_parts(frame, WHOLE[0], 0.5) == []


def test_turned_probabilities_give_turned_parts():
    frame = np.random.default_rng(0).random((1, 40, 40))
    smooth = (frame + np.roll(frame, 1, 1) + np.roll(frame, 1, 2)) / 3
    turned = find_outlined(np.rot90(smooth, axes=(1, 2)).copy(), WHOLE, 0.5)
    np.testing.assert_array_equal(turned, np.rot90(find_outlined(smooth, WHOLE, 0.5), axes=(1, 2)))


def test_the_innermost_pixel_lies_in_the_middle_of_a_part_and_at_the_edge_of_the_frame_where_that_cuts_it():
    mask = np.zeros((20, 20), bool)
    mask[2:7, 3:8], mask[0:3, 14:19] = True, True
    assert innermost(mask) == [(0, 16), (4, 5)]
    assert innermost(np.zeros((5, 5), bool)) == []
