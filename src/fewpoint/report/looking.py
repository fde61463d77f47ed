"""A second look at the masks of a sequence, at the image alone: does what they mark look like one object?

Neither networks nor clicks are asked. Of each pixel in a mask or close round it, its brightness, that of its
surroundings and, in colour, its hue are looked up in what the masks of other frames mark and leave out. An object that
looks like what surrounds it, and a mask that has left its object, are told apart badly. Outlines are looked at, too: an
edge of the image says that a mask ends there, and where there is none it may as well end elsewhere.
"""

import math
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from fewpoint.core import ImageSequence
from fewpoint.superpixels.intensity import IntensityWindow, window_of

AROUND = 0.7  # radii of the object that are looked at round a mask
FINE, EDGE = 1.0, 0.7  # pixels over which brightness and edges are smoothed
COARSE = 1 / 3  # radii of the object over which surroundings are
LEVELS = {2: 12, 3: 8}  # of each trait, by the number of traits
MOST_SAMPLED = 48  # frames that the levels are measured on
NEAREST = 2  # frames so near are too much alike to be asked
REACH, SHORTEST_REACH = 1 / 6, 3.0  # of the sequence, and frames: how far frames are asked about each other
LEAST = 0.5  # pixels of either kind that any look is assumed to have been seen on


@dataclass(frozen=True, eq=False)
class Looks:
    """What a second look says about each of (T,) frames, in pixels.

    unlike: how many pixels in and round the mask look as if they were on the wrong side of its outline. by_chance: how
    many would, if nothing could be told from looks. outline: length of the outline. faint: how much of it follows no
    edge, an edge as strong as the median of the sequence's outlines counting 1/e.
    """

    unlike: np.ndarray
    by_chance: np.ndarray
    outline: np.ndarray
    faint: np.ndarray

    @property
    def distinct(self) -> float:
        """0 … 1: how much better than by chance looks tell the masks from their surroundings; 0 without a mask."""
        chance = float(self.by_chance.sum())
        return min(1.0, max(0.0, 1 - float(self.unlike.sum()) / chance)) if chance else 0.0


def look_again(sequence: ImageSequence, masks: np.ndarray) -> Looks:
    """What the image alone says about (T, H, W) masks."""
    areas = np.array([np.count_nonzero(mask) for mask in masks], np.float64)
    if not areas.any():
        nothing = np.zeros(len(masks))
        return Looks(nothing, nothing, nothing, nothing)
    radius = math.sqrt(areas[areas > 0].mean() / math.pi)
    eye = _open_eye(sequence, masks, radius)
    levels = LEVELS[eye.traits] ** eye.traits
    inside, outside = np.zeros((len(masks), levels)), np.zeros((len(masks), levels))
    edges = []
    for frame in range(len(masks)):
        mask, near, codes, strength = eye.see(frame)
        inside[frame] = np.bincount(codes[mask], minlength=levels)
        outside[frame] = np.bincount(codes[near & ~mask], minlength=levels)
        edges.append(strength[find_outline(mask)])
    typical = max(float(np.median(np.concatenate(edges))), 1e-6)
    marked, left = inside.sum(1), outside.sum(1)
    return Looks(
        _count_unlike(inside, outside),
        2 * marked * left / np.maximum(marked + left, 1),
        np.array([len(each) for each in edges], np.float64),
        np.array([np.exp(-each / typical).sum() for each in edges]),
    )


def _count_unlike(inside: np.ndarray, outside: np.ndarray) -> np.ndarray:
    """(T,) pixels of (T, levels) counts whose looks, on other frames, are those of the other side."""
    apart = np.abs(np.subtract.outer(np.arange(len(inside)), np.arange(len(inside))))
    weights = np.exp(-0.5 * (apart / max(SHORTEST_REACH, REACH * len(inside))) ** 2) * (apart >= NEAREST)
    weights[weights.sum(1) == 0] = 1
    marked, left = weights @ inside + LEAST, weights @ outside + LEAST
    likely = marked / (marked + left)
    return (inside * (1 - likely) + outside * likely).sum(1)


@dataclass(frozen=True, eq=False)
class _Eye:
    """Sees the part of each frame that holds all masks. axes: (C, 1 or 2) of colours. steps: between levels."""

    sequence: ImageSequence
    masks: np.ndarray
    part: tuple[slice, slice]
    window: IntensityWindow
    axes: np.ndarray
    radius: float
    steps: tuple[np.ndarray, ...] = ()

    @property
    def traits(self) -> int:
        return 1 + self.axes.shape[1]

    def see(self, frame: int) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
        """(h, w) of the part: the mask, what lies in it or near it, levels of looks, and strength of edges."""
        from scipy.ndimage import gaussian_filter, sobel

        mask, near = self.find_near(frame)
        colours = self.window.apply(self.sequence.frames[frame][self.part])
        codes = np.zeros(mask.shape, np.int64)
        for values, steps in zip(self.describe(colours), self.steps, strict=True):
            codes = codes * (len(steps) + 1) + np.searchsorted(steps, values)
        smooth = [gaussian_filter(channel, EDGE) for channel in np.moveaxis(colours, -1, 0)]
        strength = np.sqrt(sum(sobel(each, axis) ** 2 for each in smooth for axis in (0, 1)))
        return mask, near, codes, strength

    def find_near(self, frame: int) -> tuple[np.ndarray, np.ndarray]:
        from scipy.ndimage import distance_transform_edt

        mask = self.masks[frame][self.part]
        if not mask.any():
            return mask, mask
        return mask, np.asarray(distance_transform_edt(~mask)) < max(3.0, AROUND * self.radius)

    def describe(self, colours: np.ndarray) -> Iterator[np.ndarray]:
        """The traits of (h, w, C) colours: brightness close by, that of the surroundings, and hue."""
        from scipy.ndimage import gaussian_filter

        planes = np.moveaxis(colours @ self.axes, -1, 0)
        yield gaussian_filter(planes[0], FINE)
        yield gaussian_filter(planes[0], max(FINE, COARSE * self.radius))
        for plane in planes[1:]:
            yield gaussian_filter(plane, FINE)


def _open_eye(sequence: ImageSequence, masks: np.ndarray, radius: float) -> _Eye:
    part = _find_part(masks, math.ceil(2 * AROUND * radius) + 3)
    marked = np.flatnonzero([mask.any() for mask in masks])
    chosen = marked[np.unique(np.linspace(0, len(marked) - 1, min(len(marked), MOST_SAMPLED)).astype(int))]
    window = window_of(sequence)
    colours = {frame: window.apply(sequence.frames[frame][part]) for frame in chosen.tolist()}
    eye = _Eye(sequence, masks, part, window, _find_axes(list(colours.values())), radius)
    samples: list[list[np.ndarray]] = [[] for _ in range(eye.traits)]
    for frame, seen in colours.items():
        near = eye.find_near(frame)[1]
        for own, values in zip(samples, eye.describe(seen), strict=True):
            own.append(values[near])
    shares = np.linspace(0, 1, LEVELS[eye.traits] + 1)[1:-1]
    steps = tuple(np.quantile(np.concatenate(own), shares) for own in samples)
    return _Eye(sequence, masks, part, window, eye.axes, radius, steps)


def _find_part(masks: np.ndarray, margin: int) -> tuple[slice, slice]:
    """The rows and columns in which any of the masks lies, and a margin."""
    held = np.zeros(masks.shape[1:], bool)
    for mask in masks:
        held |= mask
    rows, columns = (np.flatnonzero(held.any(axis)) for axis in (1, 0))
    return (
        slice(max(0, int(rows[0]) - margin), int(rows[-1]) + 1 + margin),
        slice(max(0, int(columns[0]) - margin), int(columns[-1]) + 1 + margin),
    )


def _find_axes(colours: list[np.ndarray]) -> np.ndarray:
    """(C, 1 or 2) directions in which colours differ most; a single channel as it is."""
    channels = colours[0].shape[-1]
    if channels == 1:
        return np.ones((1, 1), np.float32)
    values = np.concatenate([each.reshape(-1, channels)[::7] for each in colours])
    _, directions = np.linalg.eigh(np.cov(values.T))
    return directions[:, :-3:-1].astype(np.float32)


def find_outline(mask: np.ndarray) -> np.ndarray:
    """(h, w) bool, the pixels of a mask with a neighbour outside it, or at the border.

    >>> find_outline(np.ones((3, 3), bool)).astype(int).tolist()
    [[1, 1, 1], [1, 0, 1], [1, 1, 1]]
    """
    held = np.pad(mask, 1)
    return mask & ~(held[:-2, 1:-1] & held[2:, 1:-1] & held[1:-1, :-2] & held[1:-1, 2:])
