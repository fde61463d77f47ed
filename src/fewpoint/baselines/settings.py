"""What can be changed about the competitors that learn, as values; free of torch so that planning stays quick.

Sections that the pipeline has too carry the same names, so that one variant of a suite reaches all methods.
"""

from dataclasses import dataclass, field

from fewpoint.learning.settings import require
from fewpoint.superpixels.slic import SuperpixelSettings


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


@dataclass(frozen=True)
class PropagationSettings:
    """How EEL spreads its first guess over neighbours.

    keep: weight alpha of the neighbours against the first guess. angle: deviation s_a of flow directions, in radians.
    reach: deviation s_d and limit of centre distances, as a share of the frame's longer side.
    """

    steps: int = 10
    keep: float = 0.95
    angle: float = 0.5
    reach: float = 0.07

    def __post_init__(self) -> None:
        require("propagation", "steps", self.steps >= 0, "0 or more", self.steps)
        require("propagation", "keep", 0 <= self.keep < 1, "0 or more and below 1", self.keep)
        for name in ("angle", "reach"):
            require("propagation", name, getattr(self, name) > 0, "above 0", getattr(self, name))


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
