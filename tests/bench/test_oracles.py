"""Methods that know something of the truth, and how they come to know it."""

import numpy as np
import pytest

from fewpoint.bench.methods import find_settings
from fewpoint.bench.oracles import ORACLES, build_oracle, take_best
from fewpoint.core import AreaBound, EpochFinished
from fewpoint.core.settings import as_table
from fewpoint.errors import InputError
from fewpoint.evaluation import score_ceiling, score_masks
from fewpoint.evaluation.phantom import make_phantom
from fewpoint.methods.competitors.sam_points import Answer
from fewpoint.methods.competitors.settings import NnPuSettings
from fewpoint.superpixels.slic import SuperpixelSettings, segment_frames
from synthetic import TINY

PHANTOM = make_phantom(n_frames=4, size=(40, 48))


def test_max_sp_scores_the_ceiling_and_nothing_beats_it():
    masks = build_oracle("max-sp", PHANTOM.truth, None).segment(PHANTOM.sequence, PHANTOM.points, None, seed=0).masks
    superpixels = segment_frames(PHANTOM.sequence, SuperpixelSettings())
    assert score_masks(masks, PHANTOM.truth).pooled == score_ceiling(superpixels, PHANTOM.truth).pooled


def test_a_truth_of_another_sequence_is_refused():
    other = np.zeros((4, 40, 40), bool)
    with pytest.raises(InputError, match="truth and sequence must have one shape"):
        build_oracle("max-sp", other, None).segment(PHANTOM.sequence, PHANTOM.points, None, seed=0)


@pytest.mark.parametrize(("name", "factor"), [("nnpu-true", 1.0), ("nnpu-const", 1.0), ("nnpu-const", 1.2)])
def test_nnpu_is_handed_the_true_shares_or_their_mean_and_trains_with_nothing_else(name, factor):
    changes = [(f"{part}.{key}", value) for part, values in as_table(TINY).items() for key, value in values.items()]
    settings = find_settings(name, (*changes, ("given_prior.factor", factor)))
    shares = PHANTOM.truth.mean(axis=(1, 2))
    expected = factor * (shares if name == "nnpu-true" else np.full(4, shares.mean()))
    events = []
    method = build_oracle(name, PHANTOM.truth, settings, "cpu", events.append)
    history = method.segment(PHANTOM.sequence, PHANTOM.points, AreaBound(0.3), seed=0).history
    assert [record.phase for record in history.records] == ["warm-up"] * 2 + ["final"] * 2
    np.testing.assert_allclose(history.priors, np.tile(expected, (4, 1)), rtol=1e-6)
    assert sum(isinstance(event, EpochFinished) for event in events) == 4


def test_nnpu_s_schedule_is_the_paper_s():
    phases = ORACLES["nnpu-true"].phases
    assert (phases.warmup_epochs, phases.warmup_rate) == (50, 1e-4)
    assert (phases.final_epochs, phases.final_rate) == (100, 1e-5)
    assert NnPuSettings().given_prior.factor == 1


def test_priors_of_another_length_are_refused():
    method = build_oracle("nnpu-true", PHANTOM.truth[:3], NnPuSettings(), "cpu")
    with pytest.raises(InputError, match="4 frames, 3 priors"):
        method.segment(PHANTOM.sequence, PHANTOM.points, None, seed=0)


def test_the_best_candidate_is_the_one_nearest_to_the_frame_s_truth():
    truth = np.array([[[0, 0, 0, 0]], [[1, 1, 0, 0]]], bool)
    candidates = np.array([[[1, 1, 1, 1]], [[1, 1, 1, -1]], [[1, -1, -1, -1]], [[-1, -1, 1, 1]]], np.float32)
    best = take_best(1, Answer(candidates[3], candidates), AreaBound(0.5), truth=truth)
    np.testing.assert_array_equal(best, candidates[1])
