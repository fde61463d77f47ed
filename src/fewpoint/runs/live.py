"""Masks at once, while a person is still marking: without learning, and without torch.

Before anything is learnt, masks come from the image alone and are rough. Once a run has finished, they come from what its
networks said, corrected by what has been said since.
"""

from collections.abc import Mapping
from pathlib import Path

import numpy as np

from fewpoint.core import ImageSequence, PointSet, Words
from fewpoint.superpixels.regions import paint_regions, regions_at_points
from fewpoint.superpixels.slic import SuperpixelSettings, segment_frames

ROUGH = SuperpixelSettings(count=500)


class Live:
    """Answers to a person's words about one sequence. Preparing it takes seconds, each answer less than one."""

    def __init__(self, sequence: ImageSequence) -> None:
        self.sequence = sequence
        self.superpixels = segment_frames(sequence, ROUGH)
        self.run: Path | None = None

    @property
    def rough(self) -> bool:
        """Whether answers come from the image alone, as no run has finished yet."""
        return self.run is None

    def take(self, run: Path) -> None:
        """Answer from now on by what the networks of a finished run said; run: its folder."""
        self.run = run

    def answer(self, points: PointSet, words: Mapping[str, Words]) -> dict[str, np.ndarray]:
        """(T, H, W) bool masks of each object by its name, "" for a single object without one."""
        names = points.object_names or ("",)
        alone = {name: points.of_object(name) if len(names) > 1 else points for name in names}
        return {name: self._mark(own) for name, own in alone.items()}

    def _mark(self, points: PointSet) -> np.ndarray:
        marked = np.zeros(self.superpixels.total, bool)
        marked[regions_at_points(self.superpixels, points)] = True
        return paint_regions(self.superpixels, marked)
