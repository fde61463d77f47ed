"""Masks without specks and pinholes, which no person means: noise leaves specks, reflections leave holes."""

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from fewpoint.core.points import PointSet
from fewpoint.core.words import Words
from fewpoint.learning.components import label_components

SPECK = 0.03  # of a frame's mask: a smaller piece that touches the mask of neither neighbouring frame is a speck
PINHOLE = 0.02  # of a frame's mask: a smaller hole is filled
STRAY = 0.01  # of all masks: a smaller part that hangs together with no click, over all frames, is left out


def clean_labels(labels: np.ndarray, number: int, points: PointSet, words: Words) -> None:
    """Take specks off an object of (T, H, W) labels and fill its pinholes, in place.

    A piece with a point is no speck, a hole with a negative or another object no pinhole. Outlined frames stay.
    points, words: those of the object alone.
    """
    for frame, (mask, neighbours) in enumerate(_walk_masks(labels, number)):
        if frame in words.outlined or not mask.any():
            continue
        place = labels[frame]
        place[_find_specks(mask, neighbours, points.coordinates[points.frames == frame, 1:])] = 0
        negatives = points.negatives[points.negatives[:, 0] == frame, 1:]
        place[_find_pinholes(mask, place == 0, negatives)] = number


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
        if dropped[owners].any():
            pieces, _ = label_components(labels[frame] == number)
            labels[frame][np.concatenate([[False], dropped[owners]])[pieces]] = 0


@dataclass(frozen=True, eq=False)
class Parts:
    """areas, tied: (P,) pixels of each part, and whether it holds a click. owners: of each frame's pieces, the part."""

    areas: np.ndarray
    tied: np.ndarray
    owners: list[np.ndarray]


def join_pieces(labels: np.ndarray, number: int, points: PointSet, words: Words) -> Parts:
    """The parts that hang together over all frames, of an object of (T, H, W) labels."""
    from scipy.sparse import coo_array
    from scipy.sparse.csgraph import connected_components

    areas, tied, links, starts, before = [], [], [], [0], None
    for frame, plane in enumerate(labels):
        pieces, count = label_components(plane == number)
        areas.append(np.bincount(pieces.ravel(), minlength=count + 1)[1:])
        own = np.full(count, frame in words.outlined)
        held = pieces[tuple(points.coordinates[points.frames == frame, 1:].T)]
        own[held[held > 0] - 1] = True
        tied.append(own)
        if before is not None:
            shared = (before > 0) & (pieces > 0)
            pairs = np.unique(np.stack([before[shared], pieces[shared]]), axis=1) - 1
            links.append(pairs + np.array([[starts[-2]], [starts[-1]]]))
        starts.append(starts[-1] + count)
        before = pieces
    total = starts[-1]
    first, second = np.concatenate(links, axis=1) if links else np.zeros((2, 0), np.int64)
    graph = coo_array((np.ones(len(first), bool), (first, second)), (total, total))
    count, owner = connected_components(graph, directed=False) if total else (0, np.zeros(0, np.int64))
    sizes = np.bincount(owner, np.concatenate(areas), count)
    holds = np.bincount(owner, np.concatenate(tied), count) > 0
    return Parts(sizes, holds, [owner[start:stop] for start, stop in pairwise(starts)])


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
