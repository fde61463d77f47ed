"""How superpixels move: dense optical flow, its direction and its histogram of directions over each superpixel."""

import numpy as np

from fewpoint.core import ImageSequence, SuperpixelMap
from fewpoint.core.paging import walk
from fewpoint.methods.competitors.frames import reduced_size, resize
from fewpoint.superpixels.intensity import window_of
from fewpoint.superpixels.regions import region_means

MAX_SIDE = 128
RADIUS = 7


def estimate_flow(sequence: ImageSequence) -> np.ndarray:
    """(T, H, W, 2) float32 movement y, x in pixels from each frame to the next; the last frame repeats the one before.

    Iterative Lucas-Kanade at no more than 128 pixels per side. A sequence of one frame does not move.
    """
    from skimage.registration import optical_flow_ilk

    window, small = window_of(sequence), reduced_size(sequence.size, MAX_SIDE)
    grey = np.stack([resize(window.apply(frame).mean(axis=-1), small) for frame in walk(sequence.frames)])
    flow = np.zeros((*sequence.shape[:3], 2), np.float32)
    scale = np.array(sequence.size) / small
    for frame in range(len(sequence) - 1):
        # In flat areas there is nothing to follow, and the division by zero is deliberately ignored.
        with np.errstate(all="ignore"):
            rows, columns = optical_flow_ilk(grey[frame], grey[frame + 1], radius=RADIUS)
        moved = np.nan_to_num(np.stack([rows, columns], axis=-1)) * scale
        flow[frame] = resize(moved.astype(np.float32), sequence.size)
    if len(sequence) > 1:
        flow[-1] = flow[-2]
    return flow


def flow_directions(superpixels: SuperpixelMap, flow: np.ndarray) -> np.ndarray:
    """(total,) direction of each superpixel's mean movement, in radians."""
    rows, columns = (region_means(superpixels, flow[..., axis]) for axis in (0, 1))
    return np.arctan2(rows, columns)


def flow_histograms(superpixels: SuperpixelMap, flow: np.ndarray, bins: int) -> np.ndarray:
    """(total, bins) share of each superpixel's movement in each direction, weighted by its speed; rows sum to 1.

    A superpixel that does not move has the same share in all directions.
    """
    angles = np.arctan2(flow[..., 0], flow[..., 1])
    speeds = np.hypot(flow[..., 0], flow[..., 1])
    bin_of = np.minimum(((angles + np.pi) / (2 * np.pi) * bins).astype(int), bins - 1)
    columns = [region_means(superpixels, np.where(bin_of == number, speeds, 0)) for number in range(bins)]
    means = np.stack(columns, axis=1)
    totals = means.sum(axis=1, keepdims=True)
    return np.where(totals > 0, means / np.maximum(totals, 1e-12), 1 / bins)


def intersect_histograms(first: np.ndarray, second: np.ndarray) -> np.ndarray:
    """(E,) sum over bins of the smaller share, of (E, bins) histograms: 1 for equal ones.

    >>> intersect_histograms(np.array([[0.5, 0.5]]), np.array([[0.75, 0.25]])).tolist()
    [0.75]
    """
    return np.minimum(first, second).sum(axis=1)
