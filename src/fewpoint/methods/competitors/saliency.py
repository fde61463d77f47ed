"""Where a frame stands out from the rest of itself: local-global saliency (Goferman et al., 2012)."""

from functools import lru_cache

import numpy as np

from fewpoint.methods.competitors.frames import reduced_size, resize

MAX_SIDE = 40
PATCH = 5
SIMILAR = 64
CLOSENESS = 3.0
SCALES = (0.0, 1.0, 2.0)  # pixels of smoothing


def find_saliency(colours: np.ndarray) -> np.ndarray:
    """(h, w) float32 in [0, 1], the most salient pixel 1, of a frame's (h, w, C) colours.

    A patch is salient if even its most similar patches differ from it; one that resembles it counts the more against
    it the farther away it lies, since what is salient lies together and the background is everywhere:
      d(p, q) = |p - q| / (1 + 3 distance),  S(p) = 1 - exp(- mean of the 64 smallest d),
    patches of 5 x 5 pixels, averaged over three scales at no more than 40 pixels per side.
    """
    from scipy.ndimage import gaussian_filter

    small = resize(colours, reduced_size(colours.shape[:2], MAX_SIDE))
    maps = [score_patches(gaussian_filter(small, (scale, scale, 0))) for scale in SCALES]
    mean = resize(np.asarray(np.mean(maps, axis=0, dtype=np.float32)), colours.shape[:2])
    low, high = mean.min(), mean.max()
    return (mean - low) / (high - low) if high > low else np.zeros_like(mean)


def score_patches(colours: np.ndarray) -> np.ndarray:
    """(h, w) float32 saliency at one scale; colour distances are relative to the largest, positions to the frame."""
    height, width, _ = colours.shape
    patches = cut_patches(colours)
    squares = (patches**2).sum(axis=1)
    differences = np.sqrt(np.maximum(squares[:, np.newaxis] + squares - 2 * patches @ patches.T, 0))
    differences /= max(float(differences.max()), 1e-9)
    ratios = differences * weigh_distances(height, width)
    np.fill_diagonal(ratios, np.inf)  # no patch is its own neighbour
    count = min(SIMILAR, len(ratios) - 1)
    nearest = np.partition(ratios, count - 1, axis=1)[:, :count]
    return (1 - np.exp(-nearest.mean(axis=1))).reshape(height, width).astype(np.float32)


@lru_cache(maxsize=1)
def weigh_distances(height: int, width: int) -> np.ndarray:
    """(h w, h w) float32: 1 / (1 + 3 distance) of each pair of pixels, in shares of the longer side."""
    places = np.indices((height, width), np.float32).reshape(2, -1) / max(height, width)
    return 1 / (1 + CLOSENESS * np.hypot(*(places[:, :, np.newaxis] - places[:, np.newaxis])))


def cut_patches(colours: np.ndarray) -> np.ndarray:
    """(h w, 25 C) the patch round each pixel, the frame's border repeated."""
    half = PATCH // 2
    padded = np.pad(colours, ((half, half), (half, half), (0, 0)), mode="edge")
    windows = np.lib.stride_tricks.sliding_window_view(padded, (PATCH, PATCH), axis=(0, 1))
    return windows.reshape(colours.shape[0] * colours.shape[1], -1)
