"""Single stages, on inputs whose result is known."""

from dataclasses import replace

import numpy as np
import pytest
import torch

from fewpoint.core import AreaBound, SuperpixelMap
from fewpoint.core.settings import override, override_from_text
from fewpoint.learning.samples import SampleSet
from fewpoint.learning.targets import Targets
from fewpoint.pipeline.stages import (
    choose_side,
    enlarge_maps,
    load_weights,
    prepare_learning,
    prepare_samples,
    take_weights,
)
from fewpoint.pipeline.task import Task
from tiny_runs import TINY, TINY_PAPER, make_task

CPU = torch.device("cpu")


def whole_frames(task: Task) -> tuple[SampleSet, ...]:
    """The samples of a single object on frames of one superpixel."""
    superpixels = SuperpixelMap(np.zeros(task.sequence.shape[:3], np.int32))
    return prepare_samples({"": task}, superpixels, (task.points,), CPU)


@pytest.mark.parametrize(("head_prior", "expected"), [("0", 0.125), ("0.01", 0.01)])
def test_the_head_starts_at_half_the_bound_or_where_it_is_told(head_prior, expected):
    task = make_task(override(TINY, "network.head_prior", head_prior))
    learning = prepare_learning({"": task}, whole_frames(task), 0)
    assert torch.sigmoid(learning.trainer.network.head.bias).item() == pytest.approx(expected)


def test_maps_have_the_inputs_size_and_are_zero_on_absent_frames():
    task = make_task(absent=(1, 4))
    (samples,) = whole_frames(task)
    logits = np.zeros((5, *samples.size.padded), np.float16)
    maps = enlarge_maps([logits + 1, logits - 1], samples, surest=0.0).values
    assert (maps.shape, maps.dtype) == ((5, 40, 48), np.float16)
    assert (maps[[1, 4]] == 0).all()
    # The mean of the probabilities of 1 and -1.
    np.testing.assert_allclose(maps[[0, 2, 3]], 0.5, atol=1e-3)


@pytest.mark.parametrize(("surest", "expected"), [(0.0, 0.5), (0.5, 0.6155), (1.0, 0.7311)])
def test_maps_go_from_the_mean_of_the_members_to_the_surest(surest, expected):
    task = make_task()
    (samples,) = whole_frames(task)
    logits = np.zeros((5, *samples.size.padded), np.float16)
    maps = enlarge_maps([logits + 1, logits - 1], samples, surest).values  # probabilities 0.7311 and 0.2689
    np.testing.assert_allclose(maps, expected, atol=1e-3)
    alone = [enlarge_maps([logits + 1], samples, share).values for share in (surest, 0.0)]
    assert np.array_equal(*alone)


def test_the_seed_decides_the_first_weights():
    task = make_task()
    tasks, samples = {"": task}, whole_frames(task)

    def head(seed: int) -> torch.Tensor:
        return prepare_learning(tasks, samples, seed).trainer.network.head.weight

    assert torch.equal(head(3), head(3))
    assert not torch.equal(head(3), head(4))


def test_a_network_starts_from_the_weights_it_is_given():
    task = make_task()
    tasks, samples = {"": task}, whole_frames(task)
    weights = take_weights(prepare_learning(tasks, samples, 3).trainer.network)
    started = take_weights(prepare_learning(tasks, samples, 4, start=weights).trainer.network)
    assert started.keys() == weights.keys()
    for name, values in started.items():
        np.testing.assert_array_equal(values, weights[name])


@pytest.mark.parametrize(
    ("radius", "bound", "side"),
    # Of 40 x 48 pixels, 0.25 is a disc of radius 12.4, and 0.01 one of 2.5.
    [(0, 0.25, 64), (12, 0.25, 48), (14, 0.25, 55), (20, 0.25, 64), (12, 0.01, 64), (1, 0.25, 48)],
)
def test_large_objects_are_worked_on_at_three_quarters_of_the_size_at_least(radius, bound, side):
    settings = override_from_text(TINY, ["training.max_side=64", f"training.radius={radius}"])
    assert choose_side(replace(make_task(settings), bound=AreaBound(bound))) == side


def test_the_smallest_of_several_objects_decides_the_working_size():
    task = make_task(override_from_text(TINY, ["training.max_side=40", "training.radius=12"]))
    tasks = {name: replace(task, bound=AreaBound(bound)) for name, bound in (("large", 0.4), ("small", 0.02))}
    superpixels = SuperpixelMap(np.zeros(task.sequence.shape[:3], np.int32))
    for order in (tasks, dict(reversed(tasks.items()))):
        samples = prepare_samples(order, superpixels, (task.points, task.points), CPU)
        assert max(samples[0].size.reduced) == 40


def test_batches_are_divided_only_for_a_single_network_that_learns_from_targets():
    task = make_task(override_from_text(TINY, ["training.parts=2"]))
    samples = whole_frames(task)
    shape = samples[0].labels.shape
    targets = (Targets(torch.full(shape, 0.5), torch.ones(shape)),)
    several = replace(task, settings=override(task.settings, "rounds.round_networks", 2))
    assert prepare_learning({"": task}, samples, 0).trainer.recipe.training.parts == 1
    assert prepare_learning({"": task}, samples, 0, targets).trainer.recipe.training.parts == 2
    assert prepare_learning({"": several}, samples, 0, targets).trainer.recipe.training.parts == 1


def test_of_several_objects_each_ends_its_estimation_by_itself():
    """Their weights do not go back to a window, so that nobody may go on learning while priors are swept away."""
    task = make_task(TINY_PAPER)
    tasks = {"a": task, "b": task}
    superpixels = SuperpixelMap(np.zeros(task.sequence.shape[:3], np.int32))
    samples = prepare_samples(tasks, superpixels, (task.points, task.points), CPU)
    halts = [
        prepare_learning(given, samples[: len(given)], 0).schedule.estimator.stopping.halts
        for given in ({"": task}, tasks)
    ]
    assert halts == [False, True]


def test_weights_that_are_not_a_number_leave_the_network_its_own():
    task = make_task()
    samples = whole_frames(task)
    network = prepare_learning({"": task}, samples, 3).trainer.network
    given, own = take_weights(prepare_learning({"": task}, samples, 4).trainer.network), take_weights(network)
    load_weights(network, {**given, "head.bias": np.full_like(given["head.bias"], np.nan)})
    taken = take_weights(network)
    np.testing.assert_array_equal(taken["head.bias"], own["head.bias"])
    np.testing.assert_array_equal(taken["head.weight"], given["head.weight"])
