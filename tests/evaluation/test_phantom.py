"""The phantom: a truth, clicks on it, and enough difficulty."""

import numpy as np
import pytest

from fewpoint.errors import InputError
from fewpoint.evaluation import make_phantom, score_masks, true_shares
from fewpoint.evaluation.phantom import make_ring


@pytest.mark.parametrize("channels", [1, 3])
def test_the_sequence_has_the_size_asked_for(channels):
    phantom = make_phantom(n_frames=3, size=(40, 56), channels=channels)
    assert phantom.sequence.shape == (3, 40, 56, channels)
    assert phantom.sequence.frames.dtype == np.uint8
    assert phantom.truth.shape == (3, 40, 56)


def test_one_seed_gives_one_phantom_and_another_another():
    first, again, other = (make_phantom(n_frames=2, size=(32, 32), seed=seed) for seed in (4, 4, 5))
    np.testing.assert_array_equal(first.sequence.frames, again.sequence.frames)
    np.testing.assert_array_equal(first.points.coordinates, again.points.coordinates)
    assert (first.truth != other.truth).any()


@pytest.mark.parametrize("seed", range(4))
def test_each_frame_has_one_click_inside_the_object_and_off_its_border(seed):
    from scipy.ndimage import binary_erosion

    phantom = make_phantom(seed=seed)
    assert phantom.points.frames.tolist() == list(range(24))
    for frame, y, x in phantom.points.coordinates:
        assert binary_erosion(phantom.truth[frame])[y, x]


@pytest.mark.parametrize("seed", range(4))
def test_the_object_is_one_piece_that_moves_and_changes_size(seed):
    from scipy.ndimage import center_of_mass, label

    truth = make_phantom(seed=seed).truth
    assert all(label(mask)[1] == 1 for mask in truth)
    shares = true_shares(truth)
    assert 0.02 < shares.min() < shares.max() / 1.5 < 0.2
    centres = np.array([center_of_mass(mask) for mask in truth])
    assert np.ptp(centres, axis=0).max() > 20
    assert np.hypot(*np.diff(centres, axis=0).T).max() < 10


@pytest.mark.parametrize("seed", range(4))
def test_the_ring_has_one_hole_on_every_frame_and_pieces_like_it_beyond_reach_of_every_click(seed):
    """Two radii of a disc of 1.4 times the ring's largest area, from which paths may start, end left of all pieces."""
    from scipy.ndimage import binary_fill_holes, label

    ring = make_ring(seed=seed)
    assert all(label(mask)[1] == 1 and label(binary_fill_holes(mask) & ~mask)[1] == 1 for mask in ring.truth)
    reach = 2 * np.sqrt(1.4 * ring.truth.sum(axis=(1, 2)).max() / np.pi)
    assert ring.points.coordinates[:, 2].max() + reach < 128 * 0.85
    frames = ring.sequence.frames[..., 0].astype(float)
    bright = np.percentile(frames[:, :, 100:], 80)
    assert bright > frames[ring.truth].mean() - 2 * frames[ring.truth].std()
    with pytest.raises(InputError, match="32 x 64 pixels or more, got 3 of 32 x 40"):
        make_ring(3, (32, 40))


@pytest.mark.parametrize("seed", range(4))
def test_no_threshold_on_brightness_comes_near_the_truth(seed):
    phantom = make_phantom(seed=seed)
    grey = phantom.sequence.frames[..., 0]
    assert max(score_masks(grey > level, phantom.truth).pooled.f1 for level in range(0, 255, 5)) < 0.7


def test_the_object_differs_from_the_tissue_on_average():
    phantom = make_phantom()
    grey = phantom.sequence.frames[..., 0].astype(float)
    inside, outside = grey[phantom.truth], grey[~phantom.truth]
    assert inside.mean() - outside.mean() > outside.std()


def test_the_smallest_phantom_has_an_object_and_clicks_on_it():
    phantom = make_phantom(n_frames=1, size=(16, 16))
    assert phantom.truth[tuple(phantom.points.coordinates.T)].all()


@pytest.mark.parametrize("wrong", [{"n_frames": 0}, {"size": (8, 40)}, {"channels": 2}])
def test_what_cannot_be_painted_is_refused(wrong):
    with pytest.raises(InputError, match="a phantom"):
        make_phantom(**wrong)
