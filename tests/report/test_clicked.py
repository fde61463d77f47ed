"""Whether clicked places look like one thing."""

import numpy as np
import pytest

from fewpoint.core import ImageSequence
from fewpoint.report.clicked import look_at_clicks

T, SIZE = 6, 80


@pytest.fixture(scope="module")
def sequence() -> ImageSequence:
    """Random patches of 8 pixels, and a bright square of 16 at the same place on every frame."""
    patches = np.random.default_rng(0).integers(0, 150, (T, SIZE // 8, SIZE // 8))
    frames = patches.repeat(8, axis=1).repeat(8, axis=2)
    frames[:, 32:48, 16:32] = 240
    return ImageSequence.from_array(frames.astype(np.uint8))


def test_clicks_on_one_thing_are_found_again_by_the_others(sequence):
    seen = look_at_clicks(sequence, np.array([(frame, 40, 24) for frame in range(T)]))
    # The square is a 25th of a frame: about so many places of the grid look like the clicks.
    assert seen.odd.max() < 0.06
    assert seen.apart.tolist() == [0.0] * T


def test_a_click_elsewhere_is_odd_and_apart(sequence):
    rows = np.array([(frame, 40, 24) for frame in range(T)])
    rows[2] = (2, 40, 64)
    seen = look_at_clicks(sequence, rows)
    assert seen.odd.argmax() == 2 and seen.apart[2] == 40
    assert seen.usual < 0.1


def test_clicks_on_plain_background_are_as_odd_as_chance():
    frames = np.zeros((T, SIZE, SIZE), np.uint8)
    frames[:, :8, :8] = np.random.default_rng(1).integers(0, 255, (T, 8, 8))
    seen = look_at_clicks(ImageSequence.from_array(frames), np.array([(frame, 60, 60) for frame in range(T)]))
    assert 0.4 < seen.usual <= 0.5
