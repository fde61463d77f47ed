"""Parts of a batch, on a core each: one gradient, whatever the number of cores."""

import pytest
import torch
from torch import nn

from fewpoint.errors import SettingsError
from fewpoint.learning.parts import Parts
from fewpoint.learning.settings import TrainingSettings
from fewpoint.learning.training import StepMeans, Trainer

DIVIDED = TrainingSettings(batch=4, frames_per_epoch=8, parts=2)


def train(trainer: Trainer, epochs: int, rate: float = 1e-2) -> list[StepMeans]:
    priors = torch.full((trainer.samples.n_frames, 1), 0.1)
    return [trainer.run_epoch(priors, [rate] * trainer.steps_per_epoch)[0] for _ in range(epochs)]


def same_weights(first: Trainer, second: Trainer) -> bool:
    pairs = zip(first.network.state_dict().values(), second.network.state_dict().values(), strict=True)
    return all(torch.equal(one, other) for one, other in pairs)


class Line(nn.Module):
    """w x, whose gradient for the squared error to 0 is 2 w x ** 2."""

    def __init__(self) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.tensor([3.0]))

    def descend(self, index: torch.Tensor) -> torch.Tensor:
        error = (self.weight * index).square().mean()
        error.backward()
        return error.detach()


@pytest.mark.parametrize("count", [1, 2, 3, 5])
def test_the_gradient_is_the_mean_over_all_frames_however_unequal_the_parts(count):
    network, index = Line(), torch.tensor([0.0, 1.0, 2.0, 4.0])
    error = Parts(network, count).descend(lambda each, part, _: each.descend(part), index, torch.Generator())
    # The mean of x ** 2 is 21 / 4; the error 9 times that, its gradient 6 times.
    assert error == pytest.approx(9 * 21 / 4)
    assert network.weight.grad.item() == pytest.approx(6 * 21 / 4)


def test_a_second_step_forgets_the_gradients_of_the_first():
    parts, index = Parts(Line(), 2), torch.tensor([1.0, 1.0])
    for _ in range(2):
        parts.networks[0].zero_grad()
        parts.descend(lambda each, part, _: each.descend(part), index, torch.Generator())
    assert parts.networks[0].weight.grad.item() == pytest.approx(6)


def test_parts_draw_random_numbers_of_their_own_that_one_seed_decides():
    def draw(seed: int) -> list[float]:
        drawn = {}

        def descend(network: Line, part: torch.Tensor, noise: torch.Generator) -> torch.Tensor:
            drawn[part.item()] = torch.rand(1, generator=noise).item()
            return network.descend(part)

        Parts(Line(), 2).descend(descend, torch.tensor([1.0, 2.0]), torch.Generator().manual_seed(seed))
        return [drawn[1.0], drawn[2.0]]

    assert len({*draw(0), *draw(1)}) == 4
    assert draw(0) == draw(0)


def test_weights_do_not_depend_on_the_number_of_cores(trainer, samples, monkeypatch):
    def learn(cores: int) -> Trainer:
        monkeypatch.setattr("fewpoint.learning.parts.free_cores", lambda: cores)
        fresh = trainer(samples(4), training=DIVIDED)
        train(fresh, 3)
        return fresh

    assert same_weights(learn(1), learn(2))


def test_divided_batches_lower_the_risk(trainer, samples):
    figures = train(trainer(samples(4), training=DIVIDED), 30, 2e-2)
    assert figures[-1].loss < 0.5 * figures[0].loss


def test_a_divided_trainer_goes_on_from_a_state_to_the_bit(trainer, samples):
    whole, first, second = (trainer(samples(4), training=DIVIDED, seed=seed) for seed in (0, 0, 9))
    figures = train(whole, 4)
    train(first, 2)
    second.load_state_dict(first.state_dict())
    assert train(second, 2) == figures[2:]
    assert same_weights(whole, second)


def test_no_part_is_refused():
    with pytest.raises(SettingsError, match=r"training\.parts"):
        TrainingSettings(parts=0)
