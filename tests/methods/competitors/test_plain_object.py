"""An object that looks like nothing else: who misses it has a fault of his own, whatever he does on hard sequences."""

import numpy as np
import pytest
from scipy.ndimage import gaussian_filter

from fewpoint.bench.methods import build_method
from fewpoint.core import AreaBound, ImageSequence, PointSet
from fewpoint.evaluation.metrics import score_masks

SIZE, RADIUS, FRAMES = (64, 80), 14, 6
SMALL = (
    ("superpixels.count", 200),
    ("autoencoder.base_width", 8),
    ("autoencoder.levels", 3),
    ("autoencoder.max_side", 80),
    ("autoencoder.epochs", 5),
    ("autoencoder.frames_per_epoch", 40),
    ("linking.radius", 0.12),  # two superpixels, as 0.05 is of a large frame
)


def make_plain() -> tuple[ImageSequence, PointSet, np.ndarray]:
    """A bright, textured disc that moves over dark, textured ground; a click a frame, up to five pixels off centre."""
    rng, (rows, columns) = np.random.default_rng(0), np.indices(SIZE)
    centres = [(30 + 2 * frame, 30 + 3 * frame) for frame in range(FRAMES)]
    truth = np.stack([(rows - y) ** 2 + (columns - x) ** 2 < RADIUS**2 for y, x in centres])
    ground, disc = (gaussian_filter(rng.random(truth.shape), (0, 1, 1)) for _ in range(2))
    frames = np.where(truth, 0.7 + 0.2 * disc, 0.2 + 0.2 * ground)
    clicks = [
        (frame, y + int(rng.integers(-5, 6)), x + int(rng.integers(-5, 6))) for frame, (y, x) in enumerate(centres)
    ]
    return ImageSequence.from_array((255 * frames).astype(np.uint8)), PointSet.from_rows(clicks), truth


def score(method: str) -> float:
    sequence, points, truth = make_plain()
    bound = AreaBound(1.4 * truth.mean(axis=(1, 2)).max())
    result = build_method(method, SMALL, "cpu").segment(sequence, points, bound, seed=0)
    return score_masks(result.masks, truth).pooled.f1


@pytest.mark.parametrize("method", ["random-walker", "gaze2segment"])
def test_what_edges_tell_is_found_to_the_pixel(method):
    assert score(method) > 0.99


@pytest.mark.nightly
@pytest.mark.parametrize("method", ["eel", "ksptrack"])
def test_what_features_of_superpixels_tell_is_found_but_for_its_border(method):
    """With a ring of a superpixel, five pixels, round it, a disc of radius 14 has an F1 of 2 / (1 + (19/14)^2)."""
    assert score(method) > max(2 / (1 + (19 / 14) ** 2), score("half-disc"))
