"""Masks that obey what was said."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from fewpoint.core import Box, PointSet, Words
from fewpoint.core.obeying import obey

SHAPE = (5, 4, 6)
MASKS = arrays(bool, SHAPE)
DRAWN = arrays(bool, SHAPE[1:])
POINTS = PointSet.from_rows([(0, 1, 1)], absent=[3])


@given(MASKS, DRAWN, DRAWN)
def test_plain_words_hold_and_nothing_else_changes(masks, drawn, other):
    words = Words.of({1: drawn}, (Box(1, 0, 0, 1, 1), Box(2, 1, 2, 3, 5)))
    found = obey(masks, POINTS, words, (Words.of({0: other, 1: other}),))
    np.testing.assert_array_equal(found[1], drawn)
    np.testing.assert_array_equal(found[0], masks[0] & ~other)
    np.testing.assert_array_equal(found[2, 1:3, 2:5], masks[2, 1:3, 2:5])
    assert found[2].sum() == masks[2, 1:3, 2:5].sum()
    assert not found[3].any()
    np.testing.assert_array_equal(found[4], masks[4])


@given(MASKS, DRAWN)
def test_to_obey_twice_changes_nothing_more(masks, drawn):
    words = Words.of({1: drawn}, (Box(2, 1, 2, 3, 5),))
    once = obey(masks, POINTS, words)
    assert obey(once, POINTS, words) is once


@given(MASKS, DRAWN)
def test_the_masks_that_were_given_stay_as_they_are(masks, drawn):
    before = masks.copy()
    obey(masks, POINTS, Words.of({1: drawn}))
    np.testing.assert_array_equal(masks, before)


@given(MASKS, st.floats(0.1, 10))
def test_a_size_is_no_plain_word(masks, size):
    assert obey(masks, PointSet.from_rows([(0, 1, 1)]), Words(size=size)) is masks
