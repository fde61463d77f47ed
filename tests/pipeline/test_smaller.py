"""A sequence at a smaller size: frames, points, words and masks go there and back."""

import numpy as np
import pytest
from scipy.ndimage import binary_dilation, binary_erosion

from fewpoint.core import NOTHING_SAID, AreaBound, Box, Geometry, ImageSequence, PointSet, Words
from fewpoint.core.source import Source
from fewpoint.methods.default import ACCURATE
from fewpoint.pipeline.smaller import Smaller
from fewpoint.pipeline.task import Task

SIZE = (40, 80)
HALF = Smaller(SIZE, (20, 40))


def make_sequence() -> ImageSequence:
    rows, columns = np.indices(SIZE)
    disc = (rows - 20) ** 2 + (columns - 30) ** 2 < 12**2
    return ImageSequence.from_array(np.stack([disc * 200, disc * 200 + 20]).astype(np.uint8))


def take(points: PointSet, words: Words = NOTHING_SAID) -> Task:
    task = Task(make_sequence(), points, AreaBound(0.2), ACCURATE, words=(("", words),))
    return HALF.take(task, HALF.shrink(task.sequence))


def test_frames_that_are_small_already_are_left_alone():
    sequence = make_sequence()
    smaller = Smaller.of(sequence, 80)
    assert smaller.same and smaller.shrink(sequence) is sequence
    mask = np.eye(3, dtype=bool)
    assert Smaller((3, 3), (3, 3)).enlarge(mask) is mask


def test_the_longer_side_becomes_as_long_as_asked_for_and_pixels_square():
    assert Smaller.of(make_sequence(), 40).size == (20, 40)
    geometry = Geometry((80, 40, 2), (1, 4, 1), np.eye(3), (0, 0, 0), (2, 1, 0))
    oblong = ImageSequence(make_sequence().frames, ("a", "b"), Source("x.nii", "nifti", geometry=geometry))
    assert oblong.square_size == (160, 80) and Smaller.of(oblong, 40).size == (40, 20)


def test_frames_are_means_of_what_their_pixels_cover_as_brightness():
    small = HALF.shrink(make_sequence())
    assert small.shape == (2, 20, 40, 1) and small.window == (0.0, 1.0)
    assert small.frames[0, 10, 15, 0] > 0.9 and small.frames[0, 0, 0, 0] < 0.1
    assert ((small.frames[0] > 0.2) & (small.frames[0] < 0.8)).any()  # on the border


def test_a_point_lies_in_the_pixel_that_covers_it_and_a_negative_never_on_a_point():
    points = PointSet.from_rows([(0, 0, 0), (0, 39, 79), (1, 20, 30), (1, 21, 31)], negatives=[(1, 21, 30), (1, 5, 5)])
    small = take(points).points
    assert small.coordinates.tolist() == [[0, 0, 0], [0, 19, 39], [1, 10, 15]]
    assert small.negatives.tolist() == [[1, 2, 2]]


def test_an_object_keeps_its_name():
    points = PointSet.from_rows([(0, 20, 30), (0, 21, 31), (1, 20, 30)], objects=["liver"] * 3)
    task = Task(make_sequence(), points, AreaBound(0.2), ACCURATE, words=(("liver", Words(size=2.0)),))
    small = HALF.take(task, HALF.shrink(task.sequence))
    assert small.points.objects == ("liver", "liver") and small.own_words.size == 2.0


def test_a_box_covers_all_that_it_covered_and_sizes_stay():
    words = take(
        PointSet.from_rows([(0, 1, 1)]), Words(boxes=(Box(0, 1, 3, 38, 77),), size=2.0, sizes={1: 0.5})
    ).own_words
    assert words.boxes == (Box(0, 0, 1, 19, 39),) and (words.size, words.sizes) == (2.0, {1: 0.5})


def test_an_outline_stays_one_however_small_and_an_empty_one_stays_empty():
    dot = np.zeros(SIZE, bool)
    dot[21, 31] = True
    words = take(PointSet.from_rows([(0, 1, 1)]), Words.of({0: dot, 1: np.zeros(SIZE, bool)})).own_words
    assert np.argwhere(words.mask(0, HALF.size)).tolist() == [[10, 15]]
    assert not words.mask(1, HALF.size).any()


@pytest.mark.parametrize("radius", [4, 10])
def test_the_border_of_a_disc_comes_back_within_a_pixel(radius):
    rows, columns = np.indices(SIZE)
    disc = (rows - 20) ** 2 + (columns - 30) ** 2 < radius**2
    words = take(PointSet.from_rows([(0, 20, 30)]), Words.of({0: disc})).own_words
    back = HALF.enlarge(words.mask(0, HALF.size))
    assert not (back & ~binary_dilation(disc, np.ones((3, 3)))).any()
    assert not (binary_erosion(disc, np.ones((3, 3))) & ~back).any()
