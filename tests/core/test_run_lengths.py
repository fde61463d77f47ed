"""Masks as run lengths."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from fewpoint.core.run_lengths import decode_mask, encode_mask
from fewpoint.errors import InputError


@given(arrays(bool, st.tuples(st.integers(1, 9), st.integers(1, 9))))
def test_a_mask_comes_back_from_its_run_lengths(mask):
    assert np.array_equal(decode_mask(encode_mask(mask), mask.shape), mask)


def test_a_run_goes_on_from_the_end_of_a_row_into_the_next():
    assert encode_mask(np.array([[0, 1], [1, 0]], bool)) == ((1, 2),)


@pytest.mark.parametrize("runs", [((3, 2),), ((-1, 2),), ((0, 0),), ((1, 2), (2, 1)), ((2, 1), (0, 1))])
def test_runs_that_overlap_or_leave_the_frame_are_refused(runs):
    with pytest.raises(InputError, match="must follow each other inside the 2 x 2 frame"):
        decode_mask(runs, (2, 2))
