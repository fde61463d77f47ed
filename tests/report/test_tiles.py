"""One frame as a picture."""

import numpy as np
import pytest
from scipy.ndimage import binary_erosion, distance_transform_edt

from fewpoint.core import ImageSequence
from fewpoint.errors import InputError
from fewpoint.report.tiles import (
    CONTOUR_COLOUR,
    OUTLINE_COLOUR,
    RING_COLOUR,
    draw_tile,
    render_frame,
    render_probability,
    set_scene,
    trace_contours,
)
from fewpoint.superpixels.intensity import IntensityWindow, find_window

NO_CLICKS = np.zeros((0, 2))


def find_colour(picture, colour):
    return (picture == np.array(colour, np.uint8)).all(axis=-1)


def mark_border(mask, size):
    """Pixels on either side of the edge of a mask enlarged by repetition."""
    large = np.kron(mask, np.ones((size[0] // mask.shape[0], size[1] // mask.shape[1]), bool))
    grown = np.pad(large, 1)
    inner = grown & ~binary_erosion(grown)
    outer = ~grown & ~binary_erosion(~grown, border_value=1)
    return (inner | outer)[1:-1, 1:-1]


@pytest.mark.parametrize("box", [(10, 20, 12, 24), (0, 9, 0, 9), (30, 40, 5, 40)])
def test_the_contour_runs_along_the_mask_border_and_nowhere_else(box):
    mask = np.zeros((40, 40), bool)
    mask[box[0] : box[1], box[2] : box[3]] = True
    grey = np.full((40, 40, 3), 128, np.uint8)
    drawn = find_colour(draw_tile(grey, (240, 240), region=mask, clicks=NO_CLICKS), CONTOUR_COLOUR)
    border = mark_border(mask, (240, 240))
    pixel = 6  # of the frame on the tile: corners are cut by less than one, frame edges are drawn half a one inside
    assert distance_transform_edt(~border)[drawn].max() <= pixel / 2 + 1
    assert distance_transform_edt(~drawn)[border].max() <= pixel


def test_an_empty_mask_has_no_contour():
    assert trace_contours(np.zeros((5, 5), bool)) == []


def test_a_single_pixel_keeps_its_contour_when_the_frame_shrinks():
    mask = np.zeros((2000, 2000), bool)
    mask[1000, 500] = True
    tile = draw_tile(np.zeros((2000, 2000, 3), np.uint8), (200, 200), region=mask, clicks=NO_CLICKS)
    rows, columns = np.nonzero(find_colour(tile, CONTOUR_COLOUR))
    assert abs(rows.mean() - 100) <= 1 and abs(columns.mean() - 50) <= 1


def test_the_contour_of_a_probability_lies_where_it_crosses_a_half():
    ramp = np.tile(np.linspace(0, 1, 11), (11, 1))  # 0.5 at column 5
    (line,) = trace_contours(ramp)
    inner = line[(line[:, 0] > 0) & (line[:, 0] < 10) & (line[:, 1] < 9)]
    np.testing.assert_allclose(inner[:, 1], 5, atol=1e-6)


@pytest.mark.parametrize(("y", "x"), [(10, 30), (20, 5), (33, 20)])
@pytest.mark.parametrize("background", [0, 255])
def test_the_ring_is_centred_on_the_click_and_outlined(y, x, background):
    picture = np.full((40, 40, 3), background, np.uint8)
    tile = draw_tile(picture, (240, 240), region=np.zeros((40, 40), bool), clicks=np.array([[y, x]]))
    ring = np.argwhere(find_colour(tile, RING_COLOUR))
    np.testing.assert_allclose(ring.mean(axis=0), [6 * y + 2.5, 6 * x + 2.5], atol=1)
    near = distance_transform_edt(~find_colour(tile, RING_COLOUR)) <= 1.5
    assert find_colour(tile, OUTLINE_COLOUR)[near].any()


def test_sixteen_bits_are_shown_in_their_own_range():
    frames = np.linspace(1000, 3000, 10_000).astype(np.uint16).reshape(1, 100, 100, 1)
    shown = render_frame(frames[0], find_window(frames))
    assert shown.min() == 0 and shown.max() == 255


def test_a_constant_sequence_is_shown_without_division_by_zero():
    frames = np.full((1, 4, 4, 1), 7, np.uint8)
    assert (render_frame(frames[0], find_window(frames)) == 0).all()


def whole_range(channels: int) -> IntensityWindow:
    return IntensityWindow(np.zeros(channels), np.full(channels, 255.0))


@pytest.mark.parametrize("channels", [2, 4])
def test_of_channels_that_are_no_colour_the_first_is_shown(channels):
    frame = np.random.default_rng(0).integers(0, 256, (4, 5, channels)).astype(np.uint8)
    np.testing.assert_array_equal(render_frame(frame, whole_range(channels)), np.repeat(frame[..., :1], 3, axis=-1))


def test_colour_stays_colour():
    frame = np.array([[[255, 0, 51]]], np.uint8)
    np.testing.assert_array_equal(render_frame(frame, whole_range(3)), frame)


def test_a_larger_probability_is_brighter():
    shown = render_probability(np.linspace(0, 1, 50, dtype=np.float16)[None])
    luminance = shown[0] @ np.array([0.2126, 0.7152, 0.0722])
    assert (np.diff(luminance) > 0).all()


def test_a_sequence_that_does_not_match_its_masks_is_refused(result):
    sequence, points, segmentation = result()
    other = ImageSequence.from_array(sequence.frames[:, :-1])
    with pytest.raises(InputError, match=r"\(5, 39, 48\) and \(5, 40, 48\)"):
        set_scene(other, points, segmentation)
