"""The trainer: every frame, the same weights for the same seed, and on from any epoch to the bit."""

from collections import Counter
from dataclasses import dataclass, replace

import pytest
import torch

from fewpoint.core import PointSet
from fewpoint.errors import SettingsError
from fewpoint.learning.objectives import PointObjective
from fewpoint.learning.prediction import pool_probabilities, predict_logits
from fewpoint.learning.risk import Risk
from fewpoint.learning.samples import SampleSet
from fewpoint.learning.settings import TrainingSettings
from fewpoint.learning.training import StepMeans, Trainer, alternate
from learning.conftest import build_all_samples, click

PRIORS = torch.full((4, 1), 0.1)


def train(trainer: Trainer, epochs: int, rate: float = 1e-2) -> list[StepMeans]:
    """The first object's figures of each epoch."""
    priors = torch.full((trainer.samples.n_frames, len(trainer.objects)), 0.1)
    return [trainer.run_epoch(priors, [rate] * trainer.steps_per_epoch)[0] for _ in range(epochs)]


def weights_of(trainer: Trainer) -> list[torch.Tensor]:
    return [value.clone() for value in trainer.network.state_dict().values()]


def same(first: list[torch.Tensor], second: list[torch.Tensor]) -> bool:
    return all(torch.equal(a, b) for a, b in zip(first, second, strict=True))


def frames_of_an_epoch(trainer: Trainer, monkeypatch) -> list[list[int]]:
    """The frames of each batch of one epoch."""
    batches = []
    monkeypatch.setattr(trainer, "_train_batch", lambda: batches.append(trainer._index.tolist()))
    train(trainer, 1)
    return batches


@pytest.mark.parametrize(
    ("n_frames", "batch", "least", "steps"), [(4, 2, 1, 2), (5, 2, 1, 3), (3, 4, 1, 1), (4, 4, 10, 3), (7, 3, 100, 34)]
)
def test_an_epoch_sees_every_clicked_frame_equally_often(samples, trainer, monkeypatch, n_frames, batch, least, steps):
    fresh = trainer(samples(n_frames), training=TrainingSettings(batch=batch, frames_per_epoch=least))
    batches = frames_of_an_epoch(fresh, monkeypatch)
    assert len(batches) == fresh.steps_per_epoch == steps
    assert {len(frames) for frames in batches} == {batch}
    counts = Counter(frame for frames in batches for frame in frames)
    assert sorted(counts) == list(range(n_frames))
    assert max(counts.values()) - min(counts.values()) <= 1


@pytest.mark.parametrize("batch", [1, 2, 4])
@pytest.mark.parametrize("clicked", [[0, 5, 10], [7]])
def test_every_batch_holds_a_clicked_frame_however_few_there_are(samples, trainer, monkeypatch, clicked, batch):
    points = PointSet.from_rows([(frame, 5, 6) for frame in clicked])
    fresh = trainer(samples(12, points), training=TrainingSettings(batch=batch, frames_per_epoch=60))
    for frames in frames_of_an_epoch(fresh, monkeypatch):
        assert set(frames) & set(clicked)


def test_with_few_clicks_all_frames_still_have_their_turn(samples, trainer, monkeypatch):
    # One frame in five is clicked; a frame gives way in at most every second batch of two.
    points = PointSet.from_rows([(frame, 5, 6) for frame in (0, 5, 10)])
    fresh = trainer(samples(12, points), training=TrainingSettings(batch=2, frames_per_epoch=60))
    seen = {frame for _ in range(4) for frames in frames_of_an_epoch(fresh, monkeypatch) for frame in frames}
    assert seen == set(range(12))


def test_the_same_seed_gives_the_same_weights_and_another_does_not(trainer):
    first, second, other = trainer(seed=3), trainer(seed=3), trainer(seed=4)
    assert train(first, 3) == train(second, 3)
    train(other, 3)
    assert same(weights_of(first), weights_of(second))
    assert not same(weights_of(first), weights_of(other))


def test_global_random_numbers_are_neither_used_nor_drawn(trainer):
    fresh = trainer()
    torch.manual_seed(1)
    train(fresh, 1)
    drawn = torch.rand(3)
    torch.manual_seed(1)
    assert torch.equal(drawn, torch.rand(3))


def test_a_state_taken_midway_continues_to_the_bit(trainer):
    whole, first_half, second_half = trainer(), trainer(), trainer(seed=9)
    figures = train(whole, 4)
    assert train(first_half, 2) == figures[:2]
    second_half.load_state_dict(first_half.state_dict())
    assert train(second_half, 2) == figures[2:]
    assert same(weights_of(whole), weights_of(second_half))


def test_a_state_of_another_kind_of_device_continues_with_fresh_noise(trainer):
    whole, moved = trainer(), trainer()
    train(whole, 2)
    state = whole.state_dict()
    state["device"], state["noise"] = "cuda", torch.zeros(16, dtype=torch.uint8)
    moved.load_state_dict(state)
    assert same(weights_of(whole), weights_of(moved))
    assert all(figures.loss > 0 for figures in train(moved, 1))


def test_training_lowers_the_risk_and_finds_the_bright_block(samples, trainer):
    given = samples(4)
    fresh = trainer(given)
    figures = train(fresh, 30, 2e-2)
    assert figures[-1].loss < 0.5 * figures[0].loss
    logits = predict_logits(fresh.network, given, TrainingSettings(statistics="sequence"))
    likeliest = pool_probabilities(logits[:, 0], given).argmax(1)
    assert likeliest.tolist() == [5] * 4


def test_figures_are_means_over_the_steps(trainer):
    figures = train(trainer(), 1)[0]
    assert 0 <= figures.ascent_share <= 1
    # Steps of descent have the objective R+ + R-, and these two steps are such.
    assert figures.ascent_share == 0
    assert figures.loss == pytest.approx(figures.positive_risk + figures.negative_risk, rel=1e-5)


def test_a_rate_of_zero_changes_no_weight(trainer):
    fresh = trainer()
    before = [parameter.clone() for parameter in fresh.network.parameters()]
    train(fresh, 2, rate=0.0)
    assert same(before, list(fresh.network.parameters()))


def test_each_step_has_its_own_rate(trainer):
    # With rate 0 on the second step, an epoch of two steps leaves the parameters of its first.
    one, both = trainer(), trainer()
    one.run_epoch(PRIORS, [1e-2, 0.0])
    both.run_epoch(PRIORS, [1e-2, 1e-2])
    assert not same(list(one.network.parameters()), list(both.network.parameters()))
    with pytest.raises(ValueError, match="zip"):
        trainer().run_epoch(PRIORS, [1e-2])


@pytest.mark.parametrize(
    "wrong",
    [
        {"max_side": 8},
        {"batch": 0},
        {"frames_per_epoch": 0},
        {"clip_norm": 0.0},
        {"statistics": "none"},
        {"precision": "x"},
    ],
)
def test_meaningless_settings_are_refused_by_name(wrong):
    with pytest.raises(SettingsError, match=f"training.{next(iter(wrong))}"):
        TrainingSettings(**wrong)


def test_trainers_that_alternate_learn_what_they_would_alone(trainer):
    alone = [trainer(seed=seed) for seed in (0, 1)]
    together = [trainer(seed=seed) for seed in (0, 1)]
    rates = [1e-2] * alone[0].steps_per_epoch
    figures = alternate([each.take_steps(PRIORS, rates) for each in together])
    assert figures == [each.run_epoch(PRIORS, rates) for each in alone]
    for one, other in zip(alone, together, strict=True):
        assert same(weights_of(one), weights_of(other))


def test_works_of_unequal_length_alternate_until_the_last_ends():
    turns = []

    def work(name: str, count: int):
        for number in range(count):
            turns.append(f"{name}{number}")
            yield
        return count

    assert alternate([work("a", 1), work("b", 3), work("c", 0)]) == [1, 3, 0]
    assert turns == ["a0", "b0", "b1", "b2"]


@pytest.mark.parametrize("parts", [1, 2])
@pytest.mark.parametrize(("able", "tolerance"), [(True, 0.1), (False, 0.0)])
def test_a_cpu_learns_much_the_same_in_halves_and_without_instructions_for_them_just_the_same(
    samples, trainer, monkeypatch, parts, able, tolerance
):
    monkeypatch.setattr(torch.cpu, "_is_avx512_bf16_supported", lambda: able)
    given = samples(4)
    whole, mixed = (
        trainer(given, training=TrainingSettings(batch=4, frames_per_epoch=4, parts=parts, precision=each))
        for each in ("float32", "bfloat16")
    )
    wanted, found = (train(each, 3, rate=1e-3)[-1].loss for each in (whole, mixed))
    assert found == pytest.approx(wanted, rel=tolerance, abs=0)  # bfloat16 rounds to a hundredth, at every layer
    assert all(value.dtype == torch.float32 for value in mixed.network.parameters())
    if able:
        assert found != wanted  # or nothing was computed in halves


def test_every_batch_holds_a_point_of_every_object(samples, trainer, monkeypatch):
    objects = [samples(12, PointSet.from_rows([(frame, 5, 6)])) for frame in (3, 7)]
    fresh = trainer(*objects, training=TrainingSettings(batch=3, frames_per_epoch=60))
    batches = frames_of_an_epoch(fresh, monkeypatch)
    assert len(batches) == 20
    assert all({3, 7} <= set(frames) for frames in batches)


@dataclass(frozen=True, eq=False)
class Indifferent:
    """An objective without a slope."""

    inner: PointObjective
    maps: tuple[torch.Tensor, ...] = ()

    def __call__(self, *given: torch.Tensor) -> Risk:
        return Risk(*(0 * values for values in self.inner(*given)))


def start_alike(trainer: Trainer, network: torch.nn.Module, rows: list[int]) -> None:
    """Give a trainer the weights of another network, and its outputs these rows of the other's."""
    state = network.state_dict()
    heads = {name: state[name][rows] for name in ("head.weight", "head.bias")}
    trainer.network.load_state_dict({**state, **heads})


def both_objects(n_frames: int = 4) -> tuple[SampleSet, ...]:
    """Two objects with a point on every frame, so that no frame gives way for either."""
    frames = range(n_frames)
    return build_all_samples(n_frames, [click(list(frames)), PointSet.from_rows([(each, 13, 14) for each in frames])])


LONGER = TrainingSettings(batch=2, frames_per_epoch=12, weight_decay=0.0)


def test_among_others_whose_risk_is_flat_an_object_learns_as_it_does_alone(trainer):
    first, second = both_objects()
    alone, among = trainer(first, training=LONGER), trainer(first, second, training=LONGER)
    objectives = (among.recipe.objectives[0], Indifferent(among.recipe.objectives[1]))
    among.recipe = replace(among.recipe, objectives=objectives)
    start_alike(among, alone.network, [0, 0])
    figures, of_both = train(alone, 1)[0], among.run_epoch(torch.full((4, 2), 0.1), [1e-2] * 6)
    assert vars(of_both[0]) == pytest.approx(vars(figures), rel=1e-4)
    assert vars(of_both[1]) == dict.fromkeys(vars(figures), 0)
    learnt, there = alone.network.state_dict(), among.network.state_dict()
    for name, value in learnt.items():
        torch.testing.assert_close(there[name][:1] if "head" in name else there[name], value, rtol=1e-3, atol=1e-5)


def test_objects_in_another_order_learn_the_same(trainer):
    objects = both_objects()
    plain, swapped = (trainer(*each, training=LONGER) for each in (objects, objects[::-1]))
    start_alike(swapped, plain.network, [1, 0])
    rates, priors = [1e-2] * 6, torch.tensor([[0.1, 0.2]]).repeat(4, 1)
    figures, others = plain.run_epoch(priors, rates), swapped.run_epoch(priors.flip(1), rates)
    for mine, theirs in zip(figures, others[::-1], strict=True):
        assert vars(mine) == pytest.approx(vars(theirs), rel=1e-4)
    assert figures[0] != figures[1]
