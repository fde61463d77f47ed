"""The film shows every frame, with the outline of its mask."""

import numpy as np
import pytest

from fewpoint.core import ImageSequence
from fewpoint.errors import InputError
from fewpoint.report.film import draw_film
from fewpoint.report.tiles import CONTOUR_COLOUR


def test_outlines_are_drawn_where_the_masks_are_and_nowhere_else():
    sequence = ImageSequence.from_array(np.zeros((2, 70, 81), np.uint8))
    masks = np.zeros((2, 70, 81), bool)
    masks[1, 20:40, 30:50] = True
    empty, outlined = draw_film(sequence, masks)
    assert empty.shape == outlined.shape == (70, 82, 3)
    assert not empty.any()
    rows, columns = np.nonzero((outlined == CONTOUR_COLOUR).all(axis=-1))
    assert (rows.min(), rows.max()) == pytest.approx((19.5, 39.5), abs=1)
    assert (columns.min(), columns.max()) == pytest.approx((30, 50), abs=1)


def test_masks_of_another_sequence_are_refused():
    sequence = ImageSequence.from_array(np.zeros((2, 70, 80), np.uint8))
    with pytest.raises(InputError, match="one \\(T, H, W\\)"):
        next(draw_film(sequence, np.zeros((3, 70, 80), bool)))
