"""The size at which frames are processed: reduced if large, never enlarged, padded for the network."""

from dataclasses import dataclass

import numpy as np
from torch import Tensor
from torch.nn.functional import interpolate, pad

from fewpoint.core.paging import walk


@dataclass(frozen=True)
class WorkingSize:
    """full: (H, W) of the input. reduced: what it is resized to. padded: with a border up to the network's multiple."""

    full: tuple[int, int]
    reduced: tuple[int, int]
    padded: tuple[int, int]

    @classmethod
    def fit(
        cls, full: tuple[int, int], max_side: int, multiple: int, square: tuple[int, int] | None = None
    ) -> "WorkingSize":
        """Keep the aspect ratio; the larger side becomes at most max_side.

        square: the size that the frames would have with square pixels (ImageSequence.square_size). Oblong pixels become
        as square as they can without enlarging a side.
        multiple: sides are padded to a multiple of this, at least twice it: a deepest level of a single pixel would
        leave batch norm nothing to average over.

        >>> WorkingSize.fit((288, 384), 128, 16)
        WorkingSize(full=(288, 384), reduced=(96, 128), padded=(96, 128))
        >>> WorkingSize.fit((60, 512), 128, 16, square=(480, 512)).reduced
        (60, 128)
        """
        square = square or full
        scale = min(1.0, max_side / max(square))
        height, width = (min(side, max(1, round(wanted * scale))) for side, wanted in zip(full, square, strict=True))
        tall, wide = (max(2, -(-side // multiple)) * multiple for side in (height, width))
        return cls(full, (height, width), (tall, wide))

    def reduce_frames(self, frames: Tensor) -> Tensor:
        """(T, C, H, W) to (T, C, h, w), the border repeating the edge."""
        if self.reduced != self.full:
            frames = interpolate(frames, self.reduced, mode="bilinear", antialias=True)
        return pad(frames, self._border(), mode="replicate")

    def reduce_labels(self, labels: np.ndarray, border: int) -> np.ndarray:
        """(T, H, W) to (T, h, w) by the nearest pixel's label; `border` fills the padding."""
        rows, columns = (
            ((np.arange(small) + 0.5) * large / small).astype(int)
            for small, large in zip(self.reduced, self.full, strict=True)
        )
        reduced = np.stack([frame[rows[:, np.newaxis], columns] for frame in walk(labels)])
        bottom, right = self.padded[0] - self.reduced[0], self.padded[1] - self.reduced[1]
        return np.pad(reduced, ((0, 0), (0, bottom), (0, right)), constant_values=border)

    def enlarge(self, values: Tensor) -> Tensor:
        """(T, h, w) to (T, H, W): cut the border off and interpolate."""
        values = values[:, : self.reduced[0], : self.reduced[1]]
        if self.reduced == self.full:
            return values
        return interpolate(values[:, np.newaxis], self.full, mode="bilinear", align_corners=False)[:, 0]

    def _border(self) -> tuple[int, int, int, int]:
        return (0, self.padded[1] - self.reduced[1], 0, self.padded[0] - self.reduced[0])
