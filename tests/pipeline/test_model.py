"""Trained networks to and from a file, and as the start of other runs."""

from dataclasses import replace
from io import BytesIO
from pathlib import Path

import numpy as np
import pytest

from fewpoint.core import EpochFinished
from fewpoint.errors import InputError
from fewpoint.models.settings import NetworkSettings
from fewpoint.pipeline import members as members_module
from fewpoint.pipeline.config import override_from_text
from fewpoint.pipeline.model import Model, load_model, save_model
from fewpoint.pipeline.run import run_and_keep, run_task
from pipeline.tiny_runs import TINY, make_task

NETWORK = NetworkSettings(base_width=3, head_prior=0.2)
FIRST, SECOND = {"a.b": np.arange(6.0, dtype=np.float32).reshape(2, 3)}, {"a.b": np.ones(2), "n": np.array(3)}
MODEL = Model(NETWORK, 2, (FIRST, SECOND))
SHORT = override_from_text(
    TINY,
    [
        "phases.estimation_epochs=0",
        "refinement.networks=3",
        "refinement.round_networks=2",
        "refinement.round_epochs=1",
    ],
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
        for one, other in zip(again.weights, MODEL.weights, strict=True):
            assert one.keys() == other.keys()
            for name, values in one.items():
                np.testing.assert_array_equal(values, other[name])


def test_the_digest_tells_models_apart():
    moved = replace(MODEL, weights=(FIRST, {"a.b": np.ones(2), "n": np.array(4)}))
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

    def spy(task: object, samples: object, seed: int, targets: object = None, start: object = None) -> object:
        starts.append(start)
        return real(task, samples, seed, targets, start)

    monkeypatch.setattr(members_module.stages, "prepare_learning", spy)
    task = replace(make_task(SHORT, seed=5), warm_start=kept)
    run_task(task)
    first, second = kept.weights
    assert [id(start) for start in starts[:3]] == [id(first), id(second), id(first)]
    assert starts[3:] == [None, None]


def test_with_a_warm_start_the_phases_take_their_share_of_the_epochs_and_rounds_all_of_theirs(kept):
    settings = override_from_text(
        SHORT, ["reuse.warm_share=0.4", "phases.estimation_epochs=0", "refinement.networks=1"]
    )
    told = []
    task = replace(make_task(settings), warm_start=kept)
    result = run_task(task, listener=lambda event: told.append(event) if isinstance(event, EpochFinished) else None)
    # 0.4 of 5 warm-up epochs, at least one final epoch, one of each of the two networks of the round.
    phases = [record.phase for record in result.history.records]
    assert phases == ["warm-up"] * 2 + ["final", "round 1, network 1", "round 1, network 2"]
    assert {event.total for event in told} == {5}


def test_a_warm_start_belongs_to_the_identity_and_must_fit(kept):
    cold, warm = make_task(SHORT), replace(make_task(SHORT), warm_start=kept)
    assert cold.identity().start == "random weights"
    assert warm.identity().start == f"warm start from {kept.digest[:16]}"
    with pytest.raises(InputError, match=r"network\.levels"):
        replace(make_task(override_from_text(SHORT, ["network.levels=2"])), warm_start=kept)
