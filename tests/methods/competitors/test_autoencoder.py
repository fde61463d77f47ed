"""Features that a network learns by redrawing its frames."""

import numpy as np
import torch

from fewpoint.core import ImageSequence, PointSet, SuperpixelMap
from fewpoint.evaluation.phantom import make_phantom
from fewpoint.methods.competitors.autoencoder import (
    Autoencoder,
    build_autoencoder,
    learn_features,
    train,
    weigh_focus,
    weighted_error,
)
from fewpoint.methods.competitors.settings import AutoencoderSettings
from fewpoint.superpixels.slic import SuperpixelSettings, segment_frames

TINY = AutoencoderSettings(base_width=4, levels=3, max_side=32, epochs=2, frames_per_epoch=8)
CPU = torch.device("cpu")


def test_the_original_s_widths_give_512_features():
    network = Autoencoder(1, AutoencoderSettings())
    assert network.encode(torch.zeros(1, 1, 16, 16)).shape == (1, 512, 2, 2)
    assert network(torch.zeros(1, 1, 16, 16)).shape == (1, 1, 16, 16)
    assert sum(isinstance(module, torch.nn.Conv2d) for module in network.encoder.modules()) == 12


def test_the_focus_is_a_gaussian_of_the_distance_to_the_nearest_click():
    """Sigma 0.3 x 20 = 6 pixels: exp(-1/2) at six pixels, and as much everywhere on a frame without a click."""
    weights = weigh_focus(PointSet.from_rows([(0, 5, 4)]), (2, 10, 20), 0.3)
    assert weights[0, 5, 4] == 1
    np.testing.assert_allclose([weights[0, 5, 10], weights[1, 0, 0]], np.exp(-0.5), rtol=1e-6)


def test_training_lowers_the_error():
    frames = torch.randn(4, 1, 16, 16, generator=torch.Generator().manual_seed(0))
    frames = torch.nn.functional.avg_pool2d(frames, 5, 1, 2)
    weights = torch.ones(4, 1, 16, 16)
    errors = []
    for epochs in (1, 25):
        network = build_autoencoder(1, TINY, seed=0)
        settings = AutoencoderSettings(base_width=4, levels=3, epochs=epochs, frames_per_epoch=8)
        train(network, frames, weights, settings, seed=0)
        errors.append(weighted_error(network.train()(frames), frames, weights).item())
    assert errors[1] < 0.7 * errors[0], errors


def test_each_superpixel_has_features_and_like_ones_have_like_features():
    phantom = make_phantom(n_frames=3, size=(40, 48))
    superpixels = segment_frames(phantom.sequence, SuperpixelSettings(count=60))
    features = learn_features(phantom.sequence, superpixels, TINY, seed=0, device=CPU)
    assert features.shape == (superpixels.total, 16)
    assert np.isfinite(features).all() and (features.std(axis=0) > 0).any()


def test_a_superpixel_too_small_for_the_working_size_still_has_features():
    labels = np.zeros((1, 64, 64), np.int32)
    labels[0, 33, 33] = 1  # a single pixel between those that remain at 16 x 16
    frames = ImageSequence.from_array(np.random.default_rng(0).integers(0, 255, (1, 64, 64), np.uint8))
    settings = AutoencoderSettings(base_width=2, levels=2, max_side=16, epochs=1, frames_per_epoch=4)
    features = learn_features(frames, SuperpixelMap(labels), settings, seed=0, device=CPU)
    assert np.isfinite(features).all() and features[1].any()
