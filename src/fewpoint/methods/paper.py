"""The paper's method: SSnnPU, which estimates the prior of each frame while it learns, then KSPTrack through time."""

from dataclasses import dataclass, field
from typing import ClassVar

from fewpoint.learning.settings import (
    AugmentationSettings,
    PhaseSettings,
    PriorSettings,
    RefineSettings,
    RiskSettings,
    StoppingSettings,
    TrainingSettings,
    WarmStartSettings,
)
from fewpoint.models.settings import NetworkSettings
from fewpoint.pipeline.plan import Plan
from fewpoint.superpixels.slic import SuperpixelSettings
from fewpoint.tracking.settings import TrackingSettings


@dataclass(frozen=True)
class PaperSettings:
    """Everything that decides the masks of SSnnPU + KSPTrack, apart from the inputs and the seed.

    tracking.enabled: without it, the masks are those of SSnnPU alone.
    """

    method: ClassVar[str] = "paper"

    superpixels: SuperpixelSettings = field(default_factory=SuperpixelSettings)
    network: NetworkSettings = field(default_factory=NetworkSettings)
    training: TrainingSettings = field(default_factory=TrainingSettings)
    risk: RiskSettings = field(default_factory=RiskSettings)
    phases: PhaseSettings = field(default_factory=PhaseSettings)
    priors: PriorSettings = field(default_factory=PriorSettings)
    stopping: StoppingSettings = field(default_factory=StoppingSettings)
    augmentation: AugmentationSettings = field(default_factory=AugmentationSettings)
    refine: RefineSettings = field(default_factory=RefineSettings)
    warm_start: WarmStartSettings = field(default_factory=WarmStartSettings)
    tracking: TrackingSettings = field(default_factory=TrackingSettings)

    def plan(self) -> Plan:
        """What the pipeline does with these settings."""
        return Plan(
            superpixels=self.superpixels,
            network=self.network,
            training=self.training,
            risk=self.risk,
            augmentation=self.augmentation,
            phases=self.phases,
            priors=self.priors,
            stopping=self.stopping,
            refine=self.refine,
            warm_start=self.warm_start,
            tracking=self.tracking if self.tracking.enabled else None,
        )


PAPER = PaperSettings()
