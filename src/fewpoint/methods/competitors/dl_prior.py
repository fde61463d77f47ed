"""DL-prior (after Bearman et al., 2016): a network that learns from points and from a prior of where objects are.

Three terms, all cross entropies: the clicked superpixels are object; each pixel is object with the probability that an
objectness prior gives it; and somewhere on a frame with a click there is an object, on a frame marked absent nowhere.

What differs from the original: its objectness was learnt from photographs. Here it is the geometric mean of saliency
and of a bell round the clicks that holds half the bound's area, since nothing pretrained is shipped and objects in
medical images are not those of photographs. The network is the method's own and starts untrained. A click counts for
its superpixel; it learns 50 epochs at a rate of 1e-4 and 100 at 5e-5.

Threshold: probability 0.5, at which object and background are as likely.
"""

from dataclasses import dataclass, replace

import numpy as np
import torch
from torch import Tensor
from torch.nn.functional import softplus

from fewpoint.core import AreaBound, ImageSequence, Listener, PointSet, Result, ignore
from fewpoint.learning.estimators import GivenPriors
from fewpoint.learning.phases import Schedule
from fewpoint.learning.risk import Risk
from fewpoint.learning.samples import SampleSet
from fewpoint.methods.competitors.frames import SmallFrame, small_frames
from fewpoint.methods.competitors.network_learning import Assignment, segment_by_network
from fewpoint.methods.competitors.results import ASSUMED_BOUND
from fewpoint.methods.competitors.saliency import find_saliency
from fewpoint.methods.competitors.settings import DlPriorSettings
from fewpoint.models.pooling import pool_regions
from fewpoint.tracking.settings import TrackingSettings

UNTRACKED = TrackingSettings(enabled=False)
FARTHEST = -1e4  # a logit below all others, for padding


@dataclass(frozen=True)
class DlPrior:
    """device: auto, cpu, cuda or mps."""

    settings: DlPriorSettings = DlPriorSettings()
    device: str = "auto"
    listener: Listener = ignore
    name: str = "dl-prior"

    def segment(self, sequence: ImageSequence, points: PointSet, bound: AreaBound | None, *, seed: int) -> Result:
        points.check_inside(len(sequence), sequence.size)
        bound, phases = bound or ASSUMED_BOUND, self.settings.phases
        max_side = self.settings.training.max_side
        maps = [rate_objectness(frame, bound) for frame in small_frames(sequence, points, max_side)]
        objectness = np.stack(maps)
        objectness[list(points.absent)] = 0
        shown = np.full(len(sequence), bound.fraction / 2)  # for the history; the objective has its own
        schedule = Schedule(replace(phases, estimation_epochs=0), GivenPriors(shown))
        assignment = Assignment(
            sequence, points, bound, lambda samples: PriorObjective.of(samples, objectness), schedule, UNTRACKED
        )
        return segment_by_network(assignment, self.settings, seed=seed, device=self.device, listener=self.listener)


def rate_objectness(frame: SmallFrame, bound: AreaBound) -> np.ndarray:
    """(h, w) float32 prior probability of the object: high where the frame stands out near a click.

    A frame without a click has half the bound everywhere.
    """
    if not len(frame.clicks):
        return np.full(frame.size, bound.fraction / 2, np.float32)
    area = bound.fraction / 2 * frame.size[0] * frame.size[1]
    bell = np.exp(-np.pi * frame.click_distances() ** 2 / area)
    return np.sqrt(bell * find_saliency(frame.colours)).astype(np.float32)


@dataclass(frozen=True, eq=False)
class PriorObjective:
    """The three cross entropies; clicks take the place of the positive risk, the prior that of the negative.

    maps: the (T, h, w) objectness. clicked, absent: (T,) float32, 1 for frames with a click, and marked absent.
    """

    samples: SampleSet
    maps: tuple[Tensor, ...]
    clicked: Tensor
    absent: Tensor

    @classmethod
    def of(cls, samples: SampleSet, objectness: np.ndarray) -> "PriorObjective":
        """objectness: (T, h, w) at the reduced size, without padding."""
        device, (height, width) = samples.frames.device, samples.labels.shape[1:]
        border = ((0, 0), (0, height - objectness.shape[1]), (0, width - objectness.shape[2]))
        padded = torch.from_numpy(np.pad(objectness, border))
        flags = (torch.from_numpy(values).float().to(device) for values in (samples.has_point, samples.absent))
        return cls(samples, (padded.to(device),), *flags)

    def __call__(self, logits: Tensor, labels: Tensor, maps: list[Tensor], index: Tensor, priors: Tensor) -> Risk:
        samples, (objectness,) = self.samples, maps
        valid = (labels < samples.regions).float()
        pooled = pool_regions(logits, labels, samples.regions)
        positive = samples.positive[index] * pool_regions(torch.ones_like(logits), labels, samples.regions)
        points = point_loss(pooled, positive)
        prior = prior_loss(logits, objectness, valid)
        largest = torch.where(valid > 0, logits, FARTHEST).flatten(1).amax(1)
        image = image_loss(largest, self.clicked[index], self.absent[index])
        return Risk(points + prior + image, points, prior, torch.zeros_like(points, dtype=torch.bool))


def point_loss(logits: Tensor, positive: Tensor) -> Tensor:
    """Mean of log(1 + e^-z) over the clicked superpixels of a batch; logits and positive: (B, regions)."""
    return (positive * softplus(-logits)).sum() / positive.sum().clamp(min=1e-9)


def prior_loss(logits: Tensor, objectness: Tensor, valid: Tensor) -> Tensor:
    """Mean over valid pixels of P log(1 + e^-z) + (1 - P) log(1 + e^z).

    >>> prior_loss(torch.zeros(1, 1, 2), torch.tensor([[[0.2, 0.9]]]), torch.ones(1, 1, 2))
    tensor(0.6931)
    """
    losses = objectness * softplus(-logits) + (1 - objectness) * softplus(logits)
    return (valid * losses).sum() / valid.sum().clamp(min=1e-9)


def image_loss(largest: Tensor, clicked: Tensor, absent: Tensor) -> Tensor:
    """Of (B,) largest logits: log(1 + e^-z) on frames with a click, log(1 + e^z) on frames marked absent; their mean.

    A frame that is neither may or may not show the object, and says nothing.
    """
    return (clicked * softplus(-largest) + absent * softplus(largest)).mean()
