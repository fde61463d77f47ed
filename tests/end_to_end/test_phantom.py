"""From clicks to masks on a sequence whose truth is known exactly."""

import numpy as np

from fewpoint.core import AreaBound
from fewpoint.evaluation import largest_box, make_phantom, score_masks, true_shares
from fewpoint.runs.runner import segment
from synthetic import SMALL


def test_one_click_a_frame_finds_a_moving_deforming_object_among_distractors():
    phantom = make_phantom(n_frames=12, size=(80, 80), channels=3)
    result = segment(phantom.sequence, phantom.points, box_bound(phantom.truth), settings=SMALL)
    score = score_masks(result.masks, phantom.truth).pooled
    assert score.f1 >= 0.9
    # Neither all of the bound nor the mean object on every frame: the masks follow the object as it changes size.
    shares = true_shares(phantom.truth)
    assert np.corrcoef(result.masks.mean(axis=(1, 2)), shares)[0, 1] > 0.9


def box_bound(truth: np.ndarray) -> AreaBound:
    """What a person would draw: a box round the object where it is largest."""
    return AreaBound.from_box(largest_box(truth)[1:], truth.shape[1:])
