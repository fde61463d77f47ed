"""Sequences of odd shapes run through, and say what cannot work."""

import numpy as np
import pytest

from fewpoint.core import ImageSequence, PointSet
from fewpoint.pipeline.run import segment
from fewpoint.pipeline.summary import find_warnings
from synthetic import TINY


def make_frames(count: int, height: int, width: int) -> np.ndarray:
    """Noise with a bright block in the first quarter."""
    frames = np.random.default_rng(0).integers(0, 60, (count, height, width)).astype(np.uint8)
    frames[:, height // 4 : height // 2, width // 4 : width // 2] += 150
    return frames


@pytest.mark.parametrize("shape", [(1, 48, 40), (3, 48, 40), (2, 200, 4000), (3, 5, 7)])
def test_masks_have_the_full_size_and_hold_the_click(shape):
    _, height, width = shape
    points = PointSet.from_rows([(0, height // 3, width // 3)])
    result = segment(ImageSequence.from_array(make_frames(*shape)), points, 0.3, settings=TINY)
    assert result.masks.shape == shape
    assert result.masks[tuple(points.coordinates[0])]
    assert any("one frame only" in warning for warning in find_warnings(result)) == (shape[0] == 1)
