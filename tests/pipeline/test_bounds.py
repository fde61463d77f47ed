"""The bound on the object's size: refused where it cannot be, estimated where it is not given."""

import numpy as np
import pytest

from fewpoint.core import AreaBound, ImageSequence, PointSet, SuperpixelMap
from fewpoint.errors import InputError
from fewpoint.learning.clicks import squared_steps
from fewpoint.pipeline.bounds import FALLBACK, LARGEST, check_bound, estimate_bound


def make_scene(block: int = 5, n_frames: int = 6) -> tuple[ImageSequence, SuperpixelMap]:
    """Frames of 100 x 100 pixels cut into square blocks."""
    index = np.arange(100) // block
    labels = (index[:, np.newaxis] * (index.max() + 1) + index).astype(np.int32)
    frames = np.zeros((n_frames, 100, 100), np.uint8)
    return ImageSequence.from_array(frames), SuperpixelMap(np.tile(labels, (n_frames, 1, 1)))


def walk(step: int, n_frames: int = 6) -> PointSet:
    """To and fro by 3 * step rows and 4 * step columns: 5 * step pixels."""
    return PointSet.from_rows([(t, 10 + (t % 2) * 3 * step, 10 + (t % 2) * 4 * step) for t in range(n_frames)])


def test_a_bound_that_the_clicked_superpixels_fill_is_refused_with_both_shares():
    _, superpixels = make_scene()
    points = PointSet.from_rows([(0, 2, 2), (0, 50, 50)])  # two of 400 superpixels
    with pytest.raises(InputError, match=r"may cover 0.005 of a frame.*already cover 0.005; give a larger --max-frac"):
        check_bound(AreaBound(0.005), superpixels, points)
    bound = AreaBound(0.0051)
    assert check_bound(bound, superpixels, points) is bound


def test_the_estimate_is_three_times_the_disc_that_the_steps_span():
    # Steps of 5 pixels: 3 * pi * 25 of 10 000 pixels.
    bound = estimate_bound(*make_scene(), walk(1))
    assert bound.fraction == pytest.approx(3 * np.pi * 25 / 10_000)
    assert bound.origin == "estimated as 2.4% of a frame from how far the points lie apart"


def test_the_estimate_is_four_superpixels_at_least_and_half_a_frame_at_most():
    still = PointSet.from_rows([(t, 10, 10) for t in range(6)])
    assert estimate_bound(*make_scene(), still).fraction == 4 / 400
    assert estimate_bound(*make_scene(), walk(15)).fraction == LARGEST


def test_the_estimate_is_twice_what_the_clicks_cover_at_least():
    # Six clicks on six of 400 superpixels of every frame: 0.015; their mean does not move.
    rows = [(t, 2 + 5 * row, 2) for t in range(6) for row in range(6)]
    assert estimate_bound(*make_scene(), PointSet.from_rows(rows)).fraction == pytest.approx(2 * 6 / 400)


@pytest.mark.parametrize("n_frames", [1, 2, 4])
def test_with_fewer_than_four_steps_a_tenth_is_assumed_and_said(n_frames):
    bound = estimate_bound(*make_scene(), walk(1, n_frames))
    assert bound.fraction == FALLBACK
    assert bound.origin.startswith("assumed to be 10.0% of a frame")
    assert "--max-fraction" in bound.origin


@pytest.mark.parametrize("block", [50, 100])
@pytest.mark.parametrize("n_frames", [1, 6])
def test_a_bound_is_found_even_where_superpixels_are_as_large_as_the_frame(block, n_frames):
    assert estimate_bound(*make_scene(block), walk(1, n_frames)).fraction == LARGEST


def test_steps_run_between_the_mean_points_of_neighbouring_clicked_frames():
    points = PointSet.from_rows([(0, 0, 0), (0, 4, 0), (3, 2, 3), (7, 2, 1)])
    assert squared_steps(points).tolist() == [9.0, 4.0]
    assert squared_steps(PointSet.from_rows([(2, 5, 5)])).tolist() == []
