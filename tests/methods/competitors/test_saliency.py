"""What stands out is salient."""

import numpy as np

from fewpoint.methods.competitors.saliency import SIMILAR, find_saliency, score_patches


def test_a_lone_spot_stands_out_most():
    colours = np.full((32, 40, 1), 0.4, np.float32)
    colours[12:16, 20:24] = 0.9
    saliency = find_saliency(colours)
    assert saliency[13:15, 21:23].min() > 0.8
    assert saliency[28, 4] < 0.2


def test_an_even_frame_has_no_salient_place():
    assert (find_saliency(np.full((20, 20, 3), 0.5, np.float32)) == 0).all()


def test_a_slow_version_agrees():
    """Patch by patch, in plain loops."""
    colours = np.random.default_rng(0).random((9, 10, 2))
    padded = np.pad(colours, ((2, 2), (2, 2), (0, 0)), mode="edge")
    patches = {(y, x): padded[y : y + 5, x : x + 5].ravel() for y in range(9) for x in range(10)}
    largest = max(np.linalg.norm(one - other) for one in patches.values() for other in patches.values())
    expected = np.empty((9, 10))
    for place, patch in patches.items():
        ratios = sorted(
            np.linalg.norm(patch - other) / largest / (1 + 3 * np.hypot(*np.subtract(place, there)) / 10)
            for there, other in patches.items()
            if there != place
        )
        expected[place] = 1 - np.exp(-np.mean(ratios[:SIMILAR]))
    np.testing.assert_allclose(score_patches(colours), expected, rtol=1e-4)
