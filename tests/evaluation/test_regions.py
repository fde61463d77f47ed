"""The truth counted superpixel by superpixel."""

import numpy as np
import pytest

from fewpoint.core import SuperpixelMap
from fewpoint.errors import InputError
from fewpoint.evaluation.metrics import score_masks
from fewpoint.evaluation.regions import RegionTruth
from fewpoint.evaluation.truth import true_shares


def random_case(seed: int) -> tuple[SuperpixelMap, np.ndarray]:
    """Three frames of 30 pixels, cut into 3, 5 and 4 superpixels."""
    rng = np.random.default_rng(seed)
    labels = [rng.permutation(np.arange(30) % count).reshape(5, 6) for count in (3, 5, 4)]
    return SuperpixelMap(np.array(labels, np.int32)), rng.random((3, 5, 6)) < 0.4


def test_counts_and_scores_by_hand():
    """Frame 0 is cut into two superpixels, frame 1 is one: of 3 true pixels the second and the fourth are chosen."""
    superpixels = SuperpixelMap(np.array([[[0, 0, 1, 1]], [[0, 0, 0, 0]]], np.int32))
    counts = RegionTruth.count(superpixels, np.array([[[1, 0, 1, 1]], [[0, 0, 0, 0]]], bool))
    assert counts.true_pixels.tolist() == [[1, 2], [0, 0]]
    assert counts.false_pixels.tolist() == [[1, 0], [4, 0]]
    assert counts.shares.tolist() == [0.75, 0.0]
    score = counts.score(np.array([[False, True], [True, True]]))
    assert (score.true_positives, score.false_positives, score.false_negatives) == (2, 4, 1)


@pytest.mark.parametrize("seed", range(4))
def test_any_choice_scores_as_its_painted_masks_do(seed):
    superpixels, truth = random_case(seed)
    counts = RegionTruth.count(superpixels, truth)
    chosen = np.random.default_rng(seed).random((3, 5)) < 0.5
    masks = np.array([choice[labels] for choice, labels in zip(chosen, superpixels.labels, strict=True)])
    assert counts.score(chosen) == score_masks(masks, truth).pooled
    np.testing.assert_allclose(counts.shares, true_shares(truth), rtol=1e-12)


@pytest.mark.parametrize("truth", [np.zeros((3, 5, 5), bool), np.zeros((3, 5, 6), np.uint8)])
def test_a_truth_of_another_shape_or_type_is_refused(truth):
    with pytest.raises(InputError, match=r"bool and have the superpixels' shape \(3, 5, 6\)"):
        RegionTruth.count(random_case(0)[0], truth)


@pytest.mark.parametrize("chosen", [np.zeros((3, 4), bool), np.zeros((3, 5))])
def test_a_choice_of_another_shape_or_type_is_refused(chosen):
    with pytest.raises(InputError, match=r"chosen superpixels must be bool.*\(3, 5\)"):
        RegionTruth.count(*random_case(0)).score(chosen)
