"""Parts of a frame with a clear outline."""

import numpy as np

from fewpoint.learning.outlines import cut_parts, find_outlined, innermost

FAR = np.full((1, 40, 40), np.inf)
WHOLE = np.ones((1, 40, 40), bool)


def blurred_slope() -> np.ndarray:
    """(1, 40, 40) probabilities that fall slowly from column 39 to column 0, and a sharp square on the slope."""
    frame = np.tile(np.linspace(0.0, 0.7, 40), (40, 1))
    frame[10:20, 10:20] = 0.9
    return frame[np.newaxis]


def test_the_part_round_which_the_probability_falls_steepest_is_chosen():
    outlined = find_outlined(blurred_slope(), WHOLE, FAR, 0.9)
    expected = np.zeros((1, 40, 40), bool)
    expected[0, 10:20, 10:20] = True
    np.testing.assert_array_equal(outlined, expected)


def test_parts_with_outlines_as_steep_are_all_chosen_and_a_fainter_one_is_not():
    frame = np.zeros((1, 40, 40))
    frame[0, 5:12, 5:12], frame[0, 25:33, 25:33], frame[0, 5:12, 25:32] = 0.9, 0.85, 0.3
    outlined = find_outlined(frame, WHOLE, FAR, 0.9)
    np.testing.assert_array_equal(outlined, frame > 0.5)


def test_on_a_frame_with_a_point_only_parts_that_hold_one_are_chosen():
    frame = np.zeros((1, 40, 40))
    frame[0, 5:12, 5:12], frame[0, 25:33, 25:33] = 0.9, 0.5
    rows, columns = np.ogrid[:40, :40]
    outlined = find_outlined(frame, WHOLE, np.hypot(rows - 28, columns - 28)[np.newaxis], 0.9)
    np.testing.assert_array_equal(outlined, frame == 0.5)


def test_a_point_that_no_part_holds_rules_none_out():
    frame = np.zeros((1, 40, 40))
    frame[0, 5:12, 5:12] = 0.9
    rows, columns = np.ogrid[:40, :40]
    outlined = find_outlined(frame, WHOLE, np.hypot(rows - 35, columns - 35)[np.newaxis], 0.9)
    np.testing.assert_array_equal(outlined, frame > 0.5)


def test_nothing_is_chosen_where_all_is_even_or_no_part_of_the_frame():
    assert not find_outlined(np.full((1, 40, 40), 0.6), WHOLE, FAR, 1.0).any()
    assert not find_outlined(blurred_slope(), ~WHOLE, FAR, 0.9).any()


def test_parts_larger_than_the_object_may_be_and_specks_are_left_out():
    frame = np.zeros((40, 40))
    frame[:30], frame[35, 35] = 0.9, 0.9
    assert cut_parts(frame, WHOLE[0], 0.5) == []


def test_turned_probabilities_give_turned_parts():
    frame = np.random.default_rng(0).random((1, 40, 40))
    smooth = (frame + np.roll(frame, 1, 1) + np.roll(frame, 1, 2)) / 3
    turned = find_outlined(np.rot90(smooth, axes=(1, 2)).copy(), WHOLE, FAR, 0.5)
    np.testing.assert_array_equal(turned, np.rot90(find_outlined(smooth, WHOLE, FAR, 0.5), axes=(1, 2)))


def test_the_innermost_pixel_of_each_part_lies_in_its_middle():
    mask = np.zeros((20, 20), bool)
    mask[2:7, 3:8], mask[0:3, 15:20] = True, True
    assert innermost(mask) == [(1, 16), (4, 5)] or innermost(mask) == [(4, 5), (1, 16)]
    assert innermost(np.zeros((5, 5), bool)) == []
