"""How sure the network is that each pixel shows the object."""

from dataclasses import dataclass

import numpy as np

from fewpoint.core.given import need
from fewpoint.core.paging import walk
from fewpoint.errors import InputError


@dataclass(frozen=True, eq=False)
class ProbabilityMaps:
    """Probability of the object at each pixel.

    values: (T, H, W) float32 or float16 in [0, 1].
    """

    values: np.ndarray

    def __repr__(self) -> str:
        frames, height, width = self.values.shape
        return f"<ProbabilityMaps: {frames} frames of {height} x {width}, {self.values.dtype}>"

    def __post_init__(self) -> None:
        need(self.values, np.ndarray, "probabilities", "an array (T, H, W)")
        if self.values.ndim != 3 or self.values.dtype.type not in (np.float16, np.float32):
            raise InputError(
                f"probabilities must be (T, H, W) float16 or float32, got {self.values.dtype} {self.values.shape}"
            )
        if not all(frame.min() >= 0 and frame.max() <= 1 for frame in walk(self.values)):
            raise InputError("probabilities must lie in [0, 1] and be finite")
