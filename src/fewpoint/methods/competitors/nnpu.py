"""nnPU (Kiryo et al., 2017) with known priors: an ablation of the method, not a competitor.

Its priors are an argument. The bench, which alone knows the truth, passes the true ones or their mean; nothing in this
package can.

Threshold: probability 0.5, before tracking or instead of it.
"""

from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

import numpy as np

from fewpoint.core import AreaBound, ImageSequence, Listener, PointSet, Result, ignore
from fewpoint.errors import InputError
from fewpoint.methods.competitors.results import ASSUMED_BOUND
from fewpoint.methods.competitors.settings import NnPuSettings

LARGEST_PRIOR = 0.99


@dataclass(frozen=True, eq=False)
class NnPu:
    """Trains with (T,) given priors, times the factor of its settings; device: auto, cpu, cuda or mps.

    folder: where a killed run finds its checkpoint; None keeps none.
    """

    name: str
    priors: np.ndarray
    settings: NnPuSettings = NnPuSettings()
    device: str = "auto"
    listener: Listener = ignore
    folder: Path | None = None

    def segment(self, sequence: ImageSequence, points: PointSet, bound: AreaBound | None, *, seed: int) -> Result:
        from fewpoint.learning.estimators import GivenPriors
        from fewpoint.learning.objectives import PointObjective
        from fewpoint.learning.phases import Schedule
        from fewpoint.methods.competitors.network_learning import Assignment, segment_by_network  # loads torch

        points.check_inside(len(sequence), sequence.size)
        if len(self.priors) != len(sequence):
            raise InputError(f"each frame needs one prior: {len(sequence)} frames, {len(self.priors)} priors")
        settings, phases = self.settings, self.settings.phases
        priors = np.clip(self.priors * settings.given_prior.factor, 0, LARGEST_PRIOR)
        schedule = Schedule(replace(phases, estimation_epochs=0), GivenPriors(priors))
        objective = partial(PointObjective, settings=settings.risk)
        given = (sequence, points, bound or ASSUMED_BOUND, objective, schedule, settings.tracking)
        assignment = Assignment(*given, folder=self.folder)
        return segment_by_network(assignment, settings, seed=seed, device=self.device, listener=self.listener)
