"""nnPU (Kiryo et al., 2017) with priors that somebody knows: an ablation of the method, no competitor.

Its priors are an argument of its making. The bench, which alone knows the truth, hands over the true ones or their
mean; nothing in this package can.

Threshold: probability 0.5, before tracking or instead of it.
"""

from dataclasses import dataclass
from functools import partial

import numpy as np

from fewpoint.baselines.results import ASSUMED_BOUND
from fewpoint.baselines.settings import NnPuSettings
from fewpoint.core import AreaBound, ImageSequence, Listener, PointSet, Segmentation, ignore
from fewpoint.errors import InputError

LARGEST_PRIOR = 0.99


@dataclass(frozen=True, eq=False)
class NnPu:
    """Trains with (T,) given priors, times the factor of its settings; device: auto, cpu, cuda or mps."""

    name: str
    priors: np.ndarray
    settings: NnPuSettings = NnPuSettings()
    device: str = "auto"
    listener: Listener = ignore

    def segment(self, sequence: ImageSequence, points: PointSet, bound: AreaBound | None, *, seed: int) -> Segmentation:
        from fewpoint.baselines.network_learning import Assignment, Stage, segment_by_network  # loads torch
        from fewpoint.learning.objectives import PointObjective

        points.check_inside(len(sequence), sequence.size)
        if len(self.priors) != len(sequence):
            raise InputError(f"each frame needs one prior: {len(sequence)} frames, {len(self.priors)} priors")
        settings, phases = self.settings, self.settings.phases
        priors = np.clip(self.priors * settings.given_prior.factor, 0, LARGEST_PRIOR)
        stages = (
            Stage("warm-up", phases.warmup_epochs, phases.warmup_rate, priors),
            Stage("final", phases.final_epochs, phases.final_rate),
        )
        objective = partial(PointObjective, settings=settings.risk)
        assignment = Assignment(sequence, points, bound or ASSUMED_BOUND, objective, stages, settings.tracking)
        return segment_by_network(assignment, settings, seed=seed, device=self.device, listener=self.listener)
