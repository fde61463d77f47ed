"""How deep inside the object clicks lie."""

import numpy as np
import pytest

from fewpoint.learning.depths import _share_deeper, trust_in_spread

RADIUS = 20
CENTRE = 30


def draw_discs(n_frames: int) -> np.ndarray:
    rows, columns = np.ogrid[:61, :61]
    disc = np.hypot(rows - CENTRE, columns - CENTRE) <= RADIUS
    return np.tile(disc, (n_frames, 1, 1))


@pytest.mark.parametrize(("offset", "share"), [(0, 0.0), (10, 0.25), (RADIUS, 1.0)])
def test_of_a_disc_the_square_of_the_distance_to_its_middle_lies_deeper(offset, share):
    """Within what a ring of one pixel covers."""
    assert _share_deeper(draw_discs(1)[0], CENTRE, CENTRE + offset) == pytest.approx(share, abs=0.1)


def test_only_the_part_under_the_click_counts():
    marked = np.zeros((20, 20), bool)
    marked[2:5, 2:5] = True
    alone = _share_deeper(marked, 3, 3)
    marked[8:20, 8:20] = True
    assert _share_deeper(marked, 3, 3) == alone == 0.5 / 9


def test_clicks_drawn_evenly_are_trusted_in_full():
    discs = draw_discs(40)
    rng = np.random.default_rng(0)
    inside = np.argwhere(discs[0])
    places = [(frame, *inside[rng.integers(len(inside))]) for frame in range(40)]
    assert trust_in_spread(discs, np.array(places)) == 1.0


def test_clicks_in_the_middle_are_not_trusted():
    places = np.array([(frame, CENTRE, CENTRE) for frame in range(40)])
    assert trust_in_spread(draw_discs(40), places) < 1e-3


def test_the_farther_from_the_middle_the_more_clicks_are_trusted():
    discs = draw_discs(4)
    trusts = [
        trust_in_spread(discs, np.array([(frame, CENTRE, CENTRE + offset) for frame in range(4)]))
        for offset in (0, 3, 6, 8)
    ]
    assert trusts == sorted(trusts)
    assert 0 < trusts[2] < 1


def test_an_object_that_moves_does_not_hide_that_its_middle_is_clicked():
    discs = np.stack([np.roll(disc, shift, axis=1) for shift, disc in zip((-9, 4, 9, 0), draw_discs(4), strict=True)])
    places = np.array([(frame, CENTRE, CENTRE + shift) for frame, shift in enumerate((-9, 4, 9, 0))])
    assert trust_in_spread(discs, places) < 1e-3


def test_clicks_on_nothing_marked_have_no_say():
    discs = draw_discs(2)
    middle, outside = (0, CENTRE, CENTRE), (1, 0, 0)
    assert trust_in_spread(discs, np.array([middle, outside])) == trust_in_spread(discs, np.array([middle]))
    assert trust_in_spread(discs, np.array([outside])) == 1.0
