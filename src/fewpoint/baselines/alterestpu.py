"""AlterEstPU (after Kato et al., 2018): the same network and risk, its one prior set by its own mean prediction.

Warm-up and last phase are those of SSnnPU. In the second phase the classifier and a single prior for all frames take
turns: after each epoch the prior becomes the mean prediction, or where that exceeds the bound, falls by a small step.

What differs from the original: it estimated until convergence; here, as in the comparison with SSnnPU, the second phase
has a fixed number of epochs. No parameter is tuned on the sequences.

Threshold: probability 0.5, before tracking or instead of it.
"""

from dataclasses import dataclass
from functools import partial

import numpy as np

from fewpoint.baselines.results import ASSUMED_BOUND
from fewpoint.baselines.settings import AlterEstPuSettings
from fewpoint.core import AreaBound, ImageSequence, Listener, PointSet, Segmentation, ignore


@dataclass(frozen=True)
class AlterEstPu:
    """device: auto, cpu, cuda or mps."""

    settings: AlterEstPuSettings = AlterEstPuSettings()
    device: str = "auto"
    listener: Listener = ignore
    name: str = "alterestpu"

    def segment(self, sequence: ImageSequence, points: PointSet, bound: AreaBound | None, *, seed: int) -> Segmentation:
        from fewpoint.baselines.network_learning import Assignment, Stage, segment_by_network  # loads torch
        from fewpoint.learning.objectives import PointObjective

        points.check_inside(len(sequence), sequence.size)
        bound, settings, phases = bound or ASSUMED_BOUND, self.settings, self.settings.phases
        start = np.full(len(sequence), bound.fraction)
        alternate = partial(update_prior, bound=bound.fraction, step=settings.alternation.step)
        stages = (
            Stage("warm-up", phases.warmup_epochs, phases.warmup_rate, start * phases.warmup_prior),
            Stage("estimation", phases.estimation_epochs, phases.estimation_rate, start, alternate),
            Stage("final", phases.final_epochs, phases.final_rate),
        )
        objective = partial(PointObjective, settings=settings.risk)
        assignment = Assignment(sequence, points, bound, objective, stages, settings.tracking)
        return segment_by_network(assignment, settings, seed=seed, device=self.device, listener=self.listener)


def update_prior(priors: np.ndarray, predicted: np.ndarray, *, bound: float, step: float) -> np.ndarray:
    """The next epoch's (T,) equal priors, from this one's and the mean predictions of the frames.

    >>> update_prior(np.array([0.2, 0.2]), np.array([0.05, 0.15]), bound=0.3, step=0.005).round(3).tolist()
    [0.1, 0.1]
    >>> update_prior(np.array([0.2, 0.2]), np.array([0.4, 0.6]), bound=0.3, step=0.005).round(3).tolist()
    [0.195, 0.195]
    """
    mean = float(predicted.mean())
    following = mean if mean <= bound else max(float(priors[0]) - step, step)
    return np.full(len(priors), following)
