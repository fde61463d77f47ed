"""Clicks and words of several objects as one whole."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy.ndimage import distance_transform_cdt

from fewpoint.core import Box, PointSet, Words
from fewpoint.core.saying import add_outlined, add_words, find_innermost, name_objects, settle_words, spread_words
from fewpoint.errors import InputError

SIZE = (6, 8)
FRAMES = 5


def draw(rows: slice, columns: slice) -> np.ndarray:
    mask = np.zeros(SIZE, bool)
    mask[rows, columns] = True
    return mask


SQUARE = draw(slice(1, 4), slice(2, 5))  # its middle is y 2, x 3
EMPTY = np.zeros(SIZE, bool)


def settle(points: PointSet | None, said: dict[str, Words]):
    return settle_words(points, said, FRAMES, SIZE)


@given(arrays(bool, st.tuples(st.integers(1, 9), st.integers(1, 9))).filter(np.any))
def test_no_pixel_lies_deeper_than_the_innermost(mask):
    depth = distance_transform_cdt(np.pad(mask, 1), "taxicab")[1:-1, 1:-1]
    assert depth[find_innermost(mask)] == depth.max()


def test_the_innermost_pixel_of_a_long_bar_is_its_middle():
    assert find_innermost(draw(slice(0, 6), slice(4, 5))) in ((2, 4), (3, 4))
    assert find_innermost(SQUARE) == (2, 3)


def test_an_empty_mask_has_no_innermost_pixel():
    with pytest.raises(InputError, match="no innermost pixel"):
        find_innermost(EMPTY)


def test_without_words_points_stay_as_they_are():
    points = PointSet.from_rows([(0, 1, 1)], [3], negatives=[(0, 5, 5)])
    assert settle(points, {}) == (points, ())
    assert settle(points, {"": Words()})[1] == ()


def test_outlines_alone_say_where_an_object_is():
    points, words = settle(None, {"": Words.of({1: SQUARE, 3: EMPTY})})
    assert (points.coordinates.tolist(), points.objects, points.absent) == ([[1, 2, 3]], (), (3,))
    assert [name for name, _ in words] == [""]


def test_an_object_without_a_point_is_clicked_in_its_outlines_and_others_are_not():
    clicks = PointSet.from_rows([(0, 5, 7)], objects=["a"], negatives=[(0, 0, 0)], negative_objects=["a"])
    points = add_outlined(clicks, {"a": Words.of({2: SQUARE}), "b": Words.of({1: SQUARE, 4: SQUARE})}, SIZE)
    assert points.coordinates.tolist() == [[0, 5, 7], [1, 2, 3], [4, 2, 3]]
    assert points.objects == ("a", "b", "b")
    assert (points.negatives.tolist(), points.negative_objects) == ([[0, 0, 0]], ("a",))


def test_an_empty_outline_of_one_of_several_objects_marks_it_absent_alone():
    clicks = PointSet.from_rows([(0, 5, 7), (0, 0, 0)], [4], ["a", "b"])
    points = add_outlined(clicks, {"a": Words.of({1: EMPTY, 4: EMPTY}), "b": Words()}, SIZE)
    assert (points.absent, points.absent_of) == ((4,), ((1, "a"),))


def test_what_is_said_of_every_object_holds_where_it_has_no_word_of_its_own():
    said = {"": Words(size=2.0, sizes={1: 0.5, 2: 0.6}), "a": Words(size=3.0, sizes={1: 0.9})}
    spread = spread_words(said, ("a", "b"))
    assert spread == {"a": Words(size=3.0, sizes={1: 0.9, 2: 0.6}), "b": said[""]}


def test_the_only_object_is_meant_without_its_name():
    points = PointSet.from_rows([(0, 2, 3)], objects=["liver"])
    words = Words.of({0: SQUARE}, (Box(1, 0, 0, 3, 3),), 1.5)
    assert settle(points, {"": words})[1] == settle(points, {"liver": words})[1] == (("liver", words),)


def test_newer_words_win_frame_by_frame():
    older = Words.of({1: SQUARE, 2: SQUARE}, (Box(1, 0, 0, 3, 3),), 2.0, {3: 0.5})
    newer = add_words(older, outlined={2: ()}, boxes=(Box(1, 0, 0, 4, 4), Box(0, 0, 0, 2, 2)), sizes={3: 1.0})
    assert newer == Words.of({1: SQUARE, 2: EMPTY}, (Box(0, 0, 0, 2, 2), Box(1, 0, 0, 4, 4)), 2.0)


def test_the_same_words_have_the_same_digest_however_they_are_written_down():
    points = PointSet.from_rows([(0, 2, 3)])
    boxes = (Box(2, 0, 0, 3, 3), Box(1, 0, 0, 3, 3))
    ((_, one),) = settle(points, {"": Words(boxes=boxes, size=2, sizes={3: 2, 1: 1.0})})[1]
    ((_, other),) = settle(points, {"": Words(boxes=boxes[::-1], size=2.0, sizes={3: 2.0})})[1]
    assert one.digest() == other.digest() == Words.from_table(one.as_table()).digest()


def test_objects_are_those_of_the_points_and_of_the_words():
    assert name_objects(PointSet.from_rows([(0, 1, 1)]), {"": 1}) == ("",)
    assert name_objects(None, {}) == ("",)
    assert name_objects(None, {"b": 1, "a": 2, "": 3}) == ("a", "b")


TWO = PointSet.from_rows([(0, 2, 3), (0, 5, 7)], [4], ["a", "b"], [(0, 0, 0)], ["a"])


@pytest.mark.parametrize(
    ("points", "said", "message"),
    [
        (TWO, {"": Words.of({0: SQUARE})}, "a drawn mask or a box needs the name of its object, there are a, b"),
        (TWO, {"": Words(boxes=(Box(0, 0, 0, 3, 3),))}, "needs the name of its object"),
        (TWO, {"c": Words(size=2.0)}, "the object c has neither a point nor a drawn mask"),
        (TWO, {"c": Words.of({1: EMPTY})}, "the object c has neither a point"),
        (PointSet.from_rows([(0, 2, 3)]), {"c": Words(size=2.0)}, "names the object c, but the points name none"),
        (None, {}, "the object has neither a point nor a drawn mask"),
        (
            TWO,
            {"a": Words.of({0: draw(slice(0, 1), slice(0, 2))})},
            "point on a at y 2, x 3 lies outside the drawn mask of a on frame 0",
        ),
        (
            TWO,
            {"b": Words.of({0: SQUARE | draw(slice(5, 6), slice(7, 8))})},
            "point on a at y 2, x 3 lies inside the drawn mask of b",
        ),
        (
            TWO,
            {"a": Words.of({0: SQUARE | draw(slice(0, 1), slice(0, 1))})},
            "background click at y 0, x 0 lies inside the drawn mask of a",
        ),
        (TWO, {"a": Words.of({4: SQUARE})}, "marked absent, but the drawn mask of a on frame 4 is not empty"),
        (
            TWO,
            {"a": Words(boxes=(Box(0, 0, 0, 2, 2),))},
            "point on frame 0 at y 2, x 3 lies outside the box of a there, 0,0,2,2",
        ),
        (
            TWO,
            {"a": Words.of({1: SQUARE}), "b": Words.of({1: SQUARE})},
            "drawn masks of a and b on frame 1 share pixels, such as y 1, x 2",
        ),
        (TWO, {"a": Words.of({5: SQUARE})}, "a drawn mask is on frame 5, but the sequence has frames 0 to 4"),
        (TWO, {"a": Words({1: ((47, 2),)})}, "must follow each other inside the 6 x 8 frame"),
        (TWO, {"a": Words(boxes=(Box(1, 0, 0, 7, 2),))}, "the box must lie in the 6 x 8 frame"),
    ],
)
def test_what_cannot_be_meant_is_refused_in_one_line(points, said, message):
    with pytest.raises(InputError, match=message) as caught:
        settle(points, said)
    assert "\n" not in str(caught.value)


def test_an_outline_outweighs_a_box_on_its_frame():
    words = Words.of({0: SQUARE}, (Box(0, 4, 4, 6, 6),))
    assert settle(PointSet.from_rows([(0, 2, 3)]), {"": words})[1] == (("", words),)
