"""Several objects in one network: objectives, batches and targets."""

from dataclasses import replace

import numpy as np
import pytest
import torch

from fewpoint.core import PointSet
from fewpoint.learning.joint import share_out
from fewpoint.learning.objectives import JointObjective, PointObjective
from fewpoint.learning.risk import add_negatives, pu_risk
from fewpoint.learning.settings import RiskSettings, TrainingSettings
from fewpoint.learning.targets import Targets
from fewpoint.learning.training import Trainer


def test_the_risk_of_several_objects_is_that_of_each(samples):
    given = samples()
    objective = PointObjective(given, RiskSettings())
    logits = torch.randn(2, 2, *given.labels.shape[1:], generator=torch.Generator().manual_seed(0))
    index, priors = torch.tensor([0, 1]), torch.tensor([[0.1, 0.2], [0.3, 0.1]])
    joint = JointObjective((objective, objective))(logits, given.labels[index], [], index, priors)
    for number in range(2):
        alone = objective(logits[:, number], given.labels[index], [], index, priors[:, number])
        assert [float(values[number]) for values in joint] == [float(value) for value in alone]


def test_every_batch_holds_a_point_of_every_object(samples, trainer):
    first, second = (samples(12, PointSet.from_rows([(frame, 5, 6)])) for frame in (3, 7))
    given = trainer(first, training=TrainingSettings(batch=3, frames_per_epoch=60))
    joint = Trainer(given.network, first, given.recipe, 0, others=(second,))
    batches = joint._draw_batches()
    assert len(batches) == 20
    assert (batches == 3).any(1).all() and (batches == 7).any(1).all()


def test_a_point_on_another_object_costs_its_prior_times_the_loss_of_being_marked():
    logits, nothing = torch.tensor([[0.0, 2.0]]), torch.zeros(1, 2)
    risk = pu_risk(logits, nothing, torch.ones(1, 2), torch.tensor([0.25]), RiskSettings())
    more = add_negatives(risk, logits, torch.tensor([[0.0, 1.0]]), torch.tensor([0.25]))
    assert float(more.objective - risk.objective) == pytest.approx(0.25 * np.log1p(np.exp(2.0)), rel=1e-5)  # float32


def test_targets_of_two_objects_are_at_most_one_together_and_zero_on_each_others_points(samples):
    samples = samples()
    shape = samples.labels.shape
    own = [replace(samples, other=torch.zeros_like(samples.positive)) for _ in range(2)]
    own[0].other[0, 0] = 1
    both = [Targets(torch.full(shape, value), torch.ones(shape)) for value in (0.9, 0.6)]
    first, second = share_out(both, tuple(own))
    clicked = samples.labels[0] == 0
    assert (first.probability[0][clicked] == 0).all()
    torch.testing.assert_close(first.probability[1], torch.full(shape[1:], 0.6))
    torch.testing.assert_close(second.probability, torch.full(shape, 0.4))
