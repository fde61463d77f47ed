"""Probabilities cut with the truth's help, by hand and against a slow search."""

import numpy as np
import pytest

from fewpoint.errors import InputError
from fewpoint.evaluation.metrics import score_masks
from fewpoint.evaluation.thresholds import CutScores, score_cuts


def test_two_frames_of_unlike_probabilities_by_hand():
    """True are 0.75 and 0.625 of frame 0 and 0.25 of frame 1; 0.5 of frame 1 is not.

    From 0.625 on: 2 hits, 1 missed, F1 = 4 / 5; from 0.25 on: 3 hits, 1 too many, F1 = 6 / 7. By size frame 0 is right
    and frame 1 wrong: 2 of 3 hits.
    """
    probabilities = np.array([[[0.75, 0.625, 0.125]], [[0.5, 0.25, 0.0]]], np.float32)
    truth = np.array([[[True, True, False]], [[False, True, False]]])
    assert score_cuts(probabilities, truth) == CutScores(pytest.approx(6 / 7), pytest.approx(2 / 3))


def test_of_equally_probable_pixels_a_share_is_taken():
    """Two of four equal pixels are true and two are taken: one hit is expected."""
    truth = np.array([[[True, True, False, False]]])
    assert score_cuts(np.full((1, 1, 4), 0.5, np.float16), truth).true_sizes == 0.5


def test_a_frame_without_the_object_has_no_mask_at_its_true_size():
    probabilities = np.array([[[0.9, 0.1]], [[1.0, 1.0]]], np.float16)
    assert score_cuts(probabilities, np.array([[[True, False]], [[False, False]]])).true_sizes == 1.0


def test_the_same_as_trying_every_threshold():
    random = np.random.default_rng(0)
    truth = random.random((4, 9, 11)) < 0.3
    probabilities = np.clip(0.5 * random.random(truth.shape) + 0.3 * truth, 0, 1).astype(np.float16)
    best = max(score_masks(probabilities >= level, truth).pooled.f1 for level in np.unique(probabilities))
    assert score_cuts(probabilities, truth).one_threshold == pytest.approx(best, rel=1e-12)


def test_other_shapes_are_refused():
    with pytest.raises(InputError, match="one shape"):
        score_cuts(np.zeros((1, 2, 2)), np.zeros((1, 2, 3), bool))
