"""Clicks on blank frames are refused, and those on flat background doubted."""

import numpy as np
import pytest

from fewpoint.core import ImageSequence, PointSet
from fewpoint.core.doubts import doubt_clicks, refuse_blank_frames
from fewpoint.errors import InputError


def make_sequence(background: int = 20, noise: int = 0) -> ImageSequence:
    """A textured object in the upper right of every frame but the last, which is blank."""
    random = np.random.default_rng(0)
    frames = background + random.integers(0, noise + 1, (4, 40, 50))
    frames[:, 4:14, 30:40] = random.integers(80, 200, (4, 10, 10))
    frames[3] = background
    return ImageSequence.from_array(frames.astype(np.uint8))


@pytest.mark.parametrize("noise", [0, 2])
def test_points_on_flat_background_are_doubted_and_swapped_ones_called_so(noise):
    sequence = make_sequence(noise=noise)
    right = PointSet.from_rows([(frame, 8, 35) for frame in range(3)])
    swapped = PointSet.from_rows([(frame, 35, 8) for frame in range(3)])
    beside = PointSet.from_rows([(frame, 30, 30) for frame in range(3)])
    assert doubt_clicks(sequence, right) == ()
    assert doubt_clicks(sequence, swapped) == (
        "x and y may be swapped: 3 of 3 points lie on flat background, with both exchanged 0 would; "
        "columns are frame, y, x",
    )
    assert doubt_clicks(sequence, beside)[0].startswith("3 of 3 points lie on flat background: check that")


def test_one_point_on_background_among_others_is_not_doubted():
    points = PointSet.from_rows([(0, 8, 35), (1, 8, 35), (2, 35, 8)])
    assert doubt_clicks(make_sequence(), points) == ()


def test_a_point_on_a_blank_frame_is_refused_and_a_blank_frame_without_one_is_not():
    sequence = make_sequence()
    refuse_blank_frames(sequence, PointSet.from_rows([(0, 8, 35)], absent=[3]))
    with pytest.raises(InputError, match=r"frame 3 \(0003\) has a point, but all its pixels are 20"):
        refuse_blank_frames(sequence, PointSet.from_rows([(0, 8, 35), (3, 8, 35)]))
