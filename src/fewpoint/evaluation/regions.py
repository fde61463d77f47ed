"""The truth counted superpixel by superpixel, so that any choice of them is scored without painting it."""

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from fewpoint.core import SuperpixelMap
from fewpoint.errors import InputError
from fewpoint.evaluation.metrics import Score


@dataclass(frozen=True, eq=False)
class RegionTruth:
    """How many pixels of each superpixel show the object, and how many do not.

    true_pixels, false_pixels: (T, regions) int64, regions being those of the frame that has most; 0 beyond a frame's
    own.
    """

    true_pixels: np.ndarray
    false_pixels: np.ndarray

    @classmethod
    def count(cls, superpixels: SuperpixelMap, truth: np.ndarray) -> "RegionTruth":
        """Count the pixels of (T, H, W) bool truth.

        >>> superpixels = SuperpixelMap(np.array([[[0, 0, 1, 1, 1]]], np.int32))
        >>> RegionTruth.count(superpixels, np.array([[[1, 0, 1, 1, 0]]], bool)).true_pixels.tolist()
        [[1, 2]]
        """
        if truth.shape != superpixels.labels.shape or truth.dtype != bool:
            raise InputError(
                f"truth must be bool and have the superpixels' shape {superpixels.labels.shape} "
                f"(frames, height, width), got {truth.shape} of {truth.dtype}"
            )
        regions = int(superpixels.counts.max())
        pairs = list(zip(superpixels.labels, truth, strict=True))
        true_pixels = [np.bincount(labels[shown], minlength=regions) for labels, shown in pairs]
        false_pixels = [np.bincount(labels[~shown], minlength=regions) for labels, shown in pairs]
        return cls(np.array(true_pixels), np.array(false_pixels))

    @cached_property
    def shares(self) -> np.ndarray:
        """(T,) float64 share of each frame that the object covers."""
        true_pixels = self.true_pixels.sum(axis=1)
        return true_pixels / (true_pixels + self.false_pixels.sum(axis=1))

    def score(self, chosen: np.ndarray) -> Score:
        """Score over all pixels of all frames of the masks that (T, regions) bool chosen superpixels make."""
        if chosen.shape != self.true_pixels.shape or chosen.dtype != bool:
            raise InputError(
                f"chosen superpixels must be bool, one entry per frame and superpixel {self.true_pixels.shape}, "
                f"got {chosen.dtype} {chosen.shape}"
            )
        hits = self.true_pixels[chosen].sum()
        return Score.from_counts(hits, self.false_pixels[chosen].sum(), self.true_pixels.sum() - hits)
