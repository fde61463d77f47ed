"""What only the truth reveals: shares, the paper's bound, the box a person would draw, clicks in the middle."""

import zlib

import numpy as np

from fewpoint.core import AreaBound, PointSet
from fewpoint.errors import InputError

LARGEST_BOUND = 0.99


def true_shares(truth: np.ndarray) -> np.ndarray:
    """(T,) float64 share of each frame that the object covers, from (T, H, W) bool.

    >>> true_shares(np.array([[[True, False]], [[False, False]]])).tolist()
    [0.5, 0.0]
    """
    if truth.ndim != 3 or truth.dtype != bool:
        raise InputError(f"truth must be (T, H, W) bool, got {truth.dtype} {truth.shape}")
    return truth.mean(axis=(1, 2))


def paper_bound(truth: np.ndarray, eta: float = 1.4) -> AreaBound:
    """The paper's protocol: eta times the largest true share, at most 0.99."""
    largest = _largest_share(truth)
    return AreaBound(min(eta * largest, LARGEST_BOUND), f"{eta:g} x the true maximum")


def largest_box(truth: np.ndarray, enlarge: float = 0.1) -> tuple[int, int, int, int, int]:
    """Frame, y0, x0, y1, x1 (y1 and x1 exclusive) of the box a person would draw where the object is largest.

    enlarge: share by which the tight box grows in height and width, half on each side, rounded outwards and cut
    at the frame.

    >>> truth = np.zeros((2, 30, 30), bool)
    >>> truth[1, 10:20, 5:15] = True
    >>> largest_box(truth)
    (1, 9, 4, 21, 16)
    """
    _largest_share(truth)
    frame = int(np.argmax(true_shares(truth)))
    rows, columns = truth[frame].any(axis=1), truth[frame].any(axis=0)
    (y0, y1), (x0, x1) = (_widen(np.flatnonzero(line), enlarge, len(line)) for line in (rows, columns))
    return frame, y0, x0, y1, x1


def click_middles(truth: np.ndarray) -> PointSet:
    """One click per frame where the object is, on its pixel farthest from its edge; the edge of the frame counts, too.

    >>> truth = np.zeros((2, 7, 7), bool)
    >>> truth[1, 1:6, 2:5] = True
    >>> click_middles(truth).coordinates.tolist()
    [[1, 2, 3]]
    """
    _largest_share(truth)
    rows = []
    for frame in np.flatnonzero(truth.any(axis=(1, 2))).tolist():
        depths = measure_depths(truth[frame])
        row, column = np.unravel_index(depths.argmax(), depths.shape)
        rows.append((frame, int(row), int(column)))
    return PointSet.from_rows(rows)


def click_spread(truth: np.ndarray, count: int, seed: int = 0) -> PointSet:
    """So many clicks, spread evenly over the frames that show the object, fewer if fewer do.

    Each lies in the largest part of the object, anywhere at most half as far from its innermost pixel as that is from
    the edge. Where is drawn by the seed and the truth.

    >>> truth = np.zeros((9, 7, 7), bool)
    >>> truth[:6, 3, 3] = True
    >>> click_spread(truth, 3).coordinates.tolist()
    [[1, 3, 3], [3, 3, 3], [5, 3, 3]]
    """
    _largest_share(truth)
    random = np.random.default_rng([seed, zlib.crc32(np.packbits(truth).tobytes())])
    shown = np.flatnonzero(truth.any(axis=(1, 2)))
    count = min(count, len(shown))
    middles = shown[((np.arange(count) + 0.5) * len(shown) / count).astype(int)]
    return PointSet.from_rows([(frame, *_click_within(truth[frame], random)) for frame in middles.tolist()])


def measure_depths(mask: np.ndarray) -> np.ndarray:
    """(H, W) distance of each pixel of a bool mask from the nearest outside it or the frame, 0 outside.

    >>> measure_depths(np.ones((3, 3), bool)).astype(int).tolist()
    [[1, 1, 1], [1, 2, 1], [1, 1, 1]]
    """
    from scipy import ndimage

    return np.asarray(ndimage.distance_transform_edt(np.pad(mask, 1)))[1:-1, 1:-1]


def _click_within(mask: np.ndarray, random: np.random.Generator) -> tuple[int, int]:
    from scipy import ndimage

    labels = np.zeros(mask.shape, np.int32)
    ndimage.label(mask, output=labels)
    depths = measure_depths(labels == 1 + np.bincount(labels[mask])[1:].argmax())
    row, column = np.unravel_index(depths.argmax(), depths.shape)
    rows, columns = np.indices(mask.shape)
    near = np.argwhere(np.hypot(rows - row, columns - column) <= depths.max() / 2)
    row, column = near[random.integers(len(near))].tolist()
    return row, column


def _largest_share(truth: np.ndarray) -> float:
    largest = float(true_shares(truth).max())
    if largest == 0:
        raise InputError("the truth must show the object on at least one frame, got empty masks only")
    return largest


def _widen(occupied: np.ndarray, enlarge: float, limit: int) -> tuple[int, int]:
    """Start and end of the occupied stretch, grown by the share enlarge and cut to [0, limit]."""
    start, end = int(occupied[0]), int(occupied[-1]) + 1
    margin = enlarge * (end - start) / 2
    return max(0, int(np.floor(start - margin))), min(limit, int(np.ceil(end + margin)))
