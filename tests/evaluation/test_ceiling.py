"""The ceiling of methods made of superpixels."""

from itertools import product

import numpy as np
import pytest

from fewpoint.core import SuperpixelMap
from fewpoint.errors import InputError
from fewpoint.evaluation.ceiling import best_superpixel_masks, score_ceiling
from fewpoint.evaluation.metrics import score_masks
from fewpoint.superpixels.regions import paint_regions, region_means


def random_case(seed: int) -> tuple[SuperpixelMap, np.ndarray]:
    rng = np.random.default_rng(seed)
    labels = np.array([rng.permutation(np.arange(36) % 4).reshape(6, 6) for _ in range(2)], np.int32)
    return SuperpixelMap(labels), rng.random((2, 6, 6)) < rng.uniform(0.2, 0.8)


def test_half_is_not_more_than_half():
    superpixels = SuperpixelMap(np.array([[[0, 0, 1, 1, 1]]], np.int32))
    truth = np.array([[[True, False, True, True, False]]])
    assert best_superpixel_masks(superpixels, truth).tolist() == [[[False, False, True, True, True]]]
    score = score_ceiling(superpixels, truth).pooled
    assert (score.true_positives, score.false_positives, score.false_negatives) == (2, 1, 1)


@pytest.mark.parametrize("seed", range(3))
def test_it_equals_thresholding_the_region_means(seed):
    superpixels, truth = random_case(seed)
    expected = paint_regions(superpixels, region_means(superpixels, truth) > 0.5)
    np.testing.assert_array_equal(best_superpixel_masks(superpixels, truth), expected)


@pytest.mark.parametrize("seed", range(3))
def test_no_choice_of_superpixels_has_fewer_wrong_pixels(seed):
    superpixels, truth = random_case(seed)
    score = score_ceiling(superpixels, truth).pooled
    choices = (np.array(choice) for choice in product([False, True], repeat=superpixels.total))
    fewest = min(int((paint_regions(superpixels, choice) != truth).sum()) for choice in choices)
    assert score.false_positives + score.false_negatives == fewest


def test_superpixels_of_one_pixel_reach_the_truth():
    superpixels = SuperpixelMap(np.arange(12, dtype=np.int32).reshape(1, 3, 4))
    truth = np.random.default_rng(0).random((1, 3, 4)) < 0.5
    assert score_ceiling(superpixels, truth) == score_masks(truth, truth)


def test_a_truth_of_another_shape_is_refused():
    superpixels, truth = random_case(0)
    with pytest.raises(InputError, match=r"\(2, 6, 6\).*got \(1, 6, 6\)"):
        best_superpixel_masks(superpixels, truth[:1])
