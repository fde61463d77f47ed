"""Trained networks to and from a file, and as the start of other runs."""

from dataclasses import dataclass, replace
from io import BytesIO
from pathlib import Path

import numpy as np
import pytest

from fewpoint.core import AreaBound, EpochFinished
from fewpoint.core.settings import override_from_text
from fewpoint.errors import InputError
from fewpoint.evaluation.phantom import make_objects
from fewpoint.io.formats import Outputs
from fewpoint.io.runs import RunFolder
from fewpoint.models.settings import NetworkSettings
from fewpoint.pipeline import members as members_module
from fewpoint.pipeline.model import GroupModel, Model, load_model, save_model
from fewpoint.pipeline.stages import take_weights
from fewpoint.pipeline.task import Task
from fewpoint.runs.runner import run_and_keep, run_task
from pipeline.test_groups import make_far_task
from tiny_runs import TINY, TINY_PAPER, make_task

NETWORK = NetworkSettings(base_width=3, head_prior=0.2)
FIRST, SECOND = {"a.b": np.arange(6.0, dtype=np.float32).reshape(2, 3)}, {"a.b": np.ones(2), "n": np.array(3)}
MODEL = Model(NETWORK, 2, (GroupModel(("",), (FIRST, SECOND)),))
SHORT = override_from_text(
    TINY,
    ["rounds.networks=3", "rounds.round_networks=2", "rounds.round_epochs=1"],
)


def save(model: Model, path: Path) -> Path:
    stream = BytesIO()
    save_model(model, stream)
    path.write_bytes(stream.getvalue())
    return path


def test_a_model_comes_back_to_the_bit_from_its_file_or_the_folder_that_holds_it(tmp_path):
    file = save(MODEL, tmp_path / "model.npz")
    for path in (file, tmp_path):
        again = load_model(path)
        assert (again.network, again.channels, again.digest) == (MODEL.network, 2, MODEL.digest)
        for one, other in zip(again.groups[0].weights, MODEL.groups[0].weights, strict=True):
            assert one.keys() == other.keys()
            for name, values in one.items():
                np.testing.assert_array_equal(values, other[name])


def test_the_digest_tells_models_apart():
    moved = replace(MODEL, groups=(GroupModel(("",), (FIRST, {"a.b": np.ones(2), "n": np.array(4)})),))
    assert moved.digest != MODEL.digest


def test_a_file_that_holds_something_else_is_refused_and_nothing_in_it_is_run(tmp_path):
    class Trap:
        def __reduce__(self) -> tuple:
            return (Path(tmp_path / "sprung").touch, ())

    trap = np.empty(1, object)
    trap[0] = Trap()
    np.savez(tmp_path / "pickled.npz", description=trap)
    np.savez(tmp_path / "other.npz", masks=np.zeros(3))
    np.savez(tmp_path / "foreign.npz", description=np.array('{"format": "other"}'))
    (tmp_path / "text.npz").write_text("weights")
    for name in ("pickled", "other", "foreign", "text"):
        with pytest.raises(InputError, match=f"{name}.npz must hold") as caught:
            load_model(tmp_path / f"{name}.npz")
        assert "\n" not in str(caught.value)
    assert not (tmp_path / "sprung").exists()
    with pytest.raises(InputError, match="holds no networks"):
        load_model(tmp_path)


def test_a_model_fits_networks_of_its_settings_and_channels_only():
    MODEL.check_fits(replace(NETWORK, head_prior=0.0), 2)
    with pytest.raises(InputError, match="frames of 3 channels as here, they are for 2"):
        MODEL.check_fits(NETWORK, 3)
    with pytest.raises(
        InputError, match=r"differ in network.base_width \(3, here 8\), network.norm \(batch, here group\)"
    ):
        MODEL.check_fits(replace(NETWORK, base_width=8, norm="group"), 2)


@pytest.fixture(scope="module")
def kept() -> Model:
    return run_and_keep(make_task(SHORT))[1].model


def test_with_a_warm_start_the_networks_from_the_points_start_from_its_weights_in_turn_and_later_ones_do_not(
    kept, monkeypatch
):
    starts = []
    real = members_module.stages.prepare_learning

    def spy(tasks: object, samples: object, seed: int, targets: object = None, start: object = None) -> object:
        starts.append(start)
        return real(tasks, samples, seed, targets, start)

    monkeypatch.setattr(members_module.stages, "prepare_learning", spy)
    task = replace(make_task(SHORT, seed=5), warm_start=kept)
    run_task(task)
    first, second = kept.groups[0].weights
    for start, given in zip(starts[:3], (first, second, first), strict=True):
        assert start.keys() == given.keys()
        for name, values in start.items():
            np.testing.assert_array_equal(values, given[name])
    assert not np.array_equal(first["head.weight"], second["head.weight"])
    assert starts[3:] == [None, None]


PHASES = ["warm-up"] * 2 + ["estimation", "final"]
ROUNDS = ["warm-up"] * 2 + ["round 1, network 1", "round 1, network 2"]


@pytest.mark.parametrize(
    ("settings", "phases"),
    [(override_from_text(SHORT, ["rounds.networks=1"]), ROUNDS), (TINY_PAPER, PHASES)],
    ids=["default", "paper"],
)
def test_with_a_warm_start_the_phases_take_their_share_of_the_epochs_and_rounds_all_of_theirs(kept, settings, phases):
    told = []
    task = replace(make_task(override_from_text(settings, ["warm_start.share=0.4"])), warm_start=kept)
    result = run_task(task, listener=lambda event: told.append(event) if isinstance(event, EpochFinished) else None)
    # 0.4 of 5 warm-up epochs and of 4 of the estimation, at least one final epoch; all of the round's.
    assert [record.phase for record in result.history.records] == phases
    assert {event.total for event in told} == {len(phases)}


def test_a_warm_start_belongs_to_the_identity_and_must_fit(kept):
    cold, warm = make_task(SHORT), replace(make_task(SHORT), warm_start=kept)
    assert cold.identity().start == "random weights"
    assert warm.identity().start == f"warm start from {kept.digest[:16]}"
    with pytest.raises(InputError, match=r"network\.levels"):
        replace(make_task(override_from_text(SHORT, ["network.levels=2"])), warm_start=kept)


def test_networks_that_start_from_those_of_a_run_are_of_the_kind_of_that_run(kept, starts):
    assert (SHORT.network.kind, kept.network.kind) == ("multires", "multires")
    task = replace(make_task(override_from_text(SHORT, ["network.kind=unet"])), warm_start=kept)
    assert task.plan.network == SHORT.network
    _, again = run_and_keep(task)
    assert again.model.network == SHORT.network
    assert starts[0].begun.keys() == kept.groups[0].weights[0].keys()


# Several objects. Each network has a row of its head per object.
def make_weights(*rows: float) -> dict[str, np.ndarray]:
    """A body of one number, and a head whose rows are given."""
    return {
        "body": np.array([7.0], np.float32),
        "head.weight": np.array([[row] for row in rows], np.float32),
        "head.bias": np.array(rows, np.float32) / 10,
    }


def test_networks_are_chosen_with_the_outputs_of_the_names_whatever_their_order():
    group = GroupModel(("a", "b", "c"), (make_weights(1, 2, 3), make_weights(4, 5, 6)))
    chosen = group.choose(("c", "new", "a"))
    assert chosen.objects == ("c", "new", "a")
    for weights, rows in zip(chosen.weights, ([3, np.nan, 1], [6, np.nan, 4]), strict=True):
        assert weights["body"].tolist() == [7]
        np.testing.assert_array_equal(weights["head.weight"][:, 0], np.float32(rows))
        np.testing.assert_array_equal(weights["head.bias"], np.float32(rows) / 10)


@pytest.mark.parametrize("name", ["", "a", "renamed"])
def test_the_only_object_keeps_its_output_whatever_it_is_called(name):
    (weights,) = GroupModel(("a",), (make_weights(1),)).choose((name,)).weights
    assert weights["head.weight"].tolist() == [[1]]


def test_the_group_with_the_most_of_the_objects_is_the_one_to_start_from():
    groups = GroupModel(("a",), (make_weights(1),)), GroupModel(("b", "c"), (make_weights(2, 3),))
    model = Model(NETWORK, 1, groups)
    assert model.find_group(("a",)).weights[0]["head.weight"].tolist() == [[1]]
    assert model.find_group(("b", "c")).weights[0]["head.weight"].tolist() == [[2], [3]]
    assert model.find_group(("c",)).weights[0]["head.weight"].tolist() == [[3]]
    np.testing.assert_array_equal(model.find_group(("a", "b", "c")).weights[0]["head.weight"][:, 0], [np.nan, 2, 3])


def test_a_model_of_several_groups_comes_back_to_the_bit(tmp_path):
    groups = GroupModel(("a",), (make_weights(1), make_weights(4))), GroupModel(("b", "c"), (make_weights(2, 3),))
    model = Model(NETWORK, 1, groups)
    again = load_model(save(model, tmp_path / "model.npz"))
    assert again.digest == model.digest
    assert [(group.objects, len(group.weights)) for group in again.groups] == [(("a",), 2), (("b", "c"), 1)]
    np.testing.assert_array_equal(again.groups[1].weights[0]["head.weight"], groups[1].weights[0]["head.weight"])
    with np.load(tmp_path / "model.npz") as stored:
        cut = {name: values for name, values in stored.items() if not name.startswith("1/")}
    np.savez(tmp_path / "cut.npz", **cut)
    with pytest.raises(InputError, match=r"cut\.npz must hold networks"):
        load_model(tmp_path / "cut.npz")


SEVERAL = override_from_text(SHORT, ["rounds.networks=1", "rounds.round_networks=1"])


@dataclass(frozen=True, eq=False)
class Start:
    """The weights that a network was given, and those that it then began with."""

    names: tuple[str, ...]
    given: dict[str, np.ndarray] | None
    begun: dict[str, np.ndarray]


@pytest.fixture
def starts(monkeypatch) -> list[Start]:
    seen, real = [], members_module.stages.prepare_learning

    def spy(tasks: dict, samples: object, seed: int, targets: object = None, start: dict | None = None) -> object:
        learning = real(tasks, samples, seed, targets, start)
        seen.append(Start(tuple(tasks), start, take_weights(learning.trainer.network)))
        return learning

    monkeypatch.setattr(members_module.stages, "prepare_learning", spy)
    return seen


def make_two(seed: int = 5, **given) -> Task:
    phantom = make_objects(4, (48, 48))
    return Task(phantom.sequence, phantom.points, AreaBound(0.2), SEVERAL, seed, "cpu", Outputs(report=False), **given)


@pytest.fixture(scope="module")
def two(tmp_path_factory) -> Model:
    """The model that a run on two objects leaves in its folder."""
    path, task = tmp_path_factory.mktemp("runs") / "two", make_two(seed=0)
    with RunFolder.open(path, task.identity()) as folder:
        _, kept = run_and_keep(task, folder)
    model = load_model(path)
    assert model.digest == kept.model.digest
    return model


def test_several_objects_start_from_a_run_on_objects_of_the_same_names_whatever_their_order(two, starts):
    (group,) = two.groups
    turned = replace(two, groups=(group.choose(group.objects[::-1]),))
    results = [run_task(make_two(warm_start=model)) for model in (two, turned)]
    np.testing.assert_array_equal(results[0].labels.values, results[1].labels.values)
    for one, other in zip(*(result.objects for result in results), strict=True):
        np.testing.assert_array_equal(one.probabilities.values, other.probabilities.values)
    first, later = starts[:2]
    assert (first.names, later.given) == (group.objects, None)
    for name, values in first.begun.items():
        np.testing.assert_array_equal(values, group.weights[0][name])


def test_several_objects_take_the_body_of_a_run_on_one_and_outputs_from_scratch(starts):
    _, kept = run_and_keep(make_task(SEVERAL))
    one = kept.model
    starts.clear()
    run_task(make_two(warm_start=one))
    warm = starts[0]
    starts.clear()
    run_task(make_two())
    cold = starts[0]
    for name, values in warm.begun.items():
        from_scratch = name.startswith("head.")
        expected = cold.begun[name] if from_scratch else one.groups[0].weights[0][name]
        np.testing.assert_array_equal(values, expected)
        assert np.isfinite(values).all()


def test_one_object_takes_the_output_of_its_name_from_a_run_on_several(two, starts):
    (group,) = two.groups
    task = make_two(warm_start=two)
    clicks = task.points.of_object("object 2")
    run_task(replace(task, points=replace(clicks, objects=("object 2",) * len(clicks))))
    np.testing.assert_array_equal(starts[0].begun["head.weight"][0], group.weights[0]["head.weight"][1])
    np.testing.assert_array_equal(starts[0].begun["head.bias"][0], group.weights[0]["head.bias"][1])


def test_each_group_starts_from_the_networks_of_its_own(starts):
    settings = override_from_text(SEVERAL, ["clicks.focus=2"])
    _, kept = run_and_keep(make_far_task(settings))
    model = kept.model
    assert [group.objects for group in model.groups] == [("far",), ("near", "small")]
    starts.clear()
    task = make_far_task(settings, warm_start=model)
    result = run_task(task)
    given = [start for start in starts if start.given is not None]
    assert [start.names for start in given] == [("far",), ("near", "small")]
    for start, group in zip(given, model.groups, strict=True):
        for name, values in start.begun.items():
            np.testing.assert_array_equal(values, group.weights[0][name])
    assert [each.name for each in result.objects] == ["far", "near", "small"]
    assert task.identity().start == f"warm start from {model.digest[:16]}"
