"""How much of the frames is the object, according to the image: masks should end at edges.

Networks rank superpixels well, but how many of them are the object depends on a bound that nobody knows exactly. Of all
masks that some level cuts out of their scores, the right one ends where colours change, since values flow freely
through the outline of a mask that ends in the middle of something; and it is much the same at levels nearby.
"""

import numpy as np

from fewpoint.superpixels.diffusion import RegionLinks

STEP = 0.25
LEVELS = np.arange(-5.0, 5.01, STEP)
CLOSED = 0.02  # openness at which an outline is as good as closed
STEADY = 0.05  # change of the logarithm of the size per level at which it is as good as steady
SMALLEST_SHARE = 0.02  # of what is marked at level 0: less is a remnant, however sharp its outline
LARGEST_SHARE = 0.9  # of all that there is: more is no object
BLUR = (0.25, 0.5, 0.25)  # over neighbouring levels
LEVEL_DOUBT = 1.5  # how far the level that networks suggest may be off
MORE_GROWTH = 0.2  # than on other frames, as a logarithm, where a person said nothing
DEEPER_LEAKS = 0.2  # by how much masks are too large if leaks are deeper than misses by 1, all as logarithms
DEEPER_MISSES = 0.12  # the same the other way round: less, since what is missed may be a part that was not known at all
LEAST_DEPTH = 0.1  # of a miss or leak that counts, in radii of the object
MOST_DEPTH = 1.0  # what lies further off is something else
LEAST_MARKED = 0.1  # of what is usual, from which growth counts: a frame with less may come up to that


def outline_openness(links: RegionLinks, scores: np.ndarray, levels: np.ndarray) -> np.ndarray:
    """How freely values flow through the outline of the regions at or above each level, per side of a pixel.

    scores: (total,). Outlines are those within frames; NaN at a level without any.

    >>> flow, within, borders = np.array([0.5, 4.0]), np.zeros(2, bool), np.full(2, 5.0)
    >>> links = RegionLinks(np.array([0, 1]), np.array([1, 2]), flow, within, np.ones(3), borders)
    >>> outline_openness(links, np.array([2.0, 1.0, -1.0]), np.array([0.0, 1.5, 3.0])).tolist()
    [0.8, 0.1, nan]
    """
    within = np.flatnonzero(~links.across)
    ends = scores[links.first[within]], scores[links.second[within]]
    # A link is cut by the levels above its lower end and up to its higher one.
    first, last = (np.searchsorted(levels, side(*ends), side="right") for side in (np.minimum, np.maximum))

    def sum_cut(weights: np.ndarray) -> np.ndarray:
        steps = np.bincount(first, weights, len(levels) + 1) - np.bincount(last, weights, len(levels) + 1)
        return np.cumsum(steps)[:-1]

    borders = sum_cut(links.borders[within])
    crossed = borders > 0.5
    return np.where(crossed, sum_cut(links.flow[within]) / np.where(crossed, borders, 1.0), np.nan)


def find_level(links: RegionLinks, scores: np.ndarray, areas: np.ndarray, doubt: float) -> float:
    """The level, on the scale of the (total,) scores, at which the object ends; 0 is what the networks suggest.

    Of all levels l at which the share s(l) is marked, the one that minimises
      log(openness(l) + CLOSED) + log(|d log s / d l| + STEADY)
        + l^2 / (2 LEVEL_DOUBT^2) + log(s(l) / s(0))^2 / (2 doubt^2).
    areas: (total,) of the regions. doubt: of the bound that the networks have learnt with.
    """
    covered = np.array([areas[scores >= level].sum() for level in LEVELS], np.float64)
    expected = covered[np.abs(LEVELS).argmin()]
    openness = outline_openness(links, scores, LEVELS)
    usable = np.isfinite(openness) & (covered > 0) & (covered >= SMALLEST_SHARE * expected)
    usable &= covered < LARGEST_SHARE * areas.sum()
    if not expected or not usable.any():
        return 0.0
    sizes = np.log(np.maximum(covered, 1.0))
    costs = np.log(_blur(np.where(usable, openness, 1.0)) + CLOSED)
    costs += np.log(_blur(-np.gradient(sizes, STEP)) + STEADY)
    costs += LEVELS**2 / (2 * LEVEL_DOUBT**2) + (sizes - np.log(expected)) ** 2 / (2 * doubt**2)
    return float(LEVELS[np.where(usable, costs, np.inf).argmin()])


def _blur(values: np.ndarray) -> np.ndarray:
    """(n,) values of levels, each with those of its neighbours."""
    return np.convolve(np.pad(values, 1, mode="edge"), BLUR, mode="valid")


def level_of_area(scores: np.ndarray, areas: np.ndarray, area: float) -> float:
    """The score that (n,) regions reach which together have about this area.

    >>> level_of_area(np.array([3.0, 1.0, -1.0]), np.array([2.0, 2.0, 2.0]), 4.0)
    1.0
    """
    order = np.argsort(-scores, kind="stable")
    last = int(np.searchsorted(np.cumsum(areas[order]), area * (1 - 1e-9)))
    return float(scores[order[min(last, len(order) - 1)]])


def sum_up_depths(depths: np.ndarray) -> float:
    """The mean logarithm of how deep words lie on the wrong side of masks, in radii of the object."""
    return float(np.log(np.minimum(depths, MOST_DEPTH) + LEAST_DEPTH).mean())


def find_excess(missed: float, leaked: float) -> float:
    """The logarithm of how many times too large masks are, going by words that contradict them.

    missed, leaked: depths of clicks outside of masks, and of negatives inside, see sum_up_depths. A person marks the
    worst that they see of both: where leaks are deeper than what is missed, there is too much.

    >>> shallow, deep = sum_up_depths(np.array([0.1])), sum_up_depths(np.array([0.5]))
    >>> [round(find_excess(*depths), 2) for depths in ((shallow, deep), (deep, shallow), (deep, deep))]
    [0.22, -0.13, 0.0]
    """
    return (DEEPER_LEAKS if leaked > missed else DEEPER_MISSES) * (leaked - missed)


def limit_growth(
    before: np.ndarray, after: np.ndarray, areas: np.ndarray, frames: np.ndarray, told: np.ndarray
) -> np.ndarray:
    """(n,) scores after words, lowered on frames that would grow far more than others although nothing was said there.

    Where networks are unsure of a whole frame, as they are where an object ends, a little more of everything would mark
    most of it. before: (n,) scores without these words. areas, frames: (n,) of the regions. told: frames on which
    somebody said that there is more, or exactly how much.

    >>> before, after = np.array([1.0, -1.0, -0.1, -0.1, -0.1]), np.array([1.5, -0.5, 0.4, 0.5, 0.6])
    >>> limit_growth(before, after, np.full(5, 8.0), np.array([0, 0, 1, 1, 1]), np.array([], int)).round(1).tolist()
    [1.5, -0.5, -0.2, -0.1, 0.0]
    """
    marked, wanted = (np.bincount(frames, areas * (scores >= 0), frames.max() + 1) for scores in (before, after))
    if not marked.any():
        return after
    counted = np.maximum(marked, LEAST_MARKED * np.median(marked[marked > 0]))
    growth = np.log(np.maximum(wanted, 1) / counted)
    most = max(_weighted_median(growth, marked), 0.0) + MORE_GROWTH
    limited = after.copy()
    for frame in np.setdiff1d(np.flatnonzero(growth > most), told):
        here = frames == frame
        limited[here] -= level_of_area(after[here], areas[here], counted[frame] * np.exp(most))
    return limited


def _weighted_median(values: np.ndarray, weights: np.ndarray) -> float:
    order = np.argsort(values)
    reached = np.cumsum(weights[order])
    return float(values[order][np.searchsorted(reached, reached[-1] / 2)])


def shift_to_factor(scores: np.ndarray, areas: np.ndarray, factor: float) -> float:
    """By how much (n,) scores must rise for `factor` times the area to be at or above 0; 0 if nothing is.

    >>> shift_to_factor(np.array([3.0, 1.0, -1.0, -2.0]), np.ones(4), 1.5)
    1.0
    """
    wanted = factor * areas[scores >= 0].sum()
    if not wanted:
        return 0.0
    order = np.argsort(-scores, kind="stable")
    reached = np.cumsum(areas[order])
    last = int(np.searchsorted(reached, wanted * (1 - 1e-9)))
    if last >= len(order):
        return float(-scores.min())
    if last and wanted - reached[last - 1] < reached[last] - wanted:
        last -= 1  # the region that goes beyond it goes too far
    return float(-scores[order[last]]) if factor >= 1 else float(-np.nextafter(scores[order[last]], -np.inf))
