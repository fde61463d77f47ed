"""Scores by hand and by their symmetries."""

import numpy as np
import pytest

from fewpoint.errors import InputError
from fewpoint.evaluation.metrics import AbsenceScore, Score, prior_error, score_absence, score_masks


def masks_with(counts: list[tuple[int, int, int]], n_pixels: int = 20) -> tuple[np.ndarray, np.ndarray]:
    """Masks and truth of one row a frame, with the given true positives, false positives and false negatives."""
    masks, truth = np.zeros((2, len(counts), 1, n_pixels), bool)
    for frame, (hits, extra, missed) in enumerate(counts):
        masks[frame, 0, : hits + extra] = True
        truth[frame, 0, :hits] = True
        truth[frame, 0, hits + extra : hits + extra + missed] = True
    return masks, truth


def test_scores_by_hand():
    scores = score_masks(*masks_with([(6, 2, 4), (0, 0, 5), (3, 0, 0)]))
    assert scores.frames[0] == Score(12 / 18, 6 / 8, 6 / 10, 6, 2, 4)
    assert scores.frames[1] == Score(0.0, 0.0, 0.0, 0, 0, 5)
    assert scores.frames[2] == Score(1.0, 1.0, 1.0, 3, 0, 0)
    assert scores.pooled == Score(18 / 29, 9 / 11, 9 / 18, 9, 2, 9)


def test_nothing_to_find_and_nothing_found_is_perfect():
    assert score_masks(*masks_with([(0, 0, 0)])).pooled == Score(1.0, 1.0, 1.0, 0, 0, 0)


def test_a_mask_where_nothing_is_scores_zero():
    assert score_masks(*masks_with([(0, 3, 0)])).frames[0] == Score(0.0, 0.0, 0.0, 0, 3, 0)


def test_pooling_is_over_pixels_not_over_frames():
    scores = score_masks(*masks_with([(10, 0, 0), (0, 1, 1)]))
    assert scores.pooled.f1 == 20 / 22
    assert np.mean([frame.f1 for frame in scores.frames]) == 0.5


def test_exchanging_masks_and_truth_exchanges_precision_and_recall():
    masks, truth = np.random.default_rng(0).random((2, 3, 8, 9)) < 0.4
    there, back = score_masks(masks, truth).pooled, score_masks(truth, masks).pooled
    assert (there.precision, there.recall, there.f1) == (back.recall, back.precision, back.f1)


def test_f1_is_the_harmonic_mean_of_precision_and_recall():
    score = Score.from_counts(7, 5, 2)
    assert score.f1 == pytest.approx(2 / (1 / score.precision + 1 / score.recall), rel=1e-12)


def test_other_shapes_and_types_are_refused_with_what_was_given():
    masks, truth = masks_with([(1, 1, 1)])
    with pytest.raises(InputError, match=r"masks \(1, 1, 20\), truth \(1, 1, 19\)"):
        score_masks(masks, truth[..., 1:])
    with pytest.raises(InputError, match="truth uint8"):
        score_masks(masks, truth.astype(np.uint8))


def test_frames_without_the_object_are_judged_by_the_share_that_is_marked():
    """Of three empty frames of 20 pixels 3, 0 and 12 pixels are marked: 0.15, 0 and 0.6."""
    masks, truth = masks_with([(0, 3, 0), (5, 7, 1), (0, 0, 0), (0, 12, 0), (0, 0, 4)])
    assert score_absence(masks, truth) == AbsenceScore(3, pytest.approx(0.25))


def test_where_every_frame_shows_the_object_no_share_is_given():
    assert score_absence(*masks_with([(5, 7, 1), (0, 0, 4)])) == AbsenceScore(0, None)


def test_the_prior_error_is_the_mean_absolute_difference():
    _, truth = masks_with([(2, 0, 0), (10, 0, 0)])  # shares 0.1 and 0.5
    assert prior_error(np.array([0.2, 0.2]), truth) == pytest.approx((0.1 + 0.3) / 2)
    with pytest.raises(InputError, match="2 frames of truth"):
        prior_error(np.array([0.2]), truth)
