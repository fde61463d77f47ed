"""Masks without specks and pinholes, which no person means: noise leaves specks, reflections leave holes."""

from collections.abc import Iterator

import numpy as np

from fewpoint.core.points import PointSet
from fewpoint.core.words import Words
from fewpoint.learning.components import label_components

SPECK = 0.03  # of a frame's mask: a smaller piece that touches the mask of neither neighbouring frame is a speck
PINHOLE = 0.02  # of a frame's mask: a smaller hole is filled


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
