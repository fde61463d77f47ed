"""Outlines of the report, drawn with few points."""

from itertools import pairwise

import numpy as np
import pytest

from fewpoint.report.strip import simplify_line, trace_path


def distance_to_line(place: np.ndarray, line: np.ndarray) -> float:
    """The plain way: the nearest of many places on each of its pieces."""
    steps = np.linspace(0, 1, 200)[:, np.newaxis]
    return min(np.hypot(*(start + steps * (end - start) - place).T).min() for start, end in pairwise(line))


@pytest.mark.parametrize("tolerance", [0.1, 0.4, 2.0])
def test_a_simplified_line_stays_within_the_tolerance_of_every_point_and_keeps_its_ends(tolerance):
    turns = np.linspace(0, 2 * np.pi, 60)
    wave = np.stack([10 * np.sin(turns), 12 * np.cos(turns) + np.sin(7 * turns)], axis=1)
    short = simplify_line(wave, tolerance)
    assert 2 < len(short) < len(wave)
    np.testing.assert_array_equal(short[[0, -1]], wave[[0, -1]])
    assert max(distance_to_line(place, short) for place in wave) <= tolerance + 0.01  # the plain way goes in steps


def test_a_closed_line_and_one_of_two_points_stay_what_they_are():
    square = np.array([[0, 0], [0, 4], [4, 4], [4, 0], [0, 0]], float)
    np.testing.assert_array_equal(simplify_line(square, 0.4), square)
    np.testing.assert_array_equal(simplify_line(square[:2], 0.4), square[:2])


def test_an_empty_mask_has_no_outline():
    assert trace_path(np.zeros((4, 5), bool)) == ""
