"""The networks of a run, one after another."""

from dataclasses import replace
from io import BytesIO

import numpy as np
import pytest
import torch

from fewpoint.core import (
    AreaBound,
    EpochFinished,
    EpochPredicted,
    EpochRecord,
    ImageSequence,
    PointSet,
    PriorEstimate,
    PriorHistory,
    Result,
    StepsTaken,
    SuperpixelMap,
)
from fewpoint.core.settings import override_from_text
from fewpoint.evaluation.phantom import make_objects
from fewpoint.io.formats import Outputs
from fewpoint.io.runs import RunFolder
from fewpoint.learning import checkpoints
from fewpoint.learning.heldout import CENTRED
from fewpoint.learning.phases import Learning, learn_side_by_side
from fewpoint.learning.targets import Clues
from fewpoint.pipeline import group as group_module
from fewpoint.pipeline import members as members_module
from fewpoint.pipeline.members import (
    Learnt,
    Member,
    ObjectInputs,
    Trained,
    estimate_priors,
    join_histories,
    kept_of,
    label_record,
    load_trained,
    make_object_targets,
    mean_probability,
    plan_members,
    samples_for,
    save_trained,
)
from fewpoint.pipeline.stages import prepare_samples
from fewpoint.pipeline.task import Task
from fewpoint.runs.runner import run_and_keep, run_task
from tiny_runs import TINY, make_task

RECORD = EpochRecord(1, "warm-up", 0.5, 0.2, 0.3, 0.1, 0.9, 0.1, 0.01, 0.2)
SEVERAL = override_from_text(
    TINY,
    [
        "warmup.epochs=2",
        "rounds.networks=2",
        "rounds.round_networks=2",
        "rounds.round_epochs=1",
    ],
)


def make_history(count: int, selected: int = 0) -> PriorHistory:
    rows = np.full((count, 5), 0.1, np.float32)
    records = tuple(EpochRecord(**{**vars(RECORD), "epoch": 1 + index}) for index in range(count))
    return PriorHistory(records, rows, 2 * rows, 3 * rows, selected)


def make_learnt(logits: np.ndarray, selected: int = 0) -> Learnt:
    priors = PriorEstimate(np.full(5, 0.1), np.full(5, 0.01), np.full(5, 0.2))
    return Learnt(logits.astype(np.float16), priors, make_history(2, selected))


@pytest.fixture(scope="module")
def halves():
    """Samples of five frames cut into a left and a right superpixel."""
    labels = np.zeros((5, 40, 48), np.int32)
    labels[:, :, 24:] = 1
    task = make_task()
    return prepare_samples({"": task}, SuperpixelMap(labels), (task.points,), torch.device("cpu"))[0]


def test_members_are_planned_round_by_round_with_seeds_of_their_own():
    plan = plan_members(SEVERAL.plan(), 7)
    assert [[(member.round, member.number) for member in members] for members in plan] == [
        [(0, 0), (0, 1)],
        [(1, 0), (1, 1)],
    ]
    seeds = [member.seed for members in plan for member in members]
    assert seeds[0] == 7
    assert len(set(seeds)) == 4


def test_a_run_of_several_networks_tells_and_records_each_in_order():
    events = []
    result = run_task(make_task(SEVERAL), listener=events.append)
    phases = ["warm-up, network 1"] * 2 + ["warm-up, network 2"] * 2 + ["round 1, network 1", "round 1, network 2"]
    assert [record.phase for record in result.history.records] == phases
    assert [record.epoch for record in result.history.records] == [1, 2, 3, 4, 5, 6]
    told = [event for event in events if isinstance(event, EpochFinished)]
    assert repr(tuple(event.record for event in told)) == repr(result.history.records)
    steps = [event for event in events if isinstance(event, StepsTaken)]
    assert {event.total for event in told} == {event.total for event in steps} == {6}
    assert sorted({event.epoch for event in steps}) == [1, 2, 3, 4, 5, 6]
    predicted = [event for event in events if isinstance(event, EpochPredicted)]
    assert [event.epoch for event in predicted] == [2, 4, 5, 6]  # the last of each network
    # No epoch of these belongs to an estimation, so that the share predicted is the prior told.
    shares = result.history.positive_share[[1, 3, 4, 5]]
    np.testing.assert_array_equal(np.float32([event.priors for event in predicted]), shares)


SIDE_BY_SIDE = override_from_text(SEVERAL, ["training.threads=1"])


@pytest.fixture
def two_cores(monkeypatch):
    monkeypatch.setattr(members_module, "free_cores", lambda: 2)


def test_networks_side_by_side_learn_what_they_would_one_after_the_other(monkeypatch):
    results = {}
    for cores in (1, 2):
        monkeypatch.setattr(members_module, "free_cores", lambda cores=cores: cores)
        results[cores] = run_task(make_task(SIDE_BY_SIDE))
    np.testing.assert_array_equal(results[1].probabilities.values, results[2].probabilities.values)
    np.testing.assert_array_equal(results[1].masks, results[2].masks)
    assert repr(results[1].history.records) == repr(results[2].history.records)


@pytest.mark.parametrize(("cores", "groups"), [(1, [1] * 5), (2, [2, 2, 1]), (3, [5]), (4, [5]), (8, [5])])
def test_networks_share_cores_rather_than_wait_for_a_few(monkeypatch, cores, groups):
    started = []

    def learn(learnings, told, saves):
        started.append(len(learnings))
        learn_side_by_side(learnings, told, saves)

    monkeypatch.setattr(members_module, "free_cores", lambda: cores)
    monkeypatch.setattr(members_module, "learn_side_by_side", learn)
    five = ["rounds.networks=5", "rounds.rounds=0", "warmup.epochs=1"]
    run_task(make_task(override_from_text(SIDE_BY_SIDE, five)))
    assert started == groups


def test_epochs_of_networks_side_by_side_are_counted_as_they_end(two_cores):
    events = []
    run_task(make_task(SIDE_BY_SIDE), listener=events.append)
    told = [event for event in events if isinstance(event, EpochFinished)]
    assert [event.epochs_done for event in told] == [1, 2, 3, 4, 5, 6]
    assert [event.record.epoch for event in told] == [1, 3, 2, 4, 5, 6]
    done = [event.epochs_done for event in events if isinstance(event, EpochFinished | StepsTaken)]
    assert done == sorted(done)


@pytest.mark.parametrize("moment", [3, *(pytest.param(each, marks=pytest.mark.nightly) for each in (1, 2, 4, 5, 6))])
def test_networks_side_by_side_go_on_from_their_own_checkpoints(two_cores, monkeypatch, tmp_path, moment):
    monkeypatch.setattr(checkpoints, "LEAST_SECONDS", 0)
    task = make_task(SIDE_BY_SIDE)

    def stop(event):
        if isinstance(event, EpochFinished) and event.epochs_done == moment:
            raise KeyboardInterrupt

    with RunFolder.open(tmp_path / "run", task.identity()) as folder, pytest.raises(KeyboardInterrupt):
        run_task(task, folder, listener=stop)
    events = []
    with RunFolder.open(tmp_path / "run", task.identity()) as folder:
        resumed = run_task(task, folder, listener=events.append)
    np.testing.assert_array_equal(resumed.probabilities.values, run_task(task).probabilities.values)
    # At most the epoch that each network was in is learnt again.
    assert sum(isinstance(event, EpochFinished) for event in events) <= 6 - moment + 2


def make_objects_task() -> Task:
    """Two objects, two networks per round."""
    phantom = make_objects(4, (48, 48))
    outputs = Outputs(report=False)
    return Task(phantom.sequence, phantom.points, AreaBound(0.2), SIDE_BY_SIDE, 0, "cpu", outputs)


def assert_same_objects(one: Result, other: Result) -> None:
    np.testing.assert_array_equal(one.labels.values, other.labels.values)
    for own, same in zip(one.objects, other.objects, strict=True):
        np.testing.assert_array_equal(own.probabilities.values, same.probabilities.values)
        assert repr(own.history.records) == repr(same.history.records)


def test_networks_of_several_objects_side_by_side_learn_what_they_would_one_after_the_other(monkeypatch):
    results, started = [], []

    def learn(learnings, told, saves):
        started.append(len(learnings))
        learn_side_by_side(learnings, told, saves)

    monkeypatch.setattr(members_module, "learn_side_by_side", learn)
    for cores in (1, 2):
        monkeypatch.setattr(members_module, "free_cores", lambda cores=cores: cores)
        results.append(run_task(make_objects_task()))
    assert started == [1] * 4 + [2] * 2
    assert_same_objects(*results)
    phases = ["warm-up, network 1"] * 2 + ["warm-up, network 2"] * 2 + ["round 1, network 1", "round 1, network 2"]
    for each in results[1].objects:
        assert [record.phase for record in each.history.records] == phases


def test_an_error_of_one_network_ends_them_all(two_cores, monkeypatch):
    monkeypatch.setattr(Learning, "_refuse_divergence", lambda self, course, means: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        run_task(make_task(SIDE_BY_SIDE))


@pytest.mark.parametrize(
    ("member", "phase"),
    [(Member(0, 1, 0), "warm-up, network 2"), (Member(1, 0, 0), "round 1, network 1")],
)
def test_a_record_is_named_after_its_member_where_there_are_several(member, phase):
    labelled = label_record(RECORD, member=member, plan=SEVERAL.plan(), done=10)
    assert (labelled.phase, labelled.epoch, labelled.loss) == (phase, 11, RECORD.loss)
    assert label_record(RECORD, member=Member(0, 0, 0), plan=TINY.plan(), done=0) == RECORD


def test_what_a_member_leaves_behind_of_each_object_comes_back_to_the_bit(tmp_path):
    rng = np.random.default_rng(0)
    learnt = make_learnt(rng.normal(size=(5, 8, 8)), selected=2), make_learnt(rng.normal(size=(5, 8, 8)))
    # Objects stop estimating each at an epoch of its own.
    learnt = learnt[0], replace(learnt[1], history=make_history(3))
    weights = {"head.bias": rng.normal(size=2).astype(np.float32), "body": np.zeros((1, 2))}
    stream = BytesIO()
    save_trained(Trained(learnt, weights), stream)
    path = tmp_path / "network.npz"
    path.write_bytes(stream.getvalue())
    again = load_trained(path)
    for own, other in zip(again.objects, learnt, strict=True):
        np.testing.assert_array_equal(own.logits, other.logits)
        assert own.history.records == other.history.records
        assert own.history.selected_epoch == other.history.selected_epoch
        for name in ("priors", "observed", "positive_share"):
            np.testing.assert_array_equal(getattr(own.history, name), getattr(other.history, name))
        for name in ("mean", "deviation", "observed"):
            np.testing.assert_array_equal(getattr(own.priors, name), getattr(other.priors, name))
    assert again.weights.keys() == weights.keys()
    for name, values in again.weights.items():
        np.testing.assert_array_equal(values, weights[name])


def test_probabilities_are_averaged_not_logits(halves):
    shape = halves.labels.shape
    mean = mean_probability([make_learnt(np.full(shape, 20.0)), make_learnt(np.full(shape, 0.0))], halves)
    torch.testing.assert_close(mean, torch.full(shape, 0.75))


def test_the_last_network_covers_no_more_than_what_it_learnt_from(monkeypatch):
    """With targets of nothing but the clicks, as little as a level of nearly 1 leaves."""
    share = {}
    for excess in (0.0, 3.0):
        monkeypatch.setattr(members_module, "find_excess", lambda *given, excess=excess: excess)
        result, kept = run_and_keep(make_task(SEVERAL))
        share[excess] = result.probabilities.values.mean(), kept.model.groups[0].weights[0]["head.bias"]
    assert share[3.0][0] < share[0.0][0]
    np.testing.assert_allclose(share[3.0][1], share[0.0][1] - 3, rtol=0, atol=1e-5)


def test_the_prior_of_several_is_what_they_agree_on_and_its_deviation_how_far_they_differ(halves):
    left = np.where(halves.labels.numpy() == 0, 20.0, -20.0)
    both = np.full(left.shape, 20.0)
    agreed = estimate_priors((make_learnt(left), make_learnt(left)), halves)
    np.testing.assert_allclose(agreed.mean, 0.5)
    np.testing.assert_allclose(agreed.deviation, 0, atol=1e-6)
    # Shares 1/2 and 1: variance 1/16. The right half is at 1/2 and so counts; the mean probability is 3/4.
    differing = estimate_priors((make_learnt(left), make_learnt(both)), halves)
    np.testing.assert_allclose(differing.mean, 1.0)
    np.testing.assert_allclose(differing.observed, 0.75, atol=1e-6)
    np.testing.assert_allclose(differing.deviation, np.sqrt(1 / 16 + 1 / 16), atol=1e-6)


def test_a_single_network_with_an_estimation_keeps_its_own_prior(halves):
    learnt = make_learnt(np.zeros(halves.labels.shape), selected=2)
    assert estimate_priors((learnt,), halves) is learnt.priors


def test_joined_histories_are_as_long_as_their_parts():
    joined = join_histories([make_history(2), make_history(3)])
    assert len(joined) == 5
    assert joined.observed.shape == (5, 5)
    only = make_history(2, selected=1)
    assert join_histories([only]) is only


@pytest.mark.parametrize(("selected", "expected"), [((0, 0), 0), ((2, 0), 2), ((0, 2), 5), ((2, 1), 0)])
def test_the_epoch_that_one_member_selected_is_that_of_the_run(selected, expected):
    first, second = (make_history(3, epoch) for epoch in selected)
    assert join_histories([first, second]).selected_epoch == expected


TELLING = override_from_text(SEVERAL, ["rounds.networks=3", "rounds.heldout=1"])


def make_inputs(task: Task, superpixels: SuperpixelMap) -> ObjectInputs:
    """What a network learns a single object from."""
    (samples,) = prepare_samples({"": task}, superpixels, (task.points,), torch.device("cpu"))
    return ObjectInputs(task, samples, Clues(task.points, task.points), None)


@pytest.fixture
def clicked_halves() -> ObjectInputs:
    """Twenty-one frames of a left and a right superpixel, the left one clicked on each."""
    labels = np.zeros((21, 40, 48), np.int32)
    labels[:, :, 24:] = 1
    frames = np.random.default_rng(0).integers(0, 255, labels.shape).astype(np.uint8)
    points = PointSet.from_rows([(frame, 20, 5) for frame in range(21)])
    task = Task(ImageSequence.from_array(frames), points, AreaBound(0.9), TELLING, device="cpu")
    return make_inputs(task, SuperpixelMap(labels))


def test_each_network_from_the_points_holds_a_third_of_the_clicks_out_and_no_later_one(clicked_halves):
    learnt_from = [samples_for(Member(0, number, 0), clicked_halves).positive[:, 0] for number in range(3)]
    # Stretches of three frames: each click is learnt from by two networks of three.
    assert learnt_from[0].tolist() == ([0] * 3 + [1] * 6) * 2 + [0] * 3
    assert sum(learnt_from).tolist() == [2] * 21
    assert samples_for(Member(1, 0, 0), clicked_halves) is clicked_halves.samples


@pytest.mark.parametrize("assignment", ["rounds.heldout=0", "rounds.rounds=0"])
def test_where_held_out_clicks_do_not_count_all_are_learnt_from(clicked_halves, assignment):
    task = replace(clicked_halves.task, settings=override_from_text(TELLING, [assignment]))
    assert samples_for(Member(0, 0, 0), replace(clicked_halves, task=task)) is clicked_halves.samples


def test_the_first_further_round_has_the_size_from_held_out_clicks_and_later_ones_have_not(clicked_halves, monkeypatch):
    told = []

    def spy(probabilities: torch.Tensor, samples: object, clues: Clues, *others: object) -> None:
        told.append(clues.heldout_share)

    monkeypatch.setattr(members_module, "make_targets", spy)
    left = np.where(clicked_halves.samples.labels.numpy() == 0, 3.0, -9.0)
    nothing = make_learnt(np.full(left.shape, -9.0))
    # Two networks mark the left half and find all that they held out, the third finds and marks nothing.
    make_object_targets(clicked_halves, [make_learnt(left), nothing, make_learnt(left)], from_points=True)
    make_object_targets(clicked_halves, [make_learnt(left)], from_points=False)
    # 15 of 21 clicks are found, on frames half of which is marked; a standard error is 0.1015.
    found = 15 / 21
    error = (found * (1 - found) / 21 + 1 / (2 * 21) ** 2) ** 0.5
    assert told == [pytest.approx(CENTRED * 0.5 * found / (found - error)), None]


TWO_ROUNDS = override_from_text(SEVERAL, ["rounds.round_networks=1", "rounds.rounds=2"])


def test_masks_are_made_of_the_mean_of_all_further_rounds(monkeypatch):
    seen = []
    real = group_module.stages.enlarge_maps
    monkeypatch.setattr(
        group_module.stages, "enlarge_maps", lambda members, *rest: seen.append(members) or real(members, *rest)
    )
    result, previous = run_and_keep(make_task(TWO_ROUNDS))
    assert [record.phase for record in result.history.records][-2:] == ["round 1", "round 2"]
    (group,) = previous.groups
    assert len(seen[0]) == len(group.model.weights) == len(group.logits) == 2
    assert not np.array_equal(*seen[0])
    assert [member.name for member in kept_of(make_task(TWO_ROUNDS))] == ["network-1-0", "network-2-0"]
