"""Specks go, pinholes are filled, and nothing that a person said is touched."""

import numpy as np
import pytest

from fewpoint.core import PointSet, Words
from fewpoint.pipeline.cleaning import CleanedFrames, clean_labels, drop_untied

OBJECT = PointSet.from_rows([(1, 12, 12)])


@pytest.fixture
def labels() -> np.ndarray:
    """Three frames of 32 x 32 with a square of 16 x 16, which has 256 pixels."""
    values = np.zeros((3, 32, 32), np.uint8)
    values[:, 4:20, 4:20] = 1
    return values


def clean(labels: np.ndarray, points: PointSet = OBJECT, words: Words = Words()) -> np.ndarray:
    cleaned = labels.copy()
    clean_labels(cleaned, 1, points, words)
    return cleaned


def test_a_plain_mask_stays_as_it_is(labels):
    np.testing.assert_array_equal(clean(labels), labels)


def test_a_small_piece_on_one_frame_alone_is_taken_off(labels):
    speckled = labels.copy()
    speckled[1, 28:30, 28:30] = 1
    np.testing.assert_array_equal(clean(speckled), labels)


@pytest.mark.parametrize("frames", [(0, 1), (1, 2)])
def test_a_small_piece_that_stays_for_two_frames_is_kept(labels, frames):
    labels[list(frames), 28:30, 28:30] = 1
    np.testing.assert_array_equal(clean(labels), labels)


def test_a_small_piece_with_a_point_and_a_large_one_without_are_kept(labels):
    labels[1, 28, 28] = 1
    labels[2, 24:30, 24:30] = 1
    points = PointSet.from_rows([(1, 12, 12), (1, 28, 28)])
    np.testing.assert_array_equal(clean(labels, points), labels)


def test_a_pinhole_is_filled_and_a_large_hole_is_not(labels):
    pierced = labels.copy()
    pierced[0, 10:12, 10:12] = 0  # 4 of 252 pixels
    pierced[2, 8:14, 8:14] = 0
    expected = labels.copy()
    expected[2, 8:14, 8:14] = 0
    np.testing.assert_array_equal(clean(pierced), expected)


def test_a_notch_at_the_edge_is_no_pinhole(labels):
    labels[0, 4, 10] = 0
    np.testing.assert_array_equal(clean(labels), labels)


def test_a_hole_with_a_negative_or_another_object_stays(labels):
    labels[0, 10, 10] = 0
    labels[1, 10, 10] = 2
    negative = PointSet.from_rows([(1, 12, 12)], negatives=[(0, 10, 10)])
    np.testing.assert_array_equal(clean(labels, negative), labels)


def test_an_outlined_frame_stays_as_drawn(labels):
    labels[1, 28, 28], labels[1, 10, 10] = 1, 0
    drawn = Words.of({1: labels[1] == 1})
    np.testing.assert_array_equal(clean(labels, words=drawn), labels)


def test_other_objects_are_left_alone(labels):
    labels[1, 28, 28] = 2
    np.testing.assert_array_equal(clean(labels), labels)


def draw_parts():
    """Six frames: an object that is clicked on the first, and another that is not, both through all frames."""
    labels = np.zeros((6, 20, 20), np.uint8)
    labels[:, 2:12, 2:12] = 1
    labels[2:, 15:17, 15:17] = 1
    return labels


def test_a_part_that_no_click_is_tied_to_is_dropped_if_it_is_small_enough():
    points, labels = PointSet.from_rows([(0, 5, 5)]), draw_parts()
    drop_untied(labels, 1, points, Words(), smaller_than=16 / 600)
    assert labels[2:, 15:17, 15:17].all()
    drop_untied(labels, 1, points, Words(), smaller_than=17 / 600)
    assert labels[:, 2:12, 2:12].all() and labels.sum() == 600


def test_parts_are_tied_by_a_click_on_any_of_their_frames():
    labels = draw_parts()
    drop_untied(labels, 1, PointSet.from_rows([(0, 5, 5), (4, 16, 16)]), Words(), smaller_than=np.inf)
    assert (labels == draw_parts()).all()


def test_nothing_is_dropped_where_no_part_is_tied():
    labels = draw_parts()
    drop_untied(labels, 1, PointSet.from_rows([(0, 19, 0)]), Words(), smaller_than=np.inf)
    assert (labels == draw_parts()).all()


def test_another_object_is_left_alone():
    labels = draw_parts()
    labels[labels == 1] = 2
    drop_untied(labels, 1, PointSet.from_rows([(0, 5, 5)]), Words(), smaller_than=np.inf)
    assert (labels > 0).sum() == (draw_parts() > 0).sum()


# Single frames.


def make_noise(seed: int, objects: int) -> tuple[np.ndarray, list[tuple[PointSet, Words]]]:
    """Twelve frames of 40 x 40 on which each object has a square that moves, holes, specks and strays; few clicks."""
    draw = np.random.default_rng(seed)
    labels = np.zeros((12, 40, 40), np.uint8)
    said = []
    for number in range(1, objects + 1):
        starts = 4 + 14 * (number - 1) + np.cumsum(draw.integers(-1, 2, 12))
        for frame, start in enumerate(np.clip(starts, 0, 22).tolist()):
            labels[frame, start : start + 16, 4:22] = number
        for size in (1, 1, 2, 2, 3):
            frame, y, x = draw.integers(0, (12, 36, 36)).tolist()
            labels[frame : frame + int(draw.integers(1, 4)), y : y + size, x : x + size] = number
        for _ in range(6):
            frame, y, x = draw.integers(0, (12, 40, 40)).tolist()
            labels[frame, y, x] = 0
        clicks = np.argwhere(labels == number)
        chosen = clicks[draw.choice(len(clicks), 2, replace=False)]
        words = Words.of({int(draw.integers(12)): labels[5] == number}) if seed % 3 == 0 else Words()
        said.append((PointSet(chosen[np.lexsort(chosen.T[::-1])], negatives=np.argwhere(labels == 0)[7:8]), words))
    return labels, said


def clean_all(labels: np.ndarray, said: list[tuple[PointSet, Words]]) -> np.ndarray:
    cleaned = labels.copy()
    for number, (points, words) in enumerate(said, start=1):
        clean_labels(cleaned, number, points, words)
        drop_untied(cleaned, number, points, words)
    return cleaned


@pytest.mark.parametrize("objects", [1, 2, 3])
@pytest.mark.parametrize("seed", range(12))
def test_a_single_frame_is_as_clean_as_among_all(seed, objects):
    labels, said = make_noise(seed, objects)
    expected = clean_all(labels, said)
    assert (expected != labels).any()
    for frame in range(len(labels)):
        found = CleanedFrames(labels.__getitem__, len(labels), said).on_frame(frame)
        np.testing.assert_array_equal(found, expected[frame])


def test_frames_far_away_are_not_needed_where_a_click_ties_all_pieces(labels):
    many = np.repeat(labels[:1], 60, axis=0)
    seen: list[int] = []

    def look(frame: int) -> np.ndarray:
        seen.append(frame)
        return many[frame]

    cleaned = CleanedFrames(look, 60, [(PointSet.from_rows([(30, 12, 12)]), Words())])
    np.testing.assert_array_equal(cleaned.on_frame(31), many[31])
    assert set(seen) <= set(range(28, 35))


@pytest.mark.parametrize("frame", [0, 5, 9])
def test_a_thin_piece_that_is_clicked_or_grows_large_far_away_is_no_stray(labels, frame):
    many = np.repeat(labels[:1], 12, axis=0)
    many[:, 30, 30:32] = many[:, 30:32, 2] = 1  # 2 pixels beside 256
    many[10:, 24:32, 2:12] = 1
    points = PointSet.from_rows([*((each, 12, 12) for each in range(12)), (11, 30, 30)])
    expected = clean_all(many, [(points, Words())])
    np.testing.assert_array_equal(expected, many)
    found = CleanedFrames(many.__getitem__, 12, [(points, Words())]).on_frame(frame)
    np.testing.assert_array_equal(found, many[frame])
