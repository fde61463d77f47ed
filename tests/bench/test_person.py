"""What a person who knows the truth says about masks, by hand."""

import numpy as np
import pytest

from fewpoint.bench.person import Effort, Said, choose_outline, find_worst, is_among_worst, speak, turn_dial
from fewpoint.errors import SettingsError


def draw(*frames: str) -> np.ndarray:
    """(T, H, W) bool of pictures, rows between slashes, # for True."""
    return np.array([[[sign == "#" for sign in row] for row in frame.split("/")] for frame in frames])


NOTHING = "......./......./......./......./......."
BLOCK = "......./.###.../.###.../.###.../......."  # 9 pixels, innermost (2, 2)
BAR = "......./......./......./#######/......."  # 7 pixels, all on its edge


def test_the_click_is_on_the_innermost_pixel_of_the_largest_part():
    assert find_worst(draw(BAR, BLOCK), set()) == ((1, 2, 2),)


def test_the_edge_of_the_frame_is_an_edge():
    """Of a mask that fills a 3 x 5 frame the middle row's pixels from column 1 on are 2 deep; the first is taken."""
    assert find_worst(draw("#####/#####/#####"), set()) == ((0, 1, 1),)


def test_parts_that_touch_at_a_corner_or_in_time_are_two():
    """Two squares of 4 that touch at a corner are each smaller than the bar of 5; so are bars of 3 on two frames."""
    corner = "##...../##...../..##.../..##.../......."
    assert find_worst(draw(corner, "......./......./......./......./#####.."), set()) == ((1, 4, 0),)
    twice = "......./###..../......./......./......."
    assert find_worst(draw(twice, twice, "......./......./......./......./####..."), set())[0][0] == 2


def test_no_pixel_is_clicked_twice_and_a_part_that_is_used_up_gives_way_to_the_next():
    assert find_worst(draw(BLOCK), {(0, 2, 2)}) == ((0, 1, 1),)
    used_up = {(0, y, x) for y in (1, 2, 3) for x in (1, 2, 3)}
    assert find_worst(draw(BLOCK, BAR), used_up) == ((1, 3, 0),)
    assert find_worst(draw(BLOCK), used_up) == ()


def test_a_click_on_another_frame_takes_nothing():
    assert find_worst(draw(BLOCK), {(1, 2, 2), (0, 9, 9)}) == ((0, 2, 2),)


MASKS = draw(BLOCK, NOTHING)
TRUTH = draw(NOTHING, BAR)  # misses 7 pixels on frame 1, leaks 9 on frame 0


def test_each_kind_of_words():
    assert speak("none", MASKS, TRUTH, Said()) == Said()
    assert speak("clicks", MASKS, TRUTH, Said()) == Said(clicks=((1, 3, 0),))
    both = Said(clicks=((1, 3, 0),), negatives=((0, 2, 2),))
    assert speak("clicks+negatives", MASKS, TRUTH, Said()) == both
    assert speak("outline", MASKS, TRUTH, Said()) == Said(outlined=(0,))


def test_a_negative_is_never_where_a_click_is_nor_a_click_where_a_negative_is():
    before = Said(clicks=((0, 2, 2),), negatives=((1, 3, 0),))
    said = speak("clicks+negatives", MASKS, TRUTH, before)
    assert said == Said(clicks=((1, 3, 1),), negatives=((0, 1, 1),))


def test_one_who_looks_at_one_frame_speaks_of_that_frame_alone():
    assert speak("clicks+negatives", MASKS, TRUTH, Said(), frame=0) == Said(negatives=((0, 2, 2),))
    assert speak("outline", MASKS, TRUTH, Said(), frame=1) == Said(outlined=(1,))


def test_masks_that_are_right_leave_nothing_to_say():
    for words in ("clicks+negatives", "outline"):
        assert speak(words, TRUTH, TRUTH, Said()) == Said()


def test_the_masks_are_not_touched():
    masks, truth = MASKS.copy(), TRUTH.copy()
    speak("clicks+negatives", masks, truth, Said(), frame=0)
    assert (masks == MASKS).all() and (truth == TRUTH).all()


def test_the_next_outline_is_of_the_worst_frame_that_has_none():
    assert choose_outline(MASKS ^ TRUTH, (0,)) == (1,)
    assert choose_outline(MASKS ^ TRUTH, (0, 1)) == ()


@pytest.mark.parametrize(
    ("true", "size", "wanted"),
    [
        (137, 1.0, 1.33),  # of the marks 1.33 and 1.46 the likelier one
        (145, 1.0, 1.46),
        (102, 1.0, None),  # nearer where it is than the next mark
        (80, 1.0, 0.83),
        (150, 1.61, 1.46),  # from where it is now
        (1, 1.0, 0.06),
    ],
)
def test_the_dial_is_dragged_for_as_long_as_masks_look_better(true, size, wanted):
    places = np.arange(400).reshape(1, 20, 20)
    assert turn_dial(lambda size: places < 100 * size, places < true, size) == wanted


def test_who_sees_no_better_masks_leaves_the_dial():
    truth = np.zeros((1, 4, 4), bool)
    truth[0, 0] = True
    seen = []

    def look(size: float) -> np.ndarray:
        seen.append(size)
        return ~truth

    assert turn_dial(look, truth, 1.0) is None
    assert len(seen) < 8


def test_a_fifth_of_the_frames_are_the_worst_and_more_if_several_are_as_bad():
    """Of ten frames two are: those with 9 and 8 wrong pixels."""
    wrong = np.arange(9)[np.newaxis, np.newaxis] < np.arange(10)[:, np.newaxis, np.newaxis]
    assert [frame for frame in range(10) if is_among_worst(frame, wrong)] == [8, 9]
    wrong[7] = wrong[8]
    assert [frame for frame in range(10) if is_among_worst(frame, wrong)] == [7, 8, 9]


def test_words_add_up():
    first = Said(clicks=((0, 1, 1),), outlined=(3,), size=1.2)
    both = first.and_then(Said(negatives=((2, 0, 0),), size=1.1))
    assert both == Said(((0, 1, 1),), ((2, 0, 0),), (3,), 1.1)
    assert (both.count, both.frames) == (4, {0, 2, 3})
    assert both.and_then(Said()).size == 1.1


@pytest.mark.parametrize(
    ("values", "message"),
    [
        (("2dlocs", "shouts", "anywhere", 1), "words of an effort must be one of none, clicks, .* got shouts"),
        (("2dlocs", "clicks", "away", 1), "look of an effort must be one of anywhere, suggested, got away"),
        (("2dlocs", "clicks", "anywhere", 0), "words clicks needs 1 or more rounds, got 0"),
        (("2dlocs", "none", "anywhere", -1), "words none needs 0 or more rounds, got -1"),
    ],
)
def test_an_effort_without_meaning_is_refused(values, message):
    with pytest.raises(SettingsError, match=message):
        Effort(*values)
