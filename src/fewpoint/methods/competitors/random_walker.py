"""Random walker (Grady, 2006): a frame's clicks against a ring far away from them.

What differs from the original: nobody paints seeds. All pixels at least two radii from every click are taken as
background, the radius being that of a disc of the bound's area: even if a click lies on the border of a round object of
that size, the object ends within that distance. A click stands for the pixels within a quarter of that radius: a walker
hardly ever meets a seed of a single pixel, and in a frame without contrast these radii give the disc of half the
bound's area. A frame without a click stays empty.

Threshold: 0.5, at which a walker from a pixel is as likely to reach a click first as the ring; nothing is tuned.
"""

from dataclasses import dataclass

import numpy as np

from fewpoint.core import AreaBound, ImageSequence, PointSet, Result
from fewpoint.methods.competitors.frames import SmallFrame, resize, small_frames
from fewpoint.methods.competitors.results import ASSUMED_BOUND, describe_probabilities

MAX_SIDE = 256
BETA = 130.0
TOLERANCE = 1e-4
# Between circles of radius a and b, a walker meets either first with probability 0.5 from radius sqrt(a b): here
# sqrt(0.25 x 2) = 0.71 of the radius of the bound's disc, the disc of half its area.
CLICK_RADII, RING_RADII = 0.25, 2.0
LEAST_RING = 0.05  # share of a frame's pixels, the farthest, that are background whatever the bound says
FOREGROUND, BACKGROUND = 1, 2


@dataclass(frozen=True)
class RandomWalker:
    """Each frame on its own, at most 256 pixels wide or high."""

    name: str = "random-walker"

    def segment(self, sequence: ImageSequence, points: PointSet, bound: AreaBound | None, *, seed: int) -> Result:
        points.check_inside(len(sequence), sequence.size)
        bound = bound or ASSUMED_BOUND
        maps = [
            walk(frame.colours, place_seeds(frame, bound)) if len(frame.clicks) else np.zeros(frame.size, np.float32)
            for frame in small_frames(sequence, points, MAX_SIDE)
        ]
        enlarged = np.stack([resize(values, sequence.size) for values in maps])
        return describe_probabilities(enlarged, sequence, points, bound)


def place_seeds(frame: SmallFrame, bound: AreaBound) -> np.ndarray:
    """(h, w) int: foreground round each click, background beyond the ring, 0 between.

    If the ring would leave no background, the farthest twentieth of the pixels is background.
    """
    distances = frame.click_distances()
    radius = np.sqrt(bound.fraction * distances.size / np.pi)
    reach = min(RING_RADII * radius, np.quantile(distances, 1 - LEAST_RING))
    seeds = np.where(distances >= reach, BACKGROUND, 0)
    seeds[distances <= CLICK_RADII * radius] = FOREGROUND
    return seeds


def walk(colours: np.ndarray, seeds: np.ndarray) -> np.ndarray:
    """(h, w) float32 probability that a walker from each pixel meets a foreground seed before a background seed.

    The more the (h, w, C) colours of two neighbours differ, the less likely is a step between them.
    """
    from skimage.segmentation import random_walker
    from threadpoolctl import threadpool_limits

    kinds = set(np.unique(seeds).tolist())
    if not {FOREGROUND, BACKGROUND} <= kinds:
        return np.full(seeds.shape, float(BACKGROUND not in kinds), np.float32)
    if 0 not in kinds or colours.std() == 0:
        return (seeds == FOREGROUND).astype(np.float32)
    options = {"beta": BETA, "mode": "cg_j", "tol": TOLERANCE, "prob_tol": 1.0, "channel_axis": -1}
    with threadpool_limits(limits=1, user_api="blas"):  # as in superpixels/diffusion
        foreground = random_walker(colours.astype(np.float64), seeds, return_full_prob=True, **options)[0]
    return np.clip(foreground, 0, 1).astype(np.float32)
