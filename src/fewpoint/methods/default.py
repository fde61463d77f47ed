"""fewpoint's own method: networks learn from the points, then from what they agree on, corrected by the clicks.

See docs/explanation/default.md. Its presets differ only in size and length.
"""

from dataclasses import dataclass, field, replace
from typing import ClassVar

from fewpoint.learning.settings import (
    AugmentationSettings,
    ClickSettings,
    PhaseSettings,
    RefineSettings,
    RiskSettings,
    RoundSettings,
    TrainingSettings,
    WarmStartSettings,
    WarmUpSettings,
)
from fewpoint.models.settings import NetworkSettings
from fewpoint.pipeline.plan import Plan
from fewpoint.superpixels.diffusion import DiffusionSettings
from fewpoint.superpixels.slic import SuperpixelSettings


@dataclass(frozen=True)
class DefaultSettings:
    """Everything that decides the masks of the default method, apart from the inputs and the seed.

    The defaults are those of the preset `accurate`.
    """

    method: ClassVar[str] = "default"

    clicks: ClickSettings = ClickSettings(carry=2, focus=2.0)
    superpixels: SuperpixelSettings = field(default_factory=SuperpixelSettings)
    network: NetworkSettings = NetworkSettings(kind="unet", base_width=8, multiple=4, longest_path=1, head_prior=0.0)
    training: TrainingSettings = TrainingSettings(
        max_side=192, batch=4, weight_decay=1e-4, statistics="sequence", mirrors=True, threads=1, parts=2
    )
    risk: RiskSettings = field(default_factory=RiskSettings)
    warmup: WarmUpSettings = field(default_factory=WarmUpSettings)
    augmentation: AugmentationSettings = AugmentationSettings(
        blur=0.5, flips=True, rotation=20.0, scale=1.25, shift=0.1
    )
    rounds: RoundSettings = field(default_factory=RoundSettings)
    refine: RefineSettings = field(default_factory=RefineSettings)
    warm_start: WarmStartSettings = field(default_factory=WarmStartSettings)
    diffusion: DiffusionSettings = field(default_factory=DiffusionSettings)

    def plan(self) -> Plan:
        """What the pipeline does with these settings."""
        warmup = self.warmup
        return Plan(
            superpixels=self.superpixels,
            network=self.network,
            training=self.training,
            risk=self.risk,
            augmentation=self.augmentation,
            phases=replace(PhaseSettings.only_warm_up(warmup.epochs, warmup.rate), warmup_prior=warmup.prior),
            clicks=self.clicks,
            rounds=self.rounds,
            refine=self.refine,
            warm_start=self.warm_start,
            diffusion=self.diffusion if self.diffusion.enabled else None,
        )


ACCURATE = DefaultSettings()

FAST = replace(
    ACCURATE,
    training=replace(ACCURATE.training, max_side=128, frames_per_epoch=80),
    warmup=replace(ACCURATE.warmup, epochs=16),
    rounds=replace(ACCURATE.rounds, networks=2, round_epochs=16),
    refine=replace(ACCURATE.refine, epochs=3),
)
