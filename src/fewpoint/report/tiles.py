"""One frame as a picture: grey levels or probabilities, the object's contour, the clicks."""

from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from PIL import Image, ImageDraw

from fewpoint.core import ImageSequence, PointSet, Result
from fewpoint.core.paging import walk
from fewpoint.errors import InputError
from fewpoint.superpixels.intensity import IntensityWindow, window_of

Colour = tuple[int, int, int]

CONTOUR_COLOUR = (0, 210, 255)
REFERENCE_COLOUR = (255, 140, 0)  # colour-blind readers can distinguish it from the contour's
RING_COLOUR = (240, 228, 66)
OUTLINE_COLOUR = (0, 0, 0)
MARGIN = 0.5  # of the longest side of what is shown, round it
SMALLEST_MARGIN = 32  # pixels
MOSTLY = 0.85  # of a frame's shorter side, from which whole frames are shown
BOLD_FROM = 200  # pixels of the longer side from which contours are two pixels wide


@dataclass(frozen=True, eq=False)
class Scene:
    """A sequence with its clicks and result, and the pixel values shown as black and as white.

    part: rows and columns that are shown of every frame: those that hold all masks and clicks, and some of what
    surrounds them. reference: (T, H, W) bool, other masks whose contours are drawn next to those of the result.
    """

    sequence: ImageSequence
    points: PointSet
    segmentation: Result
    window: IntensityWindow
    part: tuple[slice, slice]
    reference: np.ndarray | None = None

    @property
    def corner(self) -> np.ndarray:
        """First row and column of the part."""
        return np.array([self.part[0].start, self.part[1].start])

    @property
    def square_size(self) -> tuple[int, int]:
        """Height and width of the part with square pixels."""
        sides = zip(self.part, self.sequence.size, self.sequence.square_size, strict=True)
        height, width = (max(1, round((part.stop - part.start) * square / side)) for part, side, square in sides)
        return height, width

    def clicks_on(self, frame: int) -> np.ndarray:
        """(P, 2) y, x of the clicks on a frame, in pixels of the part."""
        return self.points.coordinates[self.points.frames == frame, 1:] - self.corner

    def picture(self, frame: int) -> np.ndarray:
        """(h, w, 3) uint8, the part of a frame."""
        return render_frame(self.sequence.frames[frame][self.part], self.window)


def set_scene(
    sequence: ImageSequence, points: PointSet, segmentation: Result, reference: np.ndarray | None = None
) -> Scene:
    """Check that all belong together and measure the grey window."""
    masks = segmentation.masks
    if sequence.shape[:3] != masks.shape:
        raise InputError(f"sequence and masks must have one (T, H, W), got {sequence.shape[:3]} and {masks.shape}")
    if reference is not None and reference.shape != masks.shape:
        raise InputError(f"masks and reference must have one (T, H, W), got {masks.shape} and {reference.shape}")
    points.check_inside(len(sequence), sequence.size)
    part = find_part(masks, points.coordinates[:, 1:])
    return Scene(sequence, points, segmentation, window_of(sequence), part, reference)


def find_part(masks: np.ndarray, clicks: np.ndarray) -> tuple[slice, slice]:
    """The rows and columns that hold all (T, H, W) masks and (N, 2) clicks, with a margin; all if that is most of them.

    >>> masks = np.zeros((1, 400, 400), bool)
    >>> masks[0, 100:140, 200:220] = True
    >>> find_part(masks, np.array([[120, 210]]))
    (slice(68, 172, None), slice(158, 262, None))
    """
    held = np.zeros((masks.shape[1], masks.shape[2]), bool)
    for mask in walk(masks):
        held |= mask
    held[tuple(clicks.T)] = True
    size = held.shape
    ends = [np.flatnonzero(held.any(axis))[[0, -1]] for axis in (1, 0)]
    longest = max(int(last - first) + 1 for first, last in ends)
    side = longest + 2 * max(SMALLEST_MARGIN, round(MARGIN * longest))
    if side > MOSTLY * min(size):
        return slice(0, size[0]), slice(0, size[1])
    rows, columns = (
        _centre(int(first + last + 1) // 2, side, length) for (first, last), length in zip(ends, size, strict=True)
    )
    return rows, columns


def _centre(middle: int, side: int, length: int) -> slice:
    """A stretch of that side about the middle, moved into the length."""
    start = min(max(0, middle - side // 2), max(0, length - side))
    return slice(start, min(length, start + side))


def draw_frame(scene: Scene, frame: int, size: tuple[int, int]) -> np.ndarray:
    """The part of one frame at a height and width, with its mask's contour and rings at clicks: (*size, 3) uint8."""
    reference = None if scene.reference is None else scene.reference[frame][scene.part]
    mask = scene.segmentation.masks[frame][scene.part]
    return draw_tile(scene.picture(frame), size, region=mask, clicks=scene.clicks_on(frame), reference=reference)


def draw_probability(scene: Scene, frame: int, size: tuple[int, int]) -> np.ndarray:
    """The probability on the part of one frame at a height and width, with its contour at 0.5: (*size, 3) uint8."""
    probability = scene.segmentation.probabilities.values[frame][scene.part]
    return draw_tile(render_probability(probability), size, region=probability, clicks=np.zeros((0, 2)))


def render_frame(frame: np.ndarray, window: IntensityWindow) -> np.ndarray:
    """(H, W, C) pixels of any type as (H, W, 3) uint8; three channels are colour, of others the first is shown.

    window: the values shown as black and as white.

    >>> window = IntensityWindow(np.array([10.0]), np.array([30.0]))
    >>> render_frame(np.array([[[10], [20], [30]]], np.uint16), window)[0, :, 0]
    array([  0, 128, 255], dtype=uint8)
    """
    shares = window.apply(frame)
    colours = shares if shares.shape[-1] == 3 else np.repeat(shares[..., :1], 3, axis=-1)
    return np.round(colours * 255).astype(np.uint8)


def render_probability(probability: np.ndarray) -> np.ndarray:
    """(H, W) probabilities as (H, W, 3) uint8 in the perceptually even map magma: 0 is black, 1 pale yellow."""
    levels = np.round(probability.astype(np.float32) * 255).astype(np.uint8)
    return _magma().take(levels, axis=0)


@lru_cache
def _magma() -> np.ndarray:
    from matplotlib import colormaps

    return np.round(colormaps["magma"](np.arange(256))[:, :3] * 255).astype(np.uint8)


def draw_tile(
    picture: np.ndarray,
    size: tuple[int, int],
    *,
    region: np.ndarray,
    clicks: np.ndarray,
    reference: np.ndarray | None = None,
) -> np.ndarray:
    """A (H, W, 3) picture at a new height and width, with a region's contour and a ring at each click.

    region: (H, W) mask or probabilities; the contour runs where it crosses 0.5.
    clicks: (P, 2) y, x in pixels of the picture.
    reference: (H, W) mask whose contour is drawn below the region's.
    """
    below = [] if reference is None else [(reference, REFERENCE_COLOUR)]
    return draw_outlines(picture, size, [*below, (region, CONTOUR_COLOUR)], clicks)


def draw_outlines(
    picture: np.ndarray,
    size: tuple[int, int],
    outlines: list[tuple[np.ndarray, Colour]],
    clicks: np.ndarray = np.zeros((0, 2)),
) -> np.ndarray:
    """The same with the contours of any number of (H, W) regions, each in its colour, later ones above."""
    scale = np.array(size) / picture.shape[:2]
    resample = Image.Resampling.BICUBIC if scale.max() > 1 else Image.Resampling.BOX
    image = Image.fromarray(picture).resize((size[1], size[0]), resample)
    canvas = ImageDraw.Draw(image)
    for mask, colour in outlines:
        for line in trace_contours(mask):
            _draw_contour(canvas, to_tile(line, scale), size, colour)
    for click in clicks:
        draw_ring(canvas, to_tile(click, scale), ring_radius(size))
    return np.asarray(image)


def trace_contours(region: np.ndarray) -> list[np.ndarray]:
    """The closed lines (n, 2) y, x on which a (H, W) region crosses 0.5, or leaves the frame."""
    from skimage.measure import find_contours

    inside = region >= 0.5
    rows, columns = (np.flatnonzero(inside.any(axis=axis)) for axis in (1, 0))
    if not len(rows):
        return []
    # One place further on each side, outside the frame too, for lines run between places.
    first = np.array([rows[0], columns[0]])
    part = np.pad(region, 1)[first[0] : rows[-1] + 3, first[1] : columns[-1] + 3].astype(np.float32)
    last = np.array(region.shape) - 1
    return [np.clip(line + first - 1, 0, last) for line in find_contours(part, 0.5)]


def to_tile(positions: np.ndarray, scale: np.ndarray) -> np.ndarray:
    """Positions y, x of a picture in its scaled copy; pixel centres are whole numbers in both.

    >>> to_tile(np.array([0, 1]), np.array([3, 3])).tolist()
    [1.0, 4.0]
    """
    return (np.asarray(positions) + 0.5) * scale - 0.5


def ring_radius(size: tuple[int, int]) -> int:
    """Radius in pixels of the ring round a click on a tile of that height and width."""
    return max(4, round(min(size) / 32))


def draw_ring(canvas: ImageDraw.ImageDraw, centre: np.ndarray, radius: int) -> None:
    """A bright ring of three pixels between two dark ones, so that it shows on any background."""
    y, x = np.round(centre)
    for grown, width, colour in ((2, 5, OUTLINE_COLOUR), (1, 3, RING_COLOUR)):
        reach = radius + grown
        canvas.ellipse((x - reach, y - reach, x + reach, y + reach), outline=colour, width=width)


def _draw_contour(
    canvas: ImageDraw.ImageDraw, line: np.ndarray, size: tuple[int, int], colour: tuple[int, int, int]
) -> None:
    """A line of one pixel, on large tiles of two: as shifted copies, for Pillow thins wide lines of short pieces."""
    shifts = ((0, 0), (0, 1), (1, 0), (1, 1)) if max(size) >= BOLD_FROM else ((0, 0),)
    for shift in shifts:
        canvas.line((np.round(line) + shift)[:, ::-1].ravel().tolist(), fill=colour)
