"""Superpixels by simple linear iterative clustering (Achanta et al. 2012)."""

import math
import os
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from fewpoint.core import ImageSequence, Listener, StageProgress, SuperpixelMap, ignore
from fewpoint.core.paging import make_frames, walk
from fewpoint.core.threads import work_ahead
from fewpoint.errors import SettingsError
from fewpoint.superpixels.intensity import window_of

STAGE = "superpixels"
SMALLEST_AREA = 4
# Measured on twenty sequences of five kinds: a little smoothing keeps noise out of the borders (+.001 to +.02 Max SP
# on video), and pieces down to a quarter of the usual area, not half, keep small objects whole (+.02 on CT).
SMOOTHING_PIXELS = (1.0, 1.0)  # a single number would be spent on the depth of the frame too
SMALLEST_SHARE = 0.25
# Regions of a volume are no cubes: they reach over more frames, and come apart on some. With this factor fewer of them
# about as many meet a frame as are asked for (four sequences of four kinds, 520 asked for: 399 to 560).
RAGGEDNESS = 1.5


@dataclass(frozen=True)
class SuperpixelSettings:
    """How frames are cut into superpixels.

    count: about how many per frame; fewer if they would be smaller than four pixels.
    compactness: weight of closeness against likeness of colour, in steps of lightness 0 … 100; higher is squarer.
    max_side: frames with a longer side, in pixels, are cut at a reduced size.
    """

    count: int = 1200
    compactness: float = 15.0
    max_side: int = 256

    def __post_init__(self) -> None:
        if self.count < 1:
            raise SettingsError(f"superpixels.count must be at least 1, got {self.count}")
        if not 0 < self.compactness < np.inf:
            raise SettingsError(f"superpixels.compactness must be above 0 and finite, got {self.compactness:g}")
        if self.max_side < 16:
            raise SettingsError(f"superpixels.max_side must be at least 16 pixels, got {self.max_side}")


def segment_frames(
    sequence: ImageSequence, settings: SuperpixelSettings, listener: Listener = ignore, jobs: int = 0
) -> SuperpixelMap:
    """Cut each frame into connected regions of like colour; the result does not depend on the number of jobs.

    jobs: frames worked on at once; 0 means as many as there are processor cores.
    """
    if jobs < 0:
        raise SettingsError(f"jobs must be 0 (all cores) or more, got {jobs}")
    labels = make_frames(sequence.shape[:3], np.int32)
    segmented = _segment_all(sequence, settings, jobs or os.cpu_count() or 1)
    for index, (place, regions) in enumerate(zip(walk(labels), segmented, strict=True)):
        place[:] = regions
        listener(StageProgress(STAGE, index + 1))
    return SuperpixelMap(labels)


def _segment_all(sequence: ImageSequence, settings: SuperpixelSettings, jobs: int) -> Iterator[np.ndarray]:
    """Labels of each frame in order."""
    window = window_of(sequence)
    size = fit_size(sequence.square_size, settings.max_side)

    def segment(frame: np.ndarray) -> np.ndarray:
        return _segment_frame(window.apply(frame), size, settings)

    return work_ahead(segment, walk(sequence.frames), jobs=jobs)


def _segment_frame(frame: np.ndarray, size: tuple[int, int], settings: SuperpixelSettings) -> np.ndarray:
    """(H, W) labels of one (H, W, C) frame in [0, 1], cut at the size at which its pixels are square."""
    return _finish(_cluster(to_lightness(_resize(frame, size)), settings), frame.shape[:2])


def segment_volume(sequence: ImageSequence, settings: SuperpixelSettings) -> SuperpixelMap:
    """Cut all frames at once, as a volume of cubic pixels: about `count` regions meet each frame and go on to others.

    A superpixel is what lies on one frame of such a region, in one piece.
    """
    window, size = window_of(sequence), fit_size(sequence.square_size, settings.max_side)
    colours = np.stack([to_lightness(_resize(window.apply(frame), size)) for frame in walk(sequence.frames)])
    clusters = _cluster(colours.astype(np.float32), settings)
    return SuperpixelMap(np.stack([_finish(frame, sequence.size) for frame in clusters]).astype(np.int32))


def _finish(clusters: np.ndarray, size: tuple[int, int]) -> np.ndarray:
    """Labels of connected regions at another size."""
    # slic may give its first, too small pieces one label although they do not touch.
    labels = _copy_to(_label_pieces(clusters), size)
    shrinks = any(there > here for there, here in zip(clusters.shape, size, strict=True))
    return _label_pieces(labels) if shrinks else labels


def _label_pieces(labels: np.ndarray) -> np.ndarray:
    """Labels counted from 0 of the connected pieces of equal label."""
    from skimage.measure import label

    return np.asarray(label(labels, background=-1, connectivity=1)) - 1


def _cluster(colours: np.ndarray, settings: SuperpixelSettings) -> np.ndarray:
    """Labels of the clusters of a frame (H, W, C), or of a volume (T, H, W, C) whose clusters are as deep as wide."""
    from skimage.segmentation import slic

    *depth, height, width, _ = colours.shape
    count = min(settings.count, max(1, height * width // SMALLEST_AREA))
    layers = max(1.0, depth[0] / math.sqrt(height * width / count) / RAGGEDNESS) if depth else 1
    spread = float(colours.max() - colours.min())
    return slic(
        colours,
        n_segments=round(count * layers),
        # slic stretches each image to [0, 1]; dividing by what it stretches keeps one meaning on every frame.
        compactness=settings.compactness / (spread or 1.0),
        sigma=(*(0.0 for _ in depth), *SMOOTHING_PIXELS),
        min_size_factor=SMALLEST_SHARE,
        convert2lab=False,
        channel_axis=-1,
        start_label=0,
    )


def to_lightness(image: np.ndarray) -> np.ndarray:
    """(H, W, C) in [0, 1] to Lab if it is colour, to 0 … 100 if it is not."""
    if image.shape[-1] != 3:
        return image * np.float32(100)
    from skimage.color import rgb2lab

    return rgb2lab(image)


def fit_size(size: tuple[int, int], max_side: int) -> tuple[int, int]:
    """The size, reduced if its longer side is above max_side.

    >>> fit_size((300, 1000), 500), fit_size((30, 100), 500)
    ((150, 500), (30, 100))
    """
    scale = min(1.0, max_side / max(size))
    height, width = (max(1, round(side * scale)) for side in size)
    return height, width


def _resize(image: np.ndarray, size: tuple[int, int]) -> np.ndarray:
    """The image at another size, smoothed first if it shrinks so that nothing aliases."""
    if image.shape[:2] == size:
        return image
    from skimage.transform import resize

    return np.asarray(resize(image, size, order=1, anti_aliasing=True))


def _copy_to(labels: np.ndarray, size: tuple[int, int]) -> np.ndarray:
    """Nearest-neighbour copy at another size; regions stay connected when no side shrinks."""
    rows, columns = (
        (2 * np.arange(target) + 1) * source // (2 * target) for source, target in zip(labels.shape, size, strict=True)
    )
    return labels[np.ix_(rows, columns)]
