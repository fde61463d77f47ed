"""What a training step descends: the PU risk of the points, or the distance to a round's targets."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

import torch
from torch import Tensor
from torch.nn.functional import binary_cross_entropy_with_logits, pad

from fewpoint.learning.risk import Risk, pu_risk
from fewpoint.learning.samples import SampleSet
from fewpoint.learning.settings import RiskSettings
from fewpoint.learning.targets import Targets
from fewpoint.models.pooling import pool_largest, pool_regions


class Objective(Protocol):
    """The risk of one object. maps: (T, h, w) tensors that move with the frames and come back with a batch."""

    @property
    def maps(self) -> tuple[Tensor, ...]: ...

    def __call__(self, logits: Tensor, labels: Tensor, maps: list[Tensor], index: Tensor, priors: Tensor) -> Risk: ...


@dataclass(frozen=True, eq=False)
class PointObjective:
    """The PU risk over superpixels or their pixels: clicked ones are positive, rejected ones negative.

    All others are unlabelled, or with settings.unlabelled = "all" these and the positive ones.
    """

    samples: SampleSet
    settings: RiskSettings
    maps: tuple[Tensor, ...] = ()

    def __call__(self, logits: Tensor, labels: Tensor, maps: list[Tensor], index: Tensor, priors: Tensor) -> Risk:
        samples, settings = self.samples, self.settings
        positive, unlabelled = samples.positive[index], samples.unlabelled[index]
        negative = None if samples.negative is None else samples.negative[index]
        if settings.unlabelled == "all":
            unlabelled = torch.maximum(positive, unlabelled)
        if settings.samples == "pixels":
            positive, unlabelled = spread_regions(positive, labels), spread_regions(unlabelled, labels)
            negative = None if negative is None else spread_regions(negative, labels)
            return pu_risk(logits.flatten(1).float(), positive, unlabelled, priors, settings, negative)
        pool = pool_regions if settings.pooling == "mean" else pool_largest
        pooled = pool(logits, labels, samples.regions)
        # A warp moves some superpixels out of the frame: one without a pixel left is not a sample.
        present = pool_regions(torch.ones_like(logits), labels, samples.regions)
        negative = None if negative is None else negative * present
        return pu_risk(pooled, positive * present, unlabelled * present, priors, settings, negative)


def spread_regions(values: Tensor, labels: Tensor) -> Tensor:
    """(B, h w) the value of each pixel's superpixel, 0 in padding; values: (B, regions), labels: (B, h, w).

    >>> spread_regions(torch.tensor([[5.0, 7.0]]), torch.tensor([[[0, 1, 1, 2]]]))
    tensor([[5., 7., 7., 0.]])
    """
    return pad(values, (0, 1)).gather(1, labels.flatten(1))


@dataclass(frozen=True, eq=False)
class TargetObjective:
    """Weighted cross entropy to targets; its two terms take the places of the positive and the negative risk."""

    maps: tuple[Tensor, ...]

    @classmethod
    def of(cls, targets: Targets) -> "TargetObjective":
        return cls((targets.probability, targets.weight))

    def __call__(self, logits: Tensor, labels: Tensor, maps: list[Tensor], index: Tensor, priors: Tensor) -> Risk:
        target, weight = maps
        share = weight / weight.sum()
        positive = (
            share * target * binary_cross_entropy_with_logits(logits, torch.ones_like(logits), reduction="none")
        ).sum()
        negative = (
            share * (1 - target) * binary_cross_entropy_with_logits(logits, torch.zeros_like(logits), reduction="none")
        ).sum()
        return Risk(positive + negative, positive, negative, torch.zeros_like(positive, dtype=torch.bool))


def measure_risks(
    objectives: Sequence[Objective], logits: Tensor, labels: Tensor, maps: list[Tensor], index: Tensor, priors: Tensor
) -> Risk:
    """The risk of each object, one entry per object; a step descends their sum.

    logits: (B, K, h, w). maps: those of all objectives, in order. priors: (B, K).
    """
    risks, left = [], iter(maps)
    for number, objective in enumerate(objectives):
        own = [next(left) for _ in objective.maps]
        risks.append(objective(logits[:, number], labels, own, index, priors[:, number]))
    return Risk(*(torch.stack(values) for values in zip(*risks, strict=True)))
