"""Several objects in one network: objectives, batches and targets."""

import torch

from fewpoint.core import PointSet
from fewpoint.learning.joint import share_out
from fewpoint.learning.objectives import JointObjective, PointObjective
from fewpoint.learning.samples import build_joint_samples, build_samples
from fewpoint.learning.settings import RiskSettings, TrainingSettings
from fewpoint.learning.targets import Targets
from fewpoint.learning.training import Trainer
from fewpoint.learning.working import WorkingSize
from learning.conftest import make_blocks, make_sequence


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


def test_samples_of_several_objects_share_frames_and_refuse_each_others_points():
    points = PointSet.from_rows([(0, 5, 6), (1, 13, 14)], objects=["a", "b"])
    alone = tuple(points.of_object(name) for name in "ab")
    size = WorkingSize.fit((16, 16), 16, 2)
    given = (make_sequence(2), make_blocks(2))
    first, second = build_joint_samples(*given, alone, size, torch.device("cpu"), carried=alone)
    assert first.frames is second.frames and first.labels is second.labels
    assert first.positive.nonzero().tolist() == second.negative.nonzero().tolist() == [[0, 5]]  # the clicked blocks
    assert first.negative.nonzero().tolist() == second.positive.nonzero().tolist() == [[1, 15]]
    own = build_samples(*given, alone[0], size, torch.device("cpu"))
    for name in ("frames", "labels", "positive", "negative", "unlabelled", "areas", "clicked", "center", "scale"):
        assert torch.equal(getattr(first, name), getattr(own, name)), name


def test_targets_of_two_objects_are_at_most_one_together_and_left_alone_below():
    both = [Targets(torch.tensor([[values]]), torch.ones(1, 1, 3)) for values in ([0.9, 0.3, 0.0], [0.6, 0.4, 1.0])]
    first, second = share_out(both)
    torch.testing.assert_close(first.probability, torch.tensor([[[0.6, 0.3, 0.0]]]))
    torch.testing.assert_close(second.probability, torch.tensor([[[0.4, 0.4, 1.0]]]))
    assert second.weight is both[1].weight
