"""The working size: never larger than the input, and the way there and back keeps everything in its place."""

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from fewpoint.learning.working import WorkingSize


@given(st.integers(1, 700), st.integers(1, 700), st.integers(16, 512), st.sampled_from([1, 4, 16]))
def test_a_frame_is_never_enlarged_keeps_its_shape_and_is_padded_to_the_multiple(height, width, max_side, multiple):
    size = WorkingSize.fit((height, width), max_side, multiple)
    assert max(size.reduced) <= max(max_side, 1)
    for full, reduced, padded in zip(size.full, size.reduced, size.padded, strict=True):
        assert 1 <= reduced <= full
        assert reduced <= padded
        assert padded % multiple == 0
        assert padded >= 2 * multiple
        assert padded - reduced < multiple or padded == 2 * multiple
    if max(height, width) <= max_side:
        assert size.reduced == size.full
    else:
        # Each side is rounded to whole pixels, by half a pixel at most, and is one pixel at least.
        expected = np.maximum(1, np.array(size.full) * max_side / max(size.full))
        assert np.abs(size.reduced - expected).max() <= 0.5


@pytest.mark.parametrize(
    ("full", "max_side", "reduced", "padded"),
    [
        ((288, 384), 128, (96, 128), (96, 128)),
        ((100, 50), 512, (100, 50), (112, 64)),
        ((300, 100), 100, (100, 33), (112, 48)),
        ((16, 16), 128, (16, 16), (32, 32)),
        ((1000, 1), 100, (100, 1), (112, 32)),
    ],
)
def test_sizes_by_hand(full, max_side, reduced, padded):
    assert WorkingSize.fit(full, max_side, 16) == WorkingSize(full, reduced, padded)


def test_small_frames_pass_unchanged_and_the_border_repeats_the_edge():
    frames = torch.rand(2, 3, 5, 7)
    reduced = WorkingSize.fit((5, 7), 64, 4).reduce_frames(frames)
    assert reduced.shape == (2, 3, 8, 8)
    assert torch.equal(reduced[:, :, :5, :7], frames)
    assert torch.equal(reduced[:, :, 5:, :7], frames[:, :, 4:].expand(2, 3, 3, 7))
    assert torch.equal(reduced[:, :, :5, 7], frames[:, :, :, 6])


def test_reduced_frames_are_local_means():
    # Halving with antialiasing averages a triangle of four pixels: 1/8, 3/8, 3/8, 1/8; a stripe becomes its mean.
    stripes = torch.tensor([0.0, 1.0]).repeat(32).expand(1, 1, 64, 64)
    reduced = WorkingSize.fit((64, 64), 32, 4).reduce_frames(stripes)
    torch.testing.assert_close(reduced[..., 1:-1], torch.full((1, 1, 32, 30), 0.5))


@pytest.mark.parametrize("full", [(40, 56), (33, 47), (16, 90)])
def test_each_reduced_pixel_takes_the_label_of_a_nearest_pixel(full):
    size = WorkingSize.fit(full, 24, 4)
    place = np.arange(full[0] * full[1]).reshape(1, *full)
    reduced = size.reduce_labels(place, border=-1)
    rows, columns = np.divmod(reduced[0, : size.reduced[0], : size.reduced[1]], full[1])
    for picked, axis in ((rows[:, 0], 0), (columns[0], 1)):
        centres = (np.arange(size.reduced[axis]) + 0.5) * full[axis] / size.reduced[axis]
        assert np.abs(picked + 0.5 - centres).max() <= 0.5 + 1e-9
    assert (rows == rows[:, :1]).all()
    assert (columns == columns[:1]).all()


def test_labels_are_padded_with_the_border():
    size = WorkingSize.fit((5, 6), 64, 4)
    reduced = size.reduce_labels(np.ones((2, 5, 6), np.int32), border=9)
    assert reduced.shape == (2, 8, 8)
    assert (reduced[:, :5, :6] == 1).all()
    assert (reduced[:, 5:] == 9).all()
    assert (reduced[:, :, 6:] == 9).all()


def test_frames_and_labels_are_reduced_to_the_same_places():
    # A bright quarter and its label stay together to within the blur at their border.
    labels = np.zeros((1, 90, 60), np.int32)
    labels[:, 30:, 20:] = 1
    size = WorkingSize.fit((90, 60), 30, 4)
    frames = size.reduce_frames(torch.from_numpy(labels[:, np.newaxis]).float())[0, 0].numpy()
    reduced = size.reduce_labels(labels, border=1)[0]
    assert reduced[:30, :20].tolist() == (frames[:30, :20] >= 0.5).astype(int).tolist()


@pytest.mark.parametrize(
    ("full", "max_side", "tolerance"), [((48, 64), 16, 1e-3), ((20, 30), 64, 0.0), ((50, 70), 33, 0.1)]
)
def test_enlarging_inverts_reducing_on_a_slope(full, max_side, tolerance):
    # Both ways interpolate linearly, so that a slope comes back but for the border, where they run out of it; between
    # whole ratios the sampled filter's centre is off by up to a twentieth of a pixel, and the slope is 2 a pixel.
    size = WorkingSize.fit(full, max_side, 4)
    rows, columns = np.indices(full)
    slope = torch.from_numpy(2.0 * rows + 0.5 * columns).float()
    back = size.enlarge(size.reduce_frames(slope[None, None])[:, 0])[0]
    assert back.shape == full
    margin = 2 * max(full) // max(size.reduced)
    inside = (slice(margin, -margin), slice(margin, -margin))
    torch.testing.assert_close(back[inside], slope[inside], rtol=0, atol=tolerance)


def test_padding_is_cut_off_before_enlarging():
    size = WorkingSize.fit((40, 20), 10, 8)
    values = torch.full((1, *size.padded), 100.0)
    values[:, :10, :5] = 1.0
    assert torch.equal(size.enlarge(values), torch.ones(1, 40, 20))
