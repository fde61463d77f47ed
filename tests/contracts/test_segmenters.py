"""What every method promises, whatever it does inside."""

import numpy as np
import pytest

from fewpoint.bench.methods import build_method, find_settings, list_methods
from fewpoint.bench.oracles import ORACLES, build_oracle
from fewpoint.core import AreaBound, ImageSequence, PointSet, Result, Segmenter
from fewpoint.core.settings import as_table
from fewpoint.errors import InputError
from fewpoint.evaluation.phantom import make_phantom
from fewpoint.methods.competitors.registry import find_problem
from synthetic import TINY, TINY_COMPETITORS
from tiny_runs import TINY as TINY_DEFAULT

# Everything but what comes before and after learning, in which presets then still differ.
KEPT = ("clicks", "diffusion", "tracking")
SMALLEST = (
    *(
        (f"{section}.{key}", value)
        for section, values in (as_table(TINY_DEFAULT) | as_table(TINY)).items()
        if section not in KEPT
        for key, value in values.items()
    ),
    *TINY_COMPETITORS,
)
BOUND = AreaBound(0.25)
ABSENT = 4


def make_case() -> tuple[ImageSequence, PointSet]:
    """Six named frames that are not square; clicks on four of them, one said to be without the object."""
    phantom = make_phantom(n_frames=6, size=(40, 48))
    sequence = ImageSequence(phantom.sequence.frames, tuple(f"slice {index}" for index in range(6)))
    rows = [tuple(row) for row in phantom.points.coordinates.tolist() if row[0] not in (2, ABSENT)]
    return sequence, PointSet.from_rows(rows, absent=[ABSENT])


@pytest.fixture(scope="module", params=list_methods())
def method(request) -> Segmenter:
    kind = next(
        (kind for kind in ("sam-points", "sam2-points") if request.param.startswith(kind.split("-")[0] + "-")), ""
    )
    problem = find_problem(kind) if kind else ""
    if problem:
        pytest.skip(problem)
    if request.param in ORACLES:
        truth = make_phantom(n_frames=6, size=(40, 48)).truth
        return build_oracle(request.param, truth, find_settings(request.param, SMALLEST), "cpu")
    return build_method(request.param, SMALLEST, "cpu")


@pytest.fixture(scope="module")
def result(method) -> Result:
    return method.segment(*make_case(), BOUND, seed=3)


def test_it_has_the_name_it_is_called_by(method):
    assert method.name in list_methods()


def test_there_is_one_bool_mask_a_frame_at_the_input_s_size(result):
    assert (result.masks.dtype, result.masks.shape) == (bool, (6, 40, 48))


def test_probabilities_and_priors_fit_the_masks(result):
    assert result.probabilities.values.shape == (6, 40, 48)
    assert result.priors.mean.shape == (6,)
    assert ((result.priors.mean >= 0) & (result.priors.mean <= 1)).all()


def test_frames_keep_their_names(result):
    assert result.names == make_case()[0].names


def test_nothing_is_marked_where_the_object_is_absent(result):
    assert not result.masks[ABSENT].any()


def test_the_bound_that_was_given_is_the_one_in_the_result(result):
    assert result.bound.fraction == BOUND.fraction


def test_the_same_seed_gives_the_same_masks(method, result):
    again = method.segment(*make_case(), BOUND, seed=3)
    np.testing.assert_array_equal(again.masks, result.masks)
    np.testing.assert_array_equal(again.probabilities.values, result.probabilities.values)


def test_what_it_is_given_stays_as_it_was(method):
    sequence, points = make_case()
    before = sequence.frames.copy(), points.coordinates.copy()
    method.segment(sequence, points, BOUND, seed=0)
    np.testing.assert_array_equal(sequence.frames, before[0])
    np.testing.assert_array_equal(points.coordinates, before[1])


def test_without_a_bound_it_finds_one_and_says_how(method):
    bound = method.segment(*make_case(), None, seed=0).bound
    assert 0 < bound.fraction < 1
    assert bound.origin != "given"


@pytest.mark.parametrize("outside", [(6, 3, 3), (0, 40, 3), (0, 3, 48)])
def test_a_point_outside_the_sequence_is_refused(method, outside):
    sequence, _ = make_case()
    with pytest.raises(InputError, match="frame"):
        method.segment(sequence, PointSet.from_rows([(1, 20, 20), outside]), BOUND, seed=0)
