"""Masks without specks and pinholes, which no person means: noise leaves specks, reflections leave holes."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from fewpoint.core.points import PointSet
from fewpoint.core.stopping import check_stop
from fewpoint.core.words import Words
from fewpoint.learning.components import label_components

SPECK = 0.03  # of a frame's mask: a smaller piece that touches the mask of neither neighbouring frame is a speck
PINHOLE = 0.02  # of a frame's mask: a smaller hole is filled
STRAY = 0.01  # of all masks: a smaller part that hangs together with no click, over all frames, is left out
FIRST_REACH, WIDER = 2, 4  # frames on either side that say whether a piece is a stray, and how many times more if not


def clean_labels(labels: np.ndarray, number: int, points: PointSet, words: Words) -> None:
    """Take specks off an object of (T, H, W) labels and fill its pinholes, in place.

    A piece with a point is no speck, a hole with a negative or another object no pinhole. Outlined frames stay.
    points, words: those of the object alone.
    """
    for frame, (mask, neighbours) in enumerate(_walk_masks(labels, number)):
        check_stop()
        _clean_frame(labels[frame], (mask, neighbours), number, frame, (points, words))


def _clean_frame(
    labels: np.ndarray, masks: tuple[np.ndarray, np.ndarray], number: int, frame: int, said: tuple[PointSet, Words]
) -> None:
    """The same of the (H, W) labels of one frame. masks: see _walk_masks."""
    (mask, neighbours), (points, words) = masks, said
    if frame in words.outlined or not mask.any():
        return
    labels[_find_specks(mask, neighbours, points.coordinates[points.frames == frame, 1:])] = 0
    negatives = points.negatives[points.negatives[:, 0] == frame, 1:]
    labels[_find_pinholes(mask, labels == 0, negatives)] = number


def drop_untied(labels: np.ndarray, number: int, points: PointSet, words: Words, smaller_than: float = STRAY) -> None:
    """Take parts off an object of (T, H, W) labels that hang together with no click and no outline, in place.

    Pieces of neighbouring frames hang together if they share a pixel. smaller_than: only parts whose pixels are fewer
    than this share of those that are tied; nothing is done if none is. points, words: those of the object alone.
    """
    parts = join_pieces(labels, number, points, words)
    tied = float(parts.areas[parts.tied].sum())
    dropped = ~parts.tied & (parts.areas < smaller_than * tied)
    if not tied or not dropped.any():
        return
    for frame, owners in enumerate(parts.owners):
        _drop_pieces(labels[frame], number, dropped[owners])


def _drop_pieces(labels: np.ndarray, number: int, dropped: np.ndarray) -> None:
    """Take those of its (n,) pieces off an object of the (H, W) labels of a frame that are to be dropped, in place."""
    if dropped.any():
        pieces, _ = label_components(labels == number)
        labels[np.concatenate([[False], dropped])[pieces]] = 0


@dataclass(frozen=True, eq=False)
class Parts:
    """areas, tied: (P,) pixels of each part, and whether it holds a click. owners: of each frame's pieces, the part."""

    areas: np.ndarray
    tied: np.ndarray
    owners: list[np.ndarray]


def join_pieces(labels: np.ndarray, number: int, points: PointSet, words: Words, first: int = 0) -> Parts:
    """The parts that hang together over all frames, of an object of (T, H, W) labels.

    first: what the first of these frames is called in points and words.
    """
    from scipy.sparse import coo_array
    from scipy.sparse.csgraph import connected_components

    areas, tied, links, starts, before = [], [], [], [0], None
    for frame, plane in enumerate(labels, start=first):
        check_stop()
        pieces, count = label_components(plane == number)
        areas.append(np.bincount(pieces.ravel(), minlength=count + 1)[1:])
        own = np.full(count, frame in words.outlined)
        held = pieces[tuple(points.coordinates[points.frames == frame, 1:].T)]
        own[held[held > 0] - 1] = True
        tied.append(own)
        if before is not None:
            links.append(_overlapping(before, pieces, count) + np.array([[starts[-2]], [starts[-1]]]))
        starts.append(starts[-1] + count)
        before = pieces
    total = starts[-1]
    pairs = np.concatenate(links, axis=1) if links else np.zeros((2, 0), np.int64)
    graph = coo_array((np.ones(pairs.shape[1], bool), tuple(pairs)), (total, total))
    count, owner = connected_components(graph, directed=False) if total else (0, np.zeros(0, np.int64))
    sizes = np.bincount(owner, np.concatenate(areas), count)
    holds = np.bincount(owner, np.concatenate(tied), count) > 0
    return Parts(sizes, holds, [owner[start:stop] for start, stop in pairwise(starts)])


def _overlapping(before: np.ndarray, pieces: np.ndarray, count: int) -> np.ndarray:
    """(2, n) pairs of pieces, counted from 0, of two frames that share a pixel; count: of the second frame's pieces.

    >>> _overlapping(np.array([0, 1, 1, 2]), np.array([1, 0, 1, 1]), 1).tolist()
    [[0, 1], [0, 0]]
    """
    shared = (before > 0) & (pieces > 0)
    met = np.bincount((before[shared] - 1) * count + pieces[shared] - 1)  # a sum of two frames, not of all pairs
    return np.stack(np.divmod(np.flatnonzero(met), max(count, 1)))


class CleanedFrames:
    """Labels of single frames as they are once all frames are cleaned, from no more frames than that takes.

    raw: makes the (H, W) labels of a frame, of so many, before they are cleaned. said: points and words of each object;
    each is cleaned as clean_labels and drop_untied do it, one after another.
    """

    def __init__(self, raw: Callable[[int], np.ndarray], count: int, said: Sequence[tuple[PointSet, Words]]) -> None:
        self._make, self._count, self._said = raw, count, said
        self._known: dict[tuple[int, int, str], np.ndarray] = {}

    def on_frame(self, frame: int) -> np.ndarray:
        return self._finish(frame, len(self._said))

    def _raw(self, frame: int) -> np.ndarray:
        return self._keep((frame, 0, "raw"), lambda: self._make(frame))

    def _finish(self, frame: int, number: int) -> np.ndarray:
        """Labels in which the objects up to a number are clean and without strays."""
        if number == 0:
            return self._raw(frame)
        return self._keep((frame, number, "finished"), lambda: self._drop(frame, number))

    def _clean(self, frame: int, number: int) -> np.ndarray:
        """The same, with strays of the last of them."""
        return self._keep((frame, number, "clean"), lambda: self._clean_anew(frame, number))

    def _clean_anew(self, frame: int, number: int) -> np.ndarray:
        labels = self._finish(frame, number - 1).copy()
        # No other object's cleaning changes which pixels this one has.
        near = [self._raw(other) == number for other in (frame - 1, frame + 1) if 0 <= other < self._count]
        neighbours = np.logical_or.reduce(near) if near else np.zeros(labels.shape, bool)
        _clean_frame(labels, (labels == number, neighbours), number, frame, self._said[number - 1])
        return labels

    def _drop(self, frame: int, number: int) -> np.ndarray:
        labels = self._clean(frame, number).copy()
        _drop_pieces(labels, number, self._find_strays(frame, number))
        return labels

    def _find_strays(self, frame: int, number: int, reach: int = 0) -> np.ndarray:
        """(n,) bool, those of a frame's pieces that are dropped: found out on ever more frames round it.

        A part that holds a click on these is tied. One that ends on these is as large as it will ever be, and is
        dropped if it is small beside what is tied on these already.
        """
        first, end = max(0, frame - reach), min(self._count, frame + reach + 1)
        labels = np.stack([self._clean(each, number) for each in range(first, end)])
        parts = join_pieces(labels, number, *self._said[number - 1], first)
        stray = ~parts.tied & (parts.areas < STRAY * parts.areas[parts.tied].sum())
        goes_on = np.zeros(len(stray), bool)
        goes_on[parts.owners[0]] |= first > 0
        goes_on[parts.owners[-1]] |= end < self._count
        here = parts.owners[frame - first]
        if (parts.tied | stray & ~goes_on)[here].all() or end - first == self._count:
            return stray[here]
        return self._find_strays(frame, number, max(FIRST_REACH, WIDER * reach))

    def _keep(self, key: tuple[int, int, str], make: Callable[[], np.ndarray]) -> np.ndarray:
        if key not in self._known:
            self._known[key] = make()
        return self._known[key]


def _walk_masks(labels: np.ndarray, number: int) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """(H, W) mask of each frame, and where those of its neighbours are, all as they are before anything is changed."""
    before, mask = np.zeros(labels.shape[1:], bool), labels[0] == number
    for frame in range(len(labels)):
        last = frame + 1 == len(labels)
        after = np.zeros_like(mask) if last else labels[frame + 1] == number
        yield mask, before | after
        before, mask = mask, after


def _find_specks(mask: np.ndarray, neighbours: np.ndarray, places: np.ndarray) -> np.ndarray:
    """(H, W) bool, the small pieces of a mask that hold none of the (N, 2) places and are alone in time.

    >>> mask = np.zeros((8, 8), bool)
    >>> mask[:7, :7], mask[7, 7] = True, True
    >>> mask[6, :7] = mask[:7, 6] = False
    >>> np.argwhere(_find_specks(mask, np.zeros((8, 8), bool), np.empty((0, 2), int))).tolist()
    [[7, 7]]
    """
    pieces, count = label_components(mask)
    if count < 2:
        return np.zeros_like(mask)
    areas = np.bincount(pieces.ravel(), minlength=count + 1)
    kept = areas >= SPECK * areas[1:].sum()
    kept[np.unique(pieces[neighbours])] = True
    kept[pieces[tuple(places.T)]] = True
    kept[0] = True
    return ~kept[pieces]


def _find_pinholes(mask: np.ndarray, free: np.ndarray, negatives: np.ndarray) -> np.ndarray:
    """(H, W) bool, the small holes of a mask that are free and hold none of the (N, 2) negatives."""
    rows, columns = (np.flatnonzero(mask.any(axis)) for axis in (1, 0))
    box = np.s_[rows[0] : rows[-1] + 1, columns[0] : columns[-1] + 1]
    holes, count = label_components(~mask[box])
    areas = np.bincount(holes.ravel(), minlength=count + 1)
    filled = areas <= PINHOLE * mask.sum()
    for edge in (holes[0], holes[-1], holes[:, 0], holes[:, -1]):
        filled[edge] = False  # open towards the outside
    filled[holes[~free[box] & ~mask[box]]] = False
    inside = negatives - (rows[0], columns[0])
    inside = inside[((inside >= 0) & (inside < holes.shape)).all(axis=1)]
    filled[holes[tuple(inside.T)]] = False
    filled[0] = False
    found = np.zeros_like(mask)
    found[box] = filled[holes]
    return found
