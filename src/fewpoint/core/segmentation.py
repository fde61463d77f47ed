"""The result: one mask a frame, with what it rests on."""

from dataclasses import dataclass
from pathlib import Path

import numpy as np

from fewpoint.core.bound import AreaBound
from fewpoint.core.history import PriorEstimate, PriorHistory
from fewpoint.core.probabilities import ProbabilityMaps
from fewpoint.core.source import Source
from fewpoint.errors import InputError


@dataclass(frozen=True, eq=False)
class Segmentation:
    """Masks of one object on every frame of a sequence.

    masks: (T, H, W) bool, at the input's size.
    names: one name a frame, the input's.
    source: the file the frames were read from, in whose format and place the masks are saved; None without one.
    """

    masks: np.ndarray
    probabilities: ProbabilityMaps
    priors: PriorEstimate
    history: PriorHistory
    bound: AreaBound
    names: tuple[str, ...]
    source: Source | None = None

    def __post_init__(self) -> None:
        if self.masks.dtype != bool or self.masks.shape != self.probabilities.values.shape:
            raise InputError(
                f"masks must be bool with the probabilities' shape {self.probabilities.values.shape}, "
                f"got {self.masks.dtype} {self.masks.shape}"
            )
        if not len(self.masks) == len(self.priors.mean) == len(self.names):
            raise InputError("masks, priors and names must have one entry a frame")

    def save(self, folder: str | Path) -> Path:
        """Write masks, probabilities, priors and history to a new or empty folder, and return it."""
        from fewpoint.io.runs import save_segmentation  # the one import that points up: a method users look for

        return save_segmentation(self, Path(folder))
