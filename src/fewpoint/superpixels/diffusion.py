"""Values of superpixels evened out along the image: they flow where colours are alike and stop at edges.

A random walk with priors (Grady 2005) over the superpixels of all frames: neighbours on a frame are linked by the
length of their common border, those over one another on neighbouring frames by their overlap, and both links fall with
the difference of colour.
"""

from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from fewpoint.core import ImageSequence, SuperpixelMap
from fewpoint.core.paging import walk
from fewpoint.errors import SettingsError
from fewpoint.superpixels.intensity import window_of
from fewpoint.superpixels.regions import region_areas, region_means

LEAST_FLOW = 1e-3  # share of a border that even the strongest edge leaves open, so that no region is cut off
TOLERANCE = 1e-3
MOST_STEPS = 300
NO_REGIONS = np.empty(0, np.int64)


@dataclass(frozen=True)
class DiffusionSettings:
    """How far values flow.

    enabled: whether targets of further rounds and the last masks are evened out at all; read by the pipeline.
    pull: how strongly a superpixel keeps its own value in the targets; last_pull: in the last masks.
    contrast: how fast a link falls with the squared difference of colour, in units of its mean over all borders.
    through_time: weight of links between frames, relative to those within; of the targets and of the last masks it is
    this many times the pull. seed: how much more strongly clicked superpixels keep to being the object.
    blur: in pixels, by which the last map is smoothed before masks are cut from it pixel by pixel.
    """

    enabled: bool = False
    pull: float = 0.1
    last_pull: float = 0.3
    contrast: float = 10.0
    through_time: float = 1.0
    seed: float = 30.0
    blur: float = 1.0

    def __post_init__(self) -> None:
        for name in ("pull", "last_pull"):
            if not 0 < getattr(self, name) < np.inf:
                raise SettingsError(f"diffusion.{name} must be above 0 and finite, got {getattr(self, name):g}")
        for name in ("contrast", "through_time", "seed", "blur"):
            if not 0 <= getattr(self, name) < np.inf:
                raise SettingsError(f"diffusion.{name} must be 0 or more and finite, got {getattr(self, name):g}")


@dataclass(frozen=True, eq=False)
class RegionLinks:
    """How freely values flow between superpixels.

    first, second: (E,) int64 global regions of each link. flow: (E,) float64. across: (E,) bool, whether a link joins
    two frames. masses: (total,) float64, by which a region keeps its own value: its area in units of its mean width.
    """

    first: np.ndarray
    second: np.ndarray
    flow: np.ndarray
    across: np.ndarray
    masses: np.ndarray


def link_regions(sequence: ImageSequence, superpixels: SuperpixelMap, contrast: float) -> RegionLinks:
    """Links between neighbouring superpixels, within frames and between them."""
    colours = _mean_colours(sequence, superpixels)
    within, borders = _neighbours(superpixels)
    between, overlaps = _overlaps(superpixels)
    pairs = np.concatenate([within, between])
    differences = ((colours[pairs[:, 0]] - colours[pairs[:, 1]]) ** 2).sum(axis=1)
    usual = differences[: len(within)].mean() if len(within) else 0.0
    likeness = np.exp(-contrast * differences / max(usual, 1e-12))
    areas = region_areas(superpixels).astype(np.float64)
    width = np.sqrt(areas.mean())
    open_border = np.concatenate([borders * (likeness[: len(within)] + LEAST_FLOW), np.zeros(len(between))])
    open_overlap = np.concatenate([np.zeros(len(within)), overlaps / width * likeness[len(within) :]])
    across = np.arange(len(pairs)) >= len(within)
    return RegionLinks(pairs[:, 0], pairs[:, 1], open_border + open_overlap, across, areas / width)


def diffuse(
    links: RegionLinks,
    values: np.ndarray,
    seeds: np.ndarray,
    pull: float,
    settings: DiffusionSettings,
    *,
    refused: np.ndarray = NO_REGIONS,
) -> np.ndarray:
    """(total,) values evened out: the x that minimises sum flow (x_i - x_j)^2 + sum pull mass (x_i - value_i)^2.

    values: (total,) in [0, 1]. seeds: global regions whose value is 1, held by settings.seed times the usual pull.
    refused: global regions whose value is 0, held as firmly.

    >>> links = RegionLinks(np.array([0]), np.array([1]), np.array([1.0]), np.array([False]), np.ones(2))
    >>> diffuse(links, np.array([0.0, 1.0]), np.array([], int), 1.0, DiffusionSettings()).round(3).tolist()
    [0.333, 0.667]
    """
    wanted = np.array(values, np.float64)
    wanted[seeds], wanted[refused] = 1.0, 0.0
    return np.clip(_even_out(links, wanted, np.concatenate([seeds, refused]), pull, settings), 0.0, 1.0)


def correct(
    links: RegionLinks, values: np.ndarray, seeds: np.ndarray, refused: np.ndarray, settings: DiffusionSettings
) -> np.ndarray:
    """(total,) values, put right where they contradict seeds, whose value is 1, or refused regions, whose value is 0.

    What is wrong there, one minus the value of a seed below 0.5 or minus that of a refused region at 0.5 or above,
    flows along the image and fades with the way; seeds and refused regions that the values agree with hold it back.

    >>> links = RegionLinks(np.array([0, 1]), np.array([1, 2]), np.array([1.0, 0]), np.zeros(2, bool), np.ones(3))
    >>> correct(links, np.array([0.0, 0.1, 0.1]), np.array([0]), NO_REGIONS, DiffusionSettings()).round(2).tolist()
    [0.97, 0.98, 0.1]
    """
    missing = np.zeros(len(values))
    missing[seeds] = np.where(values[seeds] < 0.5, 1 - values[seeds], 0.0)
    missing[refused] = np.where(values[refused] >= 0.5, -values[refused], 0.0)
    if not missing.any():
        return np.array(values, np.float64)
    held = np.concatenate([seeds, refused])
    return np.clip(values + _even_out(links, missing, held, settings.pull, settings), 0.0, 1.0)


def _even_out(
    links: RegionLinks, wanted: np.ndarray, firm: np.ndarray, pull: float, settings: DiffusionSettings
) -> np.ndarray:
    """The x of diffuse for (total,) wanted values, of which the firm ones are held settings.seed times as much."""
    from scipy.sparse import coo_matrix, diags
    from scipy.sparse.linalg import cg

    total = len(wanted)
    flow = np.where(links.across, pull * settings.through_time, 1.0) * links.flow
    half = coo_matrix((flow, (links.first, links.second)), (total, total))
    weights = (half + half.T).tocsr()
    held = pull * links.masses
    held[firm] *= settings.seed
    diagonal = np.asarray(weights.sum(axis=1)).ravel() + held
    solution, _ = cg(
        diags(diagonal) - weights, held * wanted, x0=wanted, rtol=TOLERANCE, maxiter=MOST_STEPS, M=diags(1 / diagonal)
    )
    return solution


def _mean_colours(sequence: ImageSequence, superpixels: SuperpixelMap) -> np.ndarray:
    """(total, C) mean colour of each region, 0 … 1 by one window over the sequence."""
    window = window_of(sequence)
    pieces = []
    for frame, labels in zip(walk(sequence.frames), walk(superpixels.labels), strict=True):
        one = SuperpixelMap(labels[np.newaxis])
        scaled = window.apply(frame)
        pieces.append(np.stack([region_means(one, scaled[np.newaxis, ..., c]) for c in range(scaled.shape[-1])], 1))
    return np.concatenate(pieces)


def _neighbours(superpixels: SuperpixelMap) -> tuple[np.ndarray, np.ndarray]:
    """(E, 2) global regions that touch on a frame, and the (E,) number of pixel sides along which they do."""
    pairs, lengths = [np.empty((0, 2), np.int64)], [np.empty(0)]
    for frame, regions in enumerate(walk(superpixels.labels)):
        labels, count = regions.astype(np.int64), superpixels.counts[frame]
        sides = [(labels[:, :-1], labels[:, 1:]), (labels[:-1], labels[1:])]
        codes = np.concatenate([_codes(a, b, count) for a, b in sides])
        found, number = np.unique(codes, return_counts=True)
        pairs.append(np.stack(np.divmod(found, count), axis=1) + superpixels.offsets[frame])
        lengths.append(number)
    return np.concatenate(pairs), np.concatenate(lengths)


def _codes(one: np.ndarray, other: np.ndarray, count: int) -> np.ndarray:
    """One number for each unequal pair of labels, the same in either order."""
    differ = one != other
    return np.minimum(one, other)[differ] * count + np.maximum(one, other)[differ]


def _overlaps(superpixels: SuperpixelMap) -> tuple[np.ndarray, np.ndarray]:
    """(E, 2) global regions of neighbouring frames over one another, and the (E,) number of pixels that they share."""
    pairs, sizes = [np.empty((0, 2), np.int64)], [np.empty(0)]
    for frame, (labels, following) in enumerate(pairwise(walk(superpixels.labels))):
        count = superpixels.counts[frame + 1]
        codes = labels.astype(np.int64) * count + following
        found, number = np.unique(codes, return_counts=True)
        pairs.append(np.stack(np.divmod(found, count), axis=1) + superpixels.offsets[frame : frame + 2])
        sizes.append(number)
    return np.concatenate(pairs), np.concatenate(sizes)
