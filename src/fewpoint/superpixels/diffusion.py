"""Values of superpixels evened out along the image: they flow where colours are alike and stop at edges.

A random walk with priors (Grady 2005) over the superpixels of all frames: neighbours on a frame are linked by the
length of their common border, those over one another on neighbouring frames by their overlap, and both links fall with
the difference of colour.
"""

from collections.abc import Iterable
from dataclasses import dataclass, field
from functools import cache
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np

from fewpoint.core import ImageSequence, SuperpixelMap
from fewpoint.core.paging import walk
from fewpoint.core.threads import work_ahead
from fewpoint.errors import SettingsError
from fewpoint.superpixels.intensity import window_of
from fewpoint.superpixels.regions import channel_means, region_areas

if TYPE_CHECKING:
    from scipy.sparse import csr_matrix
    from threadpoolctl import ThreadpoolController

LEAST_FLOW = 1e-3  # share of a border that even the strongest edge leaves open, so that no region is cut off
TOLERANCE = 1e-3
MOST_STEPS = 300
NO_REGIONS = np.empty(0, np.int64)
PAIRS_AT_ONCE = 2**18


@dataclass(frozen=True)
class DiffusionSettings:
    """How far values flow.

    enabled: whether targets of further rounds and the last masks are evened out at all; read by the method.
    pull: how strongly a superpixel keeps its own value in the targets; last_pull: in the last masks.
    contrast: how fast a link falls with the squared difference of colour, in units of its mean over all borders.
    through_time: weight of links between frames, relative to those within; of the targets and of the last masks it is
    this many times the pull. seed: how much more strongly clicked superpixels keep to being the object.
    blur: in pixels, by which the last map is smoothed before masks are cut from it pixel by pixel.
    """

    enabled: bool = True
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

    first, second: (E,) int32 global regions of each link. flow: (E,) float64. across: (E,) bool, whether a link joins
    two frames. masses: (total,) float64, by which a region keeps its own value: its area in units of its mean width.
    borders: (E,) float64, number of pixel sides along which two regions of one frame touch, 0 across frames.
    """

    first: np.ndarray
    second: np.ndarray
    flow: np.ndarray
    across: np.ndarray
    masses: np.ndarray
    borders: np.ndarray = field(default_factory=lambda: np.empty(0))


def link_regions(sequence: ImageSequence, superpixels: SuperpixelMap, contrast: float) -> RegionLinks:
    """Links between neighbouring superpixels, within frames and between them."""
    colours = _mean_colours(sequence, superpixels)
    within, borders = _neighbours(superpixels)
    between, overlaps = _overlaps(superpixels)
    apart, apart_in_time = _differ(colours, within), _differ(colours, between)
    usual = max(apart.mean() if len(within) else 0.0, 1e-12)
    areas = region_areas(superpixels).astype(np.float64)
    width = np.sqrt(areas.mean())
    open_border = borders * (np.exp(-contrast * apart / usual) + LEAST_FLOW)
    open_overlap = overlaps / width * np.exp(-contrast * apart_in_time / usual)
    first, second = (np.concatenate([within[:, end], between[:, end]]) for end in (0, 1))
    across = np.arange(len(first)) >= len(within)
    flow = np.concatenate([open_border, open_overlap])
    return RegionLinks(first, second, flow, across, areas / width, _pad_to(borders, len(flow)))


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
    return Flow.of(links, pull, settings).even_out(values, seeds, refused)


@dataclass(frozen=True, eq=False)
class Flow:
    """Links between regions as the matrix of diffuse, for values that flow along them again and again.

    open: (total, total) minus the flow between regions, with its sum on the diagonal. diagonal: where in its data that
    is. held: (total,) by how much a region keeps its own value. seed: how many times more if it is firm.
    """

    open: "csr_matrix"
    diagonal: np.ndarray
    held: np.ndarray
    seed: float

    @classmethod
    def of(cls, links: RegionLinks, pull: float, settings: DiffusionSettings) -> "Flow":
        """pull: see diffuse."""
        from scipy.sparse import csr_matrix, diags

        weights = _weigh(links, pull * settings.through_time)
        total = len(links.masses)
        matrix = csr_matrix(diags(np.ones(total)) - weights)  # one without links has a place on the diagonal, too
        diagonal = np.flatnonzero(matrix.indices == np.repeat(np.arange(total), np.diff(matrix.indptr)))
        matrix.data[diagonal] = np.asarray(weights.sum(axis=1)).ravel()
        return cls(matrix, diagonal, pull * links.masses, settings.seed)

    def even_out(self, values: np.ndarray, seeds: np.ndarray, refused: np.ndarray) -> np.ndarray:
        """(total,) values evened out, see diffuse."""
        from scipy.sparse import csr_matrix, diags
        from scipy.sparse.linalg import cg

        wanted, held = np.array(values, np.float64), self.held.copy()
        wanted[seeds], wanted[refused] = 1.0, 0.0
        held[np.concatenate([seeds, refused])] *= self.seed
        data = self.open.data.copy()
        data[self.diagonal] += held
        matrix = csr_matrix((data, self.open.indices, self.open.indptr), self.open.shape)
        usual = diags(1 / data[self.diagonal])
        # A product of vectors is short work: threads that wait for a busy core make it take hundreds of times as long.
        with _find_threads().limit(limits=1, user_api="blas"):
            solution, _ = cg(matrix, held * wanted, x0=wanted, rtol=TOLERANCE, maxiter=MOST_STEPS, M=usual)
        return np.clip(solution, 0.0, 1.0)


@cache
def _find_threads() -> "ThreadpoolController":
    """What sets how many threads libraries use; which libraries there are takes longer to find out than to solve."""
    from threadpoolctl import ThreadpoolController

    return ThreadpoolController()


def _weigh(links: RegionLinks, through_time: float) -> "csr_matrix":
    """(total, total): the flow between regions."""
    from scipy.sparse import coo_matrix

    total = len(links.masses)
    flow = np.where(links.across, through_time, 1.0) * links.flow
    half = coo_matrix((flow, (links.first, links.second)), (total, total)).tocsr()
    return half + half.T.tocsr()


def _pad_to(values: np.ndarray, length: int) -> np.ndarray:
    return np.pad(values.astype(np.float64), (0, length - len(values)))


def _differ(colours: np.ndarray, pairs: np.ndarray) -> np.ndarray:
    """(E,) squared distance between the colours of each pair of regions, some pairs at a time."""
    pieces = (pairs[start : start + PAIRS_AT_ONCE] for start in range(0, len(pairs), PAIRS_AT_ONCE))
    squares = [((colours[piece[:, 0]] - colours[piece[:, 1]]) ** 2).sum(axis=1) for piece in pieces]
    return np.concatenate([np.empty(0), *squares])


def _mean_colours(sequence: ImageSequence, superpixels: SuperpixelMap) -> np.ndarray:
    """(total, C) mean colour of each region, 0 … 1 by one window over the sequence."""
    window = window_of(sequence)

    def measure(frame: np.ndarray, labels: np.ndarray) -> np.ndarray:
        return channel_means(labels, window.apply(frame))

    return np.concatenate(list(work_ahead(measure, walk(sequence.frames), walk(superpixels.labels))))


def _neighbours(superpixels: SuperpixelMap) -> tuple[np.ndarray, np.ndarray]:
    """(E, 2) global regions that touch on a frame, and the (E,) number of pixel sides along which they do."""

    def find(frame: int, regions: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        labels, count = regions.astype(np.int64), superpixels.counts[frame]
        sides = [(labels[:, :-1], labels[:, 1:]), (labels[:-1], labels[1:])]
        codes = np.concatenate([_codes(a, b, count) for a, b in sides])
        return _count_pairs(codes, count, superpixels.offsets[frame])

    frames = range(len(superpixels.labels))
    return _join_pairs(work_ahead(find, frames, walk(superpixels.labels)))


def _codes(one: np.ndarray, other: np.ndarray, count: int) -> np.ndarray:
    """One number for each unequal pair of labels, the same in either order."""
    differ = one != other
    return np.minimum(one, other)[differ] * count + np.maximum(one, other)[differ]


def _overlaps(superpixels: SuperpixelMap) -> tuple[np.ndarray, np.ndarray]:
    """(E, 2) global regions of neighbouring frames over one another, and the (E,) number of pixels that they share."""

    def find(frame: int, both: tuple[np.ndarray, np.ndarray]) -> tuple[np.ndarray, np.ndarray]:
        labels, following = both
        count = superpixels.counts[frame + 1]
        codes = labels.astype(np.int64) * count + following
        return _count_pairs(codes.ravel(), count, superpixels.offsets[frame : frame + 2])

    frames = range(len(superpixels.labels) - 1)
    return _join_pairs(work_ahead(find, frames, pairwise(walk(superpixels.labels))))


def _count_pairs(codes: np.ndarray, count: int, offsets: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """(E, 2) pairs of global regions behind codes first * count + second, and how often each occurs."""
    found, number = np.unique(codes, return_counts=True)
    return (np.stack(np.divmod(found, count), axis=1) + offsets).astype(np.int32), number


def _join_pairs(of_frames: Iterable[tuple[np.ndarray, np.ndarray]]) -> tuple[np.ndarray, np.ndarray]:
    """The pairs of all frames, and their numbers."""
    pairs, numbers = zip((np.empty((0, 2), np.int32), np.empty(0)), *of_frames, strict=True)
    return np.concatenate(pairs), np.concatenate(numbers)
