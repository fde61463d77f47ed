"""The object's size from clicks that a network has not learnt from."""

import math

import numpy as np
import pytest

from fewpoint.core import PointSet, Words
from fewpoint.learning.heldout import (
    CENTRED,
    FEWEST_CLICKED,
    GROUPS,
    NOTHING_ASKED,
    ask_about,
    held_out,
    hold_out,
)
from learning.conftest import outline

ALL = np.ones(12, bool)


def heldout_share(logits: np.ndarray, samples, frames: np.ndarray) -> float | None:
    return ask_about(logits, samples, frames).share()


def told(marked: float, found: int, clicks: int) -> float:
    """The share that `found` of so many clicks tell where so much is marked: each share a standard error lower."""
    share = found / clicks
    return CENTRED * marked / (share - math.hypot(math.sqrt(share * (1 - share) / clicks), 1 / (2 * clicks)))


def rank(samples, high: list[int], level: float = 3.0) -> np.ndarray:
    """Logits of a network that puts these of the sixteen blocks at a level on every frame, and the others at -4.5."""
    logits = np.full((samples.n_frames, samples.regions), -4.5)
    logits[:, high] = level
    return logits


def test_a_network_that_ranks_the_object_first_tells_its_share(samples):
    # Block 5 is clicked and is the object with 6 and 9: three sixteenths, all clicks found, nothing else marked.
    given = samples(12)
    assert heldout_share(rank(given, [5, 6, 9]), given, ALL) == pytest.approx(told(3 / 16, 12, 12))


def test_clicks_that_are_missed_make_the_object_larger_than_what_is_marked(samples):
    # Found on nine frames of twelve, where two blocks are marked.
    given = samples(12)
    logits = rank(given, [5, 6])
    logits[9:] = -4.5
    assert heldout_share(logits, given, ALL) == pytest.approx(told(2 / 16 * 9 / 12, 9, 12))
    # Two blocks are marked on the frames whose clicks are missed, too.
    elsewhere = rank(given, [5, 6])
    elsewhere[9:, 5], elsewhere[9:, 10] = -4.5, 3.0
    assert heldout_share(elsewhere, given, ALL) == pytest.approx(told(2 / 16, 9, 12))


def test_of_all_thresholds_the_one_with_the_least_background_is_taken(samples):
    # At low thresholds six blocks are marked, at high ones only the two of the object.
    given = samples(12)
    logits = rank(given, [0, 1, 2, 3], level=0.0)
    logits[:, [5, 6]] = 4.0
    assert heldout_share(logits, given, ALL) == pytest.approx(told(2 / 16, 12, 12))


def test_only_the_frames_held_out_count(samples):
    given = samples(12)
    logits = rank(given, [5, 6])
    logits[6:, :] = 3.0
    first = np.arange(12) < 6
    assert heldout_share(logits, given, first) == pytest.approx(told(2 / 16, 6, 6))
    assert heldout_share(logits, given, ~first) == pytest.approx(told(1.0, 6, 6))


def test_nothing_is_told_without_held_out_clicks_or_where_fewer_than_half_are_found(samples):
    given = samples(12, PointSet.from_rows([(frame, 5, 6) for frame in range(10)]))
    logits = rank(given, [5])
    assert heldout_share(logits, given, np.zeros(12, bool)) is None
    assert heldout_share(logits, given, np.arange(12) >= 10) is None
    assert heldout_share(rank(given, [9]), given, ALL) is None
    logits[:5] = -4.5
    assert heldout_share(logits, given, ALL) is not None
    logits[5] = -4.5
    assert heldout_share(logits, given, ALL) is None


@pytest.mark.parametrize("n_frames", [21, 24, 40])
def test_three_networks_hold_out_every_frame_once_in_stretches(samples, n_frames):
    chosen = np.array([held_out(samples(n_frames), number) for number in range(GROUPS)])
    assert (chosen.sum(0) == 1).all()
    np.testing.assert_array_equal(held_out(samples(n_frames), GROUPS), chosen[0])
    # Stretches of three frames at least, but for the end of the sequence.
    starts = np.flatnonzero(np.diff(chosen.argmax(0))) + 1
    assert (np.diff([0, *starts]) >= 3).all()


def test_too_few_clicked_frames_hold_nothing_out(samples):
    few = PointSet.from_rows([(frame, 5, 6) for frame in range(FEWEST_CLICKED - 1)])
    assert not any(held_out(samples(24, few), number).any() for number in range(GROUPS))


def test_a_network_holds_nothing_out_where_none_or_all_of_the_clicks_would_be(samples):
    # Of 240 frames a block has twenty: frames 0 to 19 are the first network's, and hold all clicks.
    given = samples(240, PointSet.from_rows([(frame, 5, 6) for frame in range(20)]))
    assert not any(held_out(given, number).any() for number in range(GROUPS))
    more = samples(240, PointSet.from_rows([(frame, 5, 6) for frame in range(21)]))
    assert [held_out(more, number).any() for number in range(GROUPS)] == [True, True, False]


def test_what_is_held_out_moves_from_positive_to_unlabelled_and_back_is_untouched(samples):
    given = samples(4)
    frames = np.array([False, True, True, False])
    less = hold_out(given, frames)
    assert less.positive.nonzero().tolist() == [[0, 5], [3, 5]]
    assert (less.unlabelled[1:3] == 1).all()
    assert ((less.positive + less.unlabelled) == (less.areas > 0)).all()
    assert less.has_point.tolist() == [True, False, False, True]
    assert (less.clicked == given.clicked).all()
    assert given.positive.sum() == 4
    assert given.has_point.all()
    assert hold_out(given, np.zeros(4, bool)) is given


def test_networks_are_asked_together(samples):
    # The first finds its six clicks with one block, the second four of six with three: (6 + 4) / 12 clicks found,
    # (6 x 1 + 4 x 3) / 16 of 12 frames marked.
    given = samples(12)
    first = np.arange(12) < 6
    second = rank(given, [5, 6, 9])
    second[10:] = -4.5
    together = ask_about(rank(given, [5]), given, first) + ask_about(second, given, ~first)
    assert together.share() == pytest.approx(told(18 / 16 / 12, 10, 12))


def test_no_network_that_was_asked_says_nothing():
    assert sum([], NOTHING_ASKED).share() is None


def test_frames_marked_absent_are_not_asked_about(samples):
    # Twelve frames, of which the last two are absent and nothing is marked on them.
    given = samples(12, PointSet.from_rows([(frame, 5, 6) for frame in range(10)], absent=[10, 11]))
    logits = rank(given, [5, 6])
    logits[10:] = -4.5
    assert heldout_share(logits, given, ALL) == pytest.approx(told(2 / 16, 10, 10))


def test_clicks_that_are_held_out_become_unlabelled_and_negatives_stay(samples):
    points = PointSet.from_rows([(0, 5, 6), (1, 5, 6)], negatives=[(0, 9, 1)])
    without = hold_out(samples(2, points), np.array([True, False]))
    assert without.unlabelled[0].nonzero().flatten().tolist() == [each for each in range(16) if each != 8]
    assert without.negative.nonzero().tolist() == [[0, 8]]


def test_outlined_frames_are_never_held_out_and_stay_as_they_are(samples):
    outlined = (0, 5, 20)
    given = samples(24, None, Words.of({frame: outline(5, 6) for frame in outlined}))
    for number in range(GROUPS):
        frames = held_out(given, number)
        assert frames.any() and not frames[list(outlined)].any()
        kept = hold_out(given, frames)
        for name in ("positive", "unlabelled"):
            np.testing.assert_array_equal(getattr(kept, name)[list(outlined)], getattr(given, name)[list(outlined)])
        assert not kept.positive[np.flatnonzero(frames)].any()
        assert (kept.unlabelled[np.flatnonzero(frames)] == 1).all()
