"""Methods that know something of the truth, and how they come to know it."""

import numpy as np
import pytest

from fewpoint.bench.oracles import build_oracle
from fewpoint.errors import InputError
from fewpoint.evaluation import score_ceiling, score_masks
from fewpoint.evaluation.phantom import make_phantom
from fewpoint.superpixels.slic import SuperpixelSettings, segment_frames

PHANTOM = make_phantom(n_frames=4, size=(40, 48))


def test_max_sp_scores_the_ceiling_and_nothing_beats_it():
    masks = build_oracle("max-sp", PHANTOM.truth, None).segment(PHANTOM.sequence, PHANTOM.points, None, seed=0).masks
    superpixels = segment_frames(PHANTOM.sequence, SuperpixelSettings())
    assert score_masks(masks, PHANTOM.truth).pooled == score_ceiling(superpixels, PHANTOM.truth).pooled


def test_a_truth_of_another_sequence_is_refused():
    other = np.zeros((4, 40, 40), bool)
    with pytest.raises(InputError, match="truth and sequence must have one shape"):
        build_oracle("max-sp", other, None).segment(PHANTOM.sequence, PHANTOM.points, None, seed=0)
