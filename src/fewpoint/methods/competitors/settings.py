"""What can be changed about the competitors that learn, as values; free of torch so that planning stays quick.

Sections that the pipeline also has use the same names, so that one variant of a suite reaches all methods.
"""

import math
from dataclasses import dataclass, field
from typing import Protocol

from fewpoint.learning.settings import AugmentationSettings, PhaseSettings, RiskSettings, TrainingSettings, require
from fewpoint.models.settings import NetworkSettings
from fewpoint.superpixels.slic import SuperpixelSettings
from fewpoint.tracking.settings import TrackingSettings


@dataclass(frozen=True)
class AutoencoderSettings:
    """The network whose deepest features describe superpixels.

    base_width: channels of the first of `levels` levels; each level doubles them, so that 64 and 4 give 512 features.
    max_side: frames are reduced to this longer side. frames_per_epoch: an epoch has at least this many.
    """

    base_width: int = 64
    levels: int = 4
    max_side: int = 256
    epochs: int = 10
    batch: int = 4
    frames_per_epoch: int = 100
    rate: float = 1e-3

    def __post_init__(self) -> None:
        for name in ("base_width", "levels", "epochs", "batch", "frames_per_epoch"):
            require("autoencoder", name, getattr(self, name) >= 1, "1 or more", getattr(self, name))
        require("autoencoder", "max_side", self.max_side >= 16, "16 or more", self.max_side)
        require("autoencoder", "rate", self.rate > 0, "above 0", self.rate)


# Which frames superpixels are linked to, counted from their own.
LINKS = {"within": (0,), "across": (-1, 1), "both": (-1, 0, 1)}


@dataclass(frozen=True)
class PropagationSettings:
    """How EEL spreads its first guess over neighbours.

    keep: weight alpha of the neighbours, that of the first guess being 1 - alpha. angle: deviation s_a of flow
    directions, in radians.
    reach: deviation s_d and limit of centre distances, as a share of the frame's longer side.
    links: between superpixels "within" a frame, "across" to the frames before and after, or "both".
    """

    steps: int = 10
    keep: float = 0.95
    angle: float = 0.5
    reach: float = 0.07
    links: str = "both"

    def __post_init__(self) -> None:
        require("propagation", "steps", self.steps >= 0, "0 or more", self.steps)
        require("propagation", "keep", 0 <= self.keep < 1, "0 or more and below 1", self.keep)
        for name in ("angle", "reach"):
            require("propagation", name, getattr(self, name) > 0, "above 0", getattr(self, name))
        require("propagation", "links", self.links in LINKS, " or ".join(LINKS), self.links)


@dataclass(frozen=True)
class BoostingSettings:
    """EEL's boosted stumps. unlabelled: share of the unlabelled superpixels that are learnt from."""

    rounds: int = 50
    shrinkage: float = 1.0
    unlabelled: float = 0.1

    def __post_init__(self) -> None:
        require("boosting", "rounds", self.rounds >= 1, "1 or more", self.rounds)
        for name in ("shrinkage", "unlabelled"):
            value = getattr(self, name)
            require("boosting", name, 0 < value <= 1, "above 0 and at most 1", value)


@dataclass(frozen=True)
class EelSettings:
    """Everything that decides the masks of EEL, apart from the inputs and the seed."""

    superpixels: SuperpixelSettings = field(default_factory=SuperpixelSettings)
    autoencoder: AutoencoderSettings = field(default_factory=AutoencoderSettings)
    propagation: PropagationSettings = field(default_factory=PropagationSettings)
    boosting: BoostingSettings = field(default_factory=BoostingSettings)


@dataclass(frozen=True)
class BaggingSettings:
    """KSPTrack's bag of decision trees."""

    trees: int = 500

    def __post_init__(self) -> None:
        require("bagging", "trees", self.trees >= 1, "1 or more", self.trees)


@dataclass(frozen=True)
class MetricSettings:
    """KSPTrack's metric by local Fisher discriminant analysis.

    neighbours: which neighbour's distance scales a sample's affinities. dimensions: of the space it projects to.
    """

    neighbours: int = 5
    dimensions: int = 7

    def __post_init__(self) -> None:
        for name in ("neighbours", "dimensions"):
            require("metric", name, getattr(self, name) >= 1, "1 or more", getattr(self, name))


@dataclass(frozen=True)
class LinkingSettings:
    """KSPTrack's graph.

    prune: superpixels of a lower probability are left out. radius: of entrances round clicks and of transitions, as a
    share of the longer side. reach: entrances lie within this many radii of a disc of the bound's area, too, as those
    of fewpoint's own tracking do; 0 leaves the circle of the original. overlap: transitions between superpixels whose
    flow histograms share less are left out. bins: directions of a flow histogram. repeats: at most how often what was
    found is learnt from.
    """

    prune: float = 0.5
    radius: float = 0.05
    reach: float = 2.0
    overlap: float = 0.75
    bins: int = 8
    repeats: int = 5

    def __post_init__(self) -> None:
        for name in ("prune", "radius", "overlap"):
            require("linking", name, 0 <= getattr(self, name) <= 1, "between 0 and 1", getattr(self, name))
        require("linking", "reach", 0 <= self.reach < math.inf, "0 or more and finite", self.reach)
        for name in ("bins", "repeats"):
            require("linking", name, getattr(self, name) >= 1, "1 or more", getattr(self, name))


@dataclass(frozen=True)
class KspTrackSettings:
    """Everything that decides the masks of KSPTrack, apart from the inputs and the seed."""

    superpixels: SuperpixelSettings = SuperpixelSettings(count=520)
    autoencoder: AutoencoderSettings = field(default_factory=AutoencoderSettings)
    bagging: BaggingSettings = field(default_factory=BaggingSettings)
    metric: MetricSettings = field(default_factory=MetricSettings)
    linking: LinkingSettings = field(default_factory=LinkingSettings)


@dataclass(frozen=True)
class AlternationSettings:
    """AlterEstPU's prior. step: xi, by which it falls while the mean prediction exceeds the bound."""

    step: float = 0.005

    def __post_init__(self) -> None:
        require("alternation", "step", 0 < self.step < 1, "between 0 and 1", self.step)


@dataclass(frozen=True)
class GivenPriorSettings:
    """What nnPU does with the priors it is given: each is multiplied by the factor, eta in the paper."""

    factor: float = 1.0

    def __post_init__(self) -> None:
        require("given_prior", "factor", self.factor > 0, "above 0", self.factor)


class NetworkLearningSettings(Protocol):
    """The sections that all competitors that train the method's own network have."""

    @property
    def superpixels(self) -> SuperpixelSettings: ...

    @property
    def network(self) -> NetworkSettings: ...

    @property
    def training(self) -> TrainingSettings: ...

    @property
    def augmentation(self) -> AugmentationSettings: ...


@dataclass(frozen=True)
class AlterEstPuSettings:
    """Everything that decides the masks of AlterEstPU, apart from the inputs and the seed."""

    superpixels: SuperpixelSettings = field(default_factory=SuperpixelSettings)
    network: NetworkSettings = field(default_factory=NetworkSettings)
    training: TrainingSettings = field(default_factory=TrainingSettings)
    augmentation: AugmentationSettings = field(default_factory=AugmentationSettings)
    phases: PhaseSettings = field(default_factory=PhaseSettings)
    risk: RiskSettings = field(default_factory=RiskSettings)
    tracking: TrackingSettings = TrackingSettings(enabled=False)  # as in the paper's comparison
    alternation: AlternationSettings = field(default_factory=AlternationSettings)


@dataclass(frozen=True)
class NnPuSettings:
    """Everything that decides the masks of nnPU with given priors, apart from the priors, the inputs and the seed."""

    superpixels: SuperpixelSettings = field(default_factory=SuperpixelSettings)
    network: NetworkSettings = field(default_factory=NetworkSettings)
    training: TrainingSettings = field(default_factory=TrainingSettings)
    augmentation: AugmentationSettings = field(default_factory=AugmentationSettings)
    phases: PhaseSettings = PhaseSettings(final_rate=1e-5)  # the paper's for these, whatever our own method takes
    risk: RiskSettings = field(default_factory=RiskSettings)
    tracking: TrackingSettings = field(default_factory=TrackingSettings)
    given_prior: GivenPriorSettings = field(default_factory=GivenPriorSettings)


@dataclass(frozen=True)
class DlPriorSettings:
    """Everything that decides the masks of DL-prior, apart from the inputs and the seed."""

    superpixels: SuperpixelSettings = field(default_factory=SuperpixelSettings)
    network: NetworkSettings = field(default_factory=NetworkSettings)
    training: TrainingSettings = field(default_factory=TrainingSettings)
    augmentation: AugmentationSettings = field(default_factory=AugmentationSettings)
    phases: PhaseSettings = field(default_factory=PhaseSettings)
