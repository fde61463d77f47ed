"""What may be wrong with a result, in words that say what to do."""

import math
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from fewpoint.core import ImageSequence, PointSet, Result
from fewpoint.report.clicked import ClickedLooks, look_at_clicks
from fewpoint.report.health import Health, find_parts_apart
from fewpoint.report.looking import find_outline
from fewpoint.superpixels.intensity import IntensityWindow, window_of

FEWEST_CLICKS, MOST_CLICKS = 4, 30
REACH = 4  # pixels round a click that are looked at
SAME = 0.002  # variance of ranks that alike places have anyway
MOST_PLACES = 1500  # to which clicks are compared
CORE, RING = 0.35, (1.3, 2.2)  # radii of the object that are surely in it, and surely round it
BLOCKS = 6  # of the sequence, each judged by the others
MORE_ALIKE = 2.5  # times, from which clicks with x and y exchanged are suspiciously alike
BETTER, WELL = 0.15, 0.9  # by how much and how well they are told from their surroundings
ODDER, EVEN = 2.0, 0.03  # times, and how odd clicks on one object are anyway
ODD = 0.25  # of a clicked frame that looks more like the other clicks: half of what chance makes it
CLEAR = 0.8  # how well clicks on an object of many looks are told from their surroundings
FAR = 3.0  # times as far from its neighbours in time as clicks are
HARDLY = 0.25  # distinctness of masks below which they may be background
GUESSED = 0.62  # and how well clicks are told from their surroundings
ALONG_BORDER = 0.35  # of all outlines
APART = 0.1  # of the masks of clicked frames
LISTED = 6  # stretches of frames that are named


@dataclass(frozen=True)
class Doubts:
    """Sentences. misplaced: that clicks may not lie on the object at all. others: about single clicks and masks."""

    misplaced: tuple[str, ...] = ()
    others: tuple[str, ...] = ()


def find_doubts(sequence: ImageSequence, points: PointSet, result: Result, health: Health) -> Doubts:
    """What to doubt of the clicks on one object and of its masks, what matters most first."""
    rows = points.coordinates[np.unique(np.linspace(0, len(points) - 1, MOST_CLICKS).astype(int))]
    radius = math.sqrt(result.areas[result.areas > 0].mean() / math.pi) if result.areas.any() else 0.0
    if len(rows) < FEWEST_CLICKS or radius < 1:
        return Doubts((), tuple(filter(None, [_doubt_parts(points, result)])))
    told, seen = tell_apart(sequence, window_of(sequence), rows, radius), look_at_clicks(sequence, rows)
    order, background = _doubt_order(sequence, rows, radius, told, seen), _doubt_object(result, health, told, seen)
    others = (None if background else _doubt_some(rows, seen), _doubt_parts(points, result))
    return Doubts(tuple(filter(None, (order, background))), tuple(filter(None, others)))


def _doubt_order(
    sequence: ImageSequence, rows: np.ndarray, radius: float, told: float, seen: ClickedLooks
) -> str | None:
    """Whether clicked places would look more alike, or unlike their surroundings, if y and x were exchanged."""
    height, width = sequence.size
    if not ((rows[:, 1] < width) & (rows[:, 2] < height)).all() or np.array_equal(rows[:, 1], rows[:, 2]):
        return None
    window, exchanged = window_of(sequence), rows[:, [0, 2, 1]]
    other = tell_apart(sequence, window, exchanged, radius)
    alike = other >= told and _compare_looks(sequence, window, rows, exchanged) >= MORE_ALIKE
    clearer = other >= WELL and other >= told + BETTER
    odder = seen.usual + EVEN >= ODDER * (look_at_clicks(sequence, exchanged).usual + EVEN)
    if not (alike or clearer or odder):
        return None
    return (
        "x and y of the points may be exchanged: if so, they lie on something that looks more like one "
        "object; check the columns, which are frame, y, x"
    )


def tell_apart(sequence: ImageSequence, window: IntensityWindow, rows: np.ndarray, radius: float) -> float:
    """How well looks tell the surroundings of (N, 3) clicks from what is round them, a radius away: 0.5 … 1.

    The mean over clicks of the area under the curve of a linear rule on brightness and colour, at two scales, and their
    squares, learnt from clicks in other stretches of the sequence.
    """
    looks = [_look_round(sequence, window, row, radius) for row in rows.tolist()]
    blocks = rows[:, 0] * BLOCKS // len(sequence)
    blocks = np.arange(len(rows)) * BLOCKS // len(rows) if len(np.unique(blocks)) < 2 else blocks
    areas = []
    for number, (inside, outside) in enumerate(looks):
        others = [each for each, block in zip(looks, blocks, strict=True) if block != blocks[number]]
        if len(inside) and len(outside) and others:
            rule = _learn_rule(*(np.concatenate(each) for each in zip(*others, strict=True)))
            areas.append(_area_under_curve(_square(inside) @ rule, _square(outside) @ rule))
    return float(np.mean(areas)) if areas else 0.5


def _look_round(
    sequence: ImageSequence, window: IntensityWindow, row: list[int], radius: float
) -> tuple[np.ndarray, np.ndarray]:
    """(n, traits) of pixels close to a click, and of some that are so far away that they are round its object."""
    from scipy.ndimage import gaussian_filter

    frame, y, x = row
    reach = math.ceil(RING[1] * radius) + 1
    top, left = max(0, y - reach), max(0, x - reach)
    patch = window.apply(sequence.frames[frame][top : y + reach + 1, left : x + reach + 1])
    scales = (1.0, max(1.0, radius / 3))
    traits = [gaussian_filter(channel, scale) for channel in np.moveaxis(patch, -1, 0) for scale in scales]
    distance = np.hypot(*np.ogrid[top - y : top - y + patch.shape[0], left - x : left - x + patch.shape[1]])
    values = np.stack(traits, axis=-1)
    inside = values[distance <= max(2.0, CORE * radius)]
    outside = values[(distance > RING[0] * radius) & (distance <= RING[1] * radius)]
    return inside[:: -(-len(inside) // 60)], outside[:: max(1, -(-len(outside) // 120))]


def _square(traits: np.ndarray) -> np.ndarray:
    return np.column_stack([np.ones(len(traits)), traits, traits**2]).astype(np.float64)


def _learn_rule(inside: np.ndarray, outside: np.ndarray) -> np.ndarray:
    """The weights of traits and their squares that tell the two by least squares, both counting the same."""
    given = np.concatenate([_square(inside) / math.sqrt(len(inside)), _square(outside) / math.sqrt(len(outside))])
    wanted = np.concatenate([np.full(len(inside), 1 / math.sqrt(len(inside))), np.zeros(len(outside))])
    return np.linalg.solve(given.T @ given + 1e-4 * np.eye(given.shape[1]), given.T @ wanted)


def _area_under_curve(inside: np.ndarray, outside: np.ndarray) -> float:
    """How often a value inside is above one outside.

    >>> _area_under_curve(np.array([3.0, 1.0]), np.array([2.0, 0.0]))
    0.75
    """
    order = np.sort(outside)
    below, upto = np.searchsorted(order, inside, "left"), np.searchsorted(order, inside, "right")
    return float((below + upto).mean() / (2 * len(outside)))


def _compare_looks(sequence: ImageSequence, window: IntensityWindow, rows: np.ndarray, others: np.ndarray) -> float:
    """How many times more the looks of some (N, 3) places vary than those of others."""
    random = np.random.default_rng(0)
    places = np.column_stack([random.integers(0, size, MOST_PLACES) for size in sequence.shape[:3]])
    usual = np.sort(list(_describe_places(sequence, window, places)), axis=0)
    one, two = (_vary(np.array(list(_describe_places(sequence, window, each))), usual) for each in (rows, others))
    return math.exp(np.log(one / two).mean())


def _describe_places(sequence: ImageSequence, window: IntensityWindow, places: np.ndarray) -> Iterator[np.ndarray]:
    """(traits,) of each place: means of each channel close by and farther round, and how much it varies there."""
    for frame, y, x in places.tolist():
        top, left = max(0, y - REACH), max(0, x - REACH)
        patch = window.apply(sequence.frames[frame][top : y + REACH + 1, left : x + REACH + 1])
        close = patch[max(0, y - top - 1) : y - top + 2, max(0, x - left - 1) : x - left + 2]
        yield np.concatenate([close.mean((0, 1)), patch.mean((0, 1)), patch.std((0, 1))])


def _vary(traits: np.ndarray, usual: np.ndarray) -> np.ndarray:
    """(traits,) variances of (N, traits), as ranks among the sorted usual ones."""
    ranks = [np.searchsorted(known, own) / len(known) for own, known in zip(traits.T, usual.T, strict=True)]
    return np.var(ranks, axis=1, ddof=1) + SAME


def _doubt_object(result: Result, health: Health, told: float, seen: ClickedLooks) -> str | None:
    """Whether clicks and masks look like background."""
    if seen.usual >= ODD and told < CLEAR:
        return (
            "the clicked places look hardly more alike than the rest of their frames: check that the "
            "points lie on the object and not on background, and the order of the columns, which are frame, y, x"
        )
    if health.distinct < HARDLY and told < GUESSED:
        return (
            "the clicked places and the masks look like their surroundings: check that the points lie on the "
            "object and not on background"
        )
    along = _share_along_border(result.masks)
    if along >= ALONG_BORDER:
        return (
            f"{along:.0%} of the outlines run along the border of the frames, as background does: check that the "
            "points lie on the object"
        )
    return None


def _doubt_some(rows: np.ndarray, seen: ClickedLooks) -> str | None:
    """Clicks that look unlike the others and lie far from them."""
    strange = rows[(seen.odd >= ODD) & (seen.apart >= FAR * max(1.0, float(np.median(seen.apart))))]
    if not len(strange):
        return None
    named = ", ".join(f"frame {frame} at y {y}, x {x}" for frame, y, x in strange[:LISTED].tolist())
    more = " and others" if len(strange) > LISTED else ""
    return (
        f"some points look unlike the others and lie far from them, perhaps on background: {named}{more}; check them, "
        "and remove those that are not on the object"
    )


def _share_along_border(masks: np.ndarray) -> float:
    """Of all outlines, the share of pixels on the first or last row or column of a frame."""
    border, total = 0, 0
    for mask in masks:
        outline = find_outline(mask)
        total += int(outline.sum())
        border += int(outline.sum()) - int(outline[1:-1, 1:-1].sum())
    return border / total if total else 0.0


def _doubt_parts(points: PointSet, result: Result) -> str | None:
    """Parts of masks that hold no click, on frames that have one."""
    apart = find_parts_apart(result.masks, points)
    clicked = sum(int(result.areas[frame]) for frame in np.unique(points.frames).tolist())
    large = [frame for frame, pixels in apart.items() if pixels >= APART * result.areas[frame]]
    if not large or sum(apart.values()) < APART * clicked:
        return None
    most = max(apart, key=lambda frame: apart[frame])
    return (
        f"{sum(apart.values()) / clicked:.0%} of the mask on clicked frames is not connected to any click, most on "
        f"frame {most}; review frames {name_stretches(large)}: click on what belongs to the object, and put a "
        "background click on what does not"
    )


def name_stretches(frames: list[int]) -> str:
    """Frames in words, neighbours as one stretch.

    >>> name_stretches([1, 2, 3, 7])
    '1-3, 7'
    """
    stretches: list[list[int]] = []
    for frame in sorted(frames):
        if stretches and frame == stretches[-1][1] + 1:
            stretches[-1][1] = frame
        else:
            stretches.append([frame, frame])
    named = [str(first) if first == last else f"{first}-{last}" for first, last in stretches]
    return ", ".join(named[:LISTED]) + (" and others" if len(named) > LISTED else "")
