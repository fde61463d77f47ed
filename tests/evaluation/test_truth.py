"""What is read off the truth."""

import numpy as np
import pytest

from fewpoint.core import AreaBound
from fewpoint.errors import InputError
from fewpoint.evaluation.truth import click_middles, largest_box, paper_bound, true_shares


@pytest.fixture
def truth() -> np.ndarray:
    """Shares 0, 6 / 400 and 200 / 400 of a 20 x 20 frame."""
    masks = np.zeros((3, 20, 20), bool)
    masks[1, 2:4, 5:8] = True
    masks[2, 0:10, :] = True
    return masks


def test_shares_by_hand(truth):
    assert true_shares(truth).tolist() == [0, 0.015, 0.5]


def test_the_papers_bound_is_eta_times_the_largest_share(truth):
    assert paper_bound(truth).fraction == pytest.approx(0.7)
    assert paper_bound(truth[:2], eta=2).fraction == pytest.approx(0.03)


def test_the_papers_bound_stays_below_one(truth):
    assert paper_bound(truth, eta=3).fraction == 0.99


def test_the_box_is_that_of_the_largest_frame_grown_outwards(truth):
    # Tight: rows 2 … 4, columns 5 … 8; a tenth of 2 and of 3, halved, rounds out to one pixel a side.
    assert largest_box(truth[:2]) == (1, 1, 4, 5, 9)
    assert largest_box(truth[:2], enlarge=0) == (1, 2, 5, 4, 8)


def test_the_box_is_cut_at_the_frame(truth):
    # 10 rows grow by half a pixel a side; columns fill the frame already.
    assert largest_box(truth) == (2, 0, 0, 11, 20)


def test_the_box_can_be_made_a_bound(truth):
    _, *box = largest_box(truth[:2])
    assert AreaBound.from_box(tuple(box), (20, 20)).fraction == 4 * 5 / 400


@pytest.mark.parametrize("ask", [paper_bound, largest_box])
def test_a_truth_without_object_is_refused(ask):
    with pytest.raises(InputError, match="at least one frame"):
        ask(np.zeros((2, 4, 4), bool))


def test_a_truth_that_is_not_bool_is_refused():
    with pytest.raises(InputError, match="uint8"):
        true_shares(np.zeros((2, 4, 4), np.uint8))


def test_clicks_are_farthest_from_the_edge_of_the_object_and_of_the_frame(truth):
    """Frame 1 has 2 x 3 pixels, all at the edge; of the half of frame 2 two rows are as far from its edge as can be."""
    frames, rows, columns = click_middles(truth).coordinates.T
    assert frames.tolist() == [1, 2]
    assert truth[1, rows[0], columns[0]]
    assert rows[1] in (4, 5)
    assert 4 <= columns[1] <= 15


def test_clicks_in_the_middle_of_nothing_are_refused(truth):
    with pytest.raises(InputError, match="at least one frame"):
        click_middles(np.zeros_like(truth))
