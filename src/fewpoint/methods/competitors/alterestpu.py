"""AlterEstPU (after Kato et al., 2018): the same network and risk, with a single prior set by its mean prediction.

Warm-up and last phase are those of SSnnPU. In the second phase the classifier and a single prior for all frames take
turns: after each epoch the prior becomes the mean prediction, or if that exceeds the bound, falls by a small step.

What differs from the original: it estimated until convergence; here, as in the comparison with SSnnPU, the second phase
has a fixed number of epochs. No parameter is tuned on the sequences.

Threshold: probability 0.5, before tracking or instead of it.
"""

from dataclasses import dataclass
from functools import partial

from fewpoint.core import AreaBound, ImageSequence, Listener, PointSet, Result, ignore
from fewpoint.methods.competitors.results import ASSUMED_BOUND
from fewpoint.methods.competitors.settings import AlterEstPuSettings


@dataclass(frozen=True)
class AlterEstPu:
    """device: auto, cpu, cuda or mps."""

    settings: AlterEstPuSettings = AlterEstPuSettings()
    device: str = "auto"
    listener: Listener = ignore
    name: str = "alterestpu"

    def segment(self, sequence: ImageSequence, points: PointSet, bound: AreaBound | None, *, seed: int) -> Result:
        from fewpoint.learning.estimators import AlternatingPrior
        from fewpoint.learning.objectives import PointObjective
        from fewpoint.learning.phases import Schedule
        from fewpoint.methods.competitors.network_learning import Assignment, segment_by_network  # loads torch

        points.check_inside(len(sequence), sequence.size)
        bound, settings = bound or ASSUMED_BOUND, self.settings
        schedule = Schedule(settings.phases, AlternatingPrior(settings.alternation.step))
        objective = partial(PointObjective, settings=settings.risk)
        assignment = Assignment(sequence, points, bound, objective, schedule, settings.tracking)
        return segment_by_network(assignment, settings, seed=seed, device=self.device, listener=self.listener)
