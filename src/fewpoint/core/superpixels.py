"""The small regions that frames are cut into."""

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from fewpoint.core.paging import walk
from fewpoint.errors import InputError


@dataclass(frozen=True, eq=False)
class SuperpixelMap:
    """Label of each pixel's region; on each frame the labels 0 … n-1 all occur.

    labels: (T, H, W) int32.
    """

    labels: np.ndarray

    def __post_init__(self) -> None:
        if self.labels.ndim != 3 or self.labels.dtype != np.int32:
            raise InputError(f"superpixel labels must be (T, H, W) int32, got {self.labels.dtype} {self.labels.shape}")
        for index, frame in enumerate(walk(self.labels)):
            present = np.bincount(frame.ravel()) if frame.min() >= 0 else np.zeros(1)
            if (present == 0).any():
                raise InputError(f"superpixel labels of frame {index} must be 0 … n-1 without gaps")

    @cached_property
    def counts(self) -> np.ndarray:
        """(T,) number of regions of each frame."""
        return np.array([frame.max() for frame in walk(self.labels)], np.int64) + 1

    @cached_property
    def offsets(self) -> np.ndarray:
        """(T + 1,) number of regions before each frame: region r of frame t has the global index offsets[t] + r."""
        return np.concatenate([[0], np.cumsum(self.counts)])

    @property
    def total(self) -> int:
        return int(self.offsets[-1])

    def on_frame(self, frame: int) -> slice:
        """Where the regions of a frame are among all."""
        return slice(int(self.offsets[frame]), int(self.offsets[frame + 1]))

    def global_labels(self, frame: int) -> np.ndarray:
        """(H, W) global region index of each pixel of one frame."""
        return self.labels[frame] + self.offsets[frame]
