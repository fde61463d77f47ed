"""How objects that learn together are segmented: what the pipeline does, whatever method asks for it; free of torch.

A method makes a plan from its settings. What a run finds out, such as that clicks are sparse or time is short, changes
the plan and never the settings.
"""

import math
from dataclasses import dataclass, field, replace

from fewpoint.core import PointSet
from fewpoint.learning.clicks import is_sparse
from fewpoint.learning.settings import (
    AugmentationSettings,
    ClickSettings,
    PhaseSettings,
    PriorSettings,
    RefineSettings,
    RiskSettings,
    RoundSettings,
    StoppingSettings,
    TrainingSettings,
    WarmStartSettings,
)
from fewpoint.models.settings import NetworkSettings
from fewpoint.superpixels.diffusion import DiffusionSettings
from fewpoint.superpixels.slic import SuperpixelSettings
from fewpoint.tracking.settings import TrackingSettings

# One network that learns from the points, and nothing after it.
NO_ROUNDS = RoundSettings(networks=1, rounds=0, sparse_rounds=0, surest=0.0, heldout=0.0)


@dataclass(frozen=True)
class Plan:
    """phases, priors, stopping: of networks that learn from the points. rounds: how many of those there are, and the
    rounds after them. diffusion: how probabilities are evened out along the image, None for not at all. tracking: how
    paths are found through time, None for none.
    """

    superpixels: SuperpixelSettings
    network: NetworkSettings
    training: TrainingSettings
    risk: RiskSettings
    augmentation: AugmentationSettings
    phases: PhaseSettings
    clicks: ClickSettings = field(default_factory=ClickSettings)
    priors: PriorSettings = field(default_factory=PriorSettings)
    stopping: StoppingSettings = field(default_factory=StoppingSettings)
    rounds: RoundSettings = NO_ROUNDS
    refine: RefineSettings = field(default_factory=RefineSettings)
    warm_start: WarmStartSettings = field(default_factory=WarmStartSettings)
    diffusion: DiffusionSettings | None = None
    tracking: TrackingSettings | None = None

    def suit_clicks(self, points: PointSet, n_frames: int) -> "Plan":
        """As many rounds as the clicks need: more if they are sparse."""
        rounds = self.rounds
        if rounds.rounds == 0 or not is_sparse(points, n_frames):
            return self
        return replace(self, rounds=replace(rounds, rounds=max(rounds.rounds, rounds.sparse_rounds)))

    def suit_objects(self, count: int, wider: float) -> "Plan":
        """Superpixels about as fine as each object's own run would have, and a place in each batch for every object.

        wider: how many times larger the focus is than one object needs.
        """
        return replace(
            self,
            superpixels=replace(self.superpixels, count=round(self.superpixels.count * max(1.0, wider))),
            training=replace(self.training, batch=max(self.training.batch, count)),
        )

    def suit_network(self, kind: str) -> "Plan":
        """The same with another kind of network."""
        return replace(self, network=replace(self.network, kind=kind))

    def suit_warm_start(self) -> "Plan":
        """The phases shortened to the share of their epochs that networks with a warm start need."""
        return replace(self, phases=self.shorten(self.warm_start.share).phases)

    def shorten(self, share: float) -> "Plan":
        """Each number of epochs times the share, rounded down; at least one if there was any."""

        def fewer(epochs: int) -> int:
            return min(epochs, max(1, math.floor(share * epochs)))

        phases, rounds = self.phases, self.rounds
        return replace(
            self,
            phases=replace(
                phases,
                warmup_epochs=fewer(phases.warmup_epochs),
                estimation_epochs=fewer(phases.estimation_epochs),
                final_epochs=fewer(phases.final_epochs),
            ),
            rounds=replace(rounds, round_epochs=fewer(rounds.round_epochs)),
        )

    def count_epochs(self, refining: int = 0) -> int:
        """The most epochs that all networks together may take. refining: networks of an earlier run, 0 if none."""
        if refining:
            return refining * self.refine.epochs
        phases, rounds = self.phases, self.rounds
        first = phases.warmup_epochs + phases.estimation_epochs + phases.final_epochs
        return rounds.networks * first + rounds.rounds * rounds.round_networks * rounds.round_epochs
