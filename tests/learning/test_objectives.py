"""What a training step descends."""

import math

import pytest
import torch
from torch.nn.functional import softplus

from fewpoint.learning.objectives import PointObjective, TargetObjective, measure_risks
from fewpoint.learning.risk import pu_risk
from fewpoint.learning.settings import RiskSettings
from fewpoint.learning.targets import Targets
from fewpoint.models.pooling import pool_regions


def test_the_point_objective_is_the_risk_of_the_pooled_logits(samples):
    given, settings = samples(4), RiskSettings(keep=1.0)
    logits = torch.randn(2, 16, 16, generator=torch.Generator().manual_seed(0))
    index, priors = torch.tensor([1, 3]), torch.tensor([0.1, 0.2])
    pooled = pool_regions(logits, given.labels[index], given.regions)
    expected = pu_risk(pooled, given.positive[index], given.unlabelled[index], priors, settings)
    found = PointObjective(given, settings)(logits, given.labels[index], [], index, priors)
    torch.testing.assert_close(found.objective, expected.objective)


def test_a_superpixel_that_a_warp_moved_out_is_no_sample(samples):
    given, settings = samples(4), RiskSettings()
    logits = torch.full((1, 16, 16), 2.0)
    index, priors = torch.tensor([0]), torch.tensor([0.5])
    labels = torch.where(given.labels[:1] == 5, 6, given.labels[:1])  # the clicked block is gone
    found = PointObjective(given, settings)(logits, labels, [], index, priors)
    assert found.positive == 0
    assert math.isclose(float(found.negative), math.log1p(math.exp(2.0)), rel_tol=1e-6)


@pytest.mark.parametrize("unlabelled", ["others", "all"])
def test_pixels_count_each_for_itself(samples, unlabelled):
    """Every pixel's own loss, averaged over the pixels of clicked superpixels and over those that are unlabelled."""
    given, chosen = samples(4), RiskSettings(samples="pixels", unlabelled=unlabelled)
    logits = torch.randn(2, 16, 16, generator=torch.Generator().manual_seed(0))
    index, priors = torch.tensor([1, 3]), torch.tensor([0.1, 0.2])
    positive, negative = 0.0, 0.0
    for each, frame, prior in zip(logits, index, priors, strict=True):
        labels = given.labels[frame]
        clicked = torch.isin(labels, torch.nonzero(given.positive[frame]).flatten())
        inside = labels < given.regions
        others = inside if unlabelled == "all" else inside & ~clicked
        positive += prior * softplus(-each[clicked]).mean()
        negative += softplus(each[others]).mean() - prior * softplus(each[clicked]).mean()
    found = PointObjective(given, chosen)(logits, given.labels[index], [], index, priors)
    torch.testing.assert_close(found.positive, positive)
    torch.testing.assert_close(found.negative, negative)


def test_the_largest_logit_of_a_superpixel_may_stand_for_it(samples):
    given = samples(4)
    logits = torch.randn(1, 16, 16, generator=torch.Generator().manual_seed(0))
    labels, index = given.labels[2:3], torch.tensor([2])
    largest = torch.stack([logits[labels == region].max() for region in range(given.regions)])[None]
    chosen, prior = RiskSettings(pooling="max"), torch.tensor([0.3])
    expected = pu_risk(largest, given.positive[index], given.unlabelled[index], prior, chosen)
    found = PointObjective(given, chosen)(logits, labels, [], index, prior)
    torch.testing.assert_close(found.objective, expected.objective)


def test_the_positive_ones_may_be_among_the_unlabelled(samples):
    """A logit of 1 on the clicked superpixel and 0 on all others; the mean over all samples has it, too."""
    given, index, prior = samples(4), torch.tensor([0]), torch.tensor([0.5])
    logits = given.positive[0][given.labels[0].clamp(max=given.regions - 1)][None]
    risks = [
        PointObjective(given, RiskSettings(unlabelled=kind))(logits, given.labels[:1], [], index, prior).negative
        for kind in ("others", "all")
    ]
    share, clicked, rest = 1 / given.regions, math.log1p(math.e), math.log(2)
    assert float(risks[0]) == pytest.approx(rest - 0.5 * clicked, rel=1e-5)
    assert float(risks[1]) == pytest.approx(share * clicked + (1 - share) * rest - 0.5 * clicked, rel=1e-5)


def test_the_target_objective_is_weighted_cross_entropy():
    targets = Targets(torch.tensor([[[1.0, 0.25]]]), torch.tensor([[[3.0, 1.0]]]))
    objective = TargetObjective.of(targets)
    logits = torch.zeros(1, 1, 2, requires_grad=True)
    found = objective(logits, torch.zeros(1, 1, 2), list(objective.maps), torch.tensor([0]), torch.zeros(1))
    # All losses are log 2; weights 3/4 and 1/4; positive parts 1 and 1/4.
    assert math.isclose(found.positive.item(), (0.75 + 0.0625) * math.log(2), rel_tol=1e-6)
    assert math.isclose(found.objective.item(), math.log(2), rel_tol=1e-6)
    assert not found.ascends
    found.objective.backward()
    torch.testing.assert_close(logits.grad, torch.tensor([[[0.75 * -0.5, 0.25 * 0.25]]]))


def test_the_risk_of_several_objects_is_that_of_each(samples):
    given = samples()
    objective = PointObjective(given, RiskSettings())
    logits = torch.randn(2, 2, *given.labels.shape[1:], generator=torch.Generator().manual_seed(0))
    index, priors = torch.tensor([0, 1]), torch.tensor([[0.1, 0.2], [0.3, 0.1]])
    together = measure_risks((objective, objective), logits, given.labels[index], [], index, priors)
    for number in range(2):
        alone = objective(logits[:, number], given.labels[index], [], index, priors[:, number])
        assert [float(values[number]) for values in together] == [float(value) for value in alone]


def test_each_object_learns_from_its_own_maps_and_one_may_have_none(samples):
    given = samples(1)
    shape, generator = given.labels.shape, torch.Generator().manual_seed(0)
    aims = [TargetObjective.of(Targets(torch.rand(shape, generator=generator), torch.ones(shape))) for _ in range(2)]
    objectives = (aims[0], PointObjective(given, RiskSettings()), aims[1])
    logits, index = torch.randn(1, 3, *shape[1:], generator=generator), torch.tensor([0])
    maps = [each for objective in objectives for each in objective.maps]
    together = measure_risks(objectives, logits, given.labels, maps, index, torch.full((1, 3), 0.1))
    for number in (0, 2):
        objective = objectives[number]
        alone = objective(logits[:, number], given.labels, list(objective.maps), index, torch.zeros(1))
        assert together.objective[number] == alone.objective
