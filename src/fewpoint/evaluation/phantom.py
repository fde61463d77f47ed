"""A synthetic sequence whose truth is known exactly."""

from dataclasses import dataclass

import numpy as np

from fewpoint.core import ImageSequence, PointSet
from fewpoint.core.given import need_whole
from fewpoint.errors import InputError

TISSUE_GREY, OBJECT_GREY = 0.36, 0.55
# Brighter than the object, as bright, and darker than the tissue: no single threshold separates the object.
DISTRACTOR_GREYS = (0.75, 0.68, 0.55, 0.14)
TISSUE_TINT, OBJECT_TINT = (1.0, 0.7, 0.65), (1.0, 0.85, 0.55)
CLICK_MARGIN = 2.0


@dataclass(frozen=True, eq=False)
class Phantom:
    """A sequence of one moving, deforming object, a point on each frame, and the truth.

    truth: (T, H, W) bool.
    """

    sequence: ImageSequence
    points: PointSet
    truth: np.ndarray

    def __repr__(self) -> str:
        return f"<Phantom: {self.sequence!r}, {self.points!r}>"


def make_phantom(n_frames: int = 24, size: tuple[int, int] = (96, 96), seed: int = 0, *, channels: int = 1) -> Phantom:
    """Paint a textured object that moves, deforms and changes size over tissue with still distractors; uint8.

    n_frames: how many frames. size: their height and width in pixels, 16 or more. seed: another object and course.
    channels: 1 for grey, 3 for colour. The phantom has the sequence, its points and the truth.

    >>> make_phantom(n_frames=2, size=(32, 40)).sequence.shape
    (2, 32, 40, 1)
    """
    n_frames, seed = need_whole(n_frames, "n_frames"), need_whole(seed, "seed")
    if n_frames < 1 or min(size) < 16:
        raise InputError(f"a phantom needs a frame of 16 x 16 pixels or more, got {n_frames} of {size[0]} x {size[1]}")
    if channels not in (1, 3):
        raise InputError(f"a phantom has 1 channel or 3, got {channels}")
    rng = np.random.default_rng(seed)
    truth = _move_object(n_frames, size, rng)
    grey = np.where(truth, _paint_object(truth.shape, rng), _paint_tissue(truth.shape, rng))
    frames = _take_picture(grey, truth, channels, rng)
    return Phantom(ImageSequence.from_array(frames), _click_each_frame(truth, rng), truth)


def make_ring(n_frames: int = 24, size: tuple[int, int] = (64, 128), seed: int = 0) -> Phantom:
    """Paint a ring that moves and breathes in the left half, and pieces just like it in the right half; uint8, grey.

    The pieces lie too far from every click to be the same object, but have nothing else that tells them from it.

    >>> make_ring(n_frames=2, size=(32, 64)).sequence.shape
    (2, 32, 64, 1)
    """
    if n_frames < 1 or min(size[0], size[1] // 2) < 32:
        raise InputError(f"a ring needs a frame of 32 x 64 pixels or more, got {n_frames} of {size[0]} x {size[1]}")
    rng = np.random.default_rng(seed)
    side = min(size[0], size[1] // 2)
    time = np.linspace(0, 2 * np.pi, n_frames)[:, np.newaxis, np.newaxis]
    phase = rng.uniform(0, 2 * np.pi, 3)
    rows, columns = np.indices(size)[:, np.newaxis]
    centre_y = size[0] / 2 + 0.06 * side * np.sin(time + phase[0])
    centre_x = size[1] / 4 + 0.06 * side * np.sin(0.7 * time + phase[1])
    distance = np.hypot(rows - centre_y, columns - centre_x)
    middle = side * (0.29 + 0.03 * np.sin(time + phase[2]))
    truth = np.abs(distance - middle) <= 0.075 * side
    pieces = np.zeros(size, bool)
    for y, x in rng.uniform((0.2, 0.85), (0.8, 0.95), (3, 2)) * size:
        pieces |= np.abs(np.hypot(rows[0] - y, columns[0] - x) - 0.12 * side) <= 0.06 * side
    grey = np.where(truth | pieces, _paint_object(truth.shape, rng), _paint_tissue(truth.shape, rng))
    frames = _take_picture(grey, truth, 1, rng)
    return Phantom(ImageSequence.from_array(frames), _click_each_frame(truth, rng), truth)


OBJECT_GREYS = (0.55, 0.80, 0.16)
QUARTERS = ((0, 0), (1, 1), (0, 1))  # of the frame, in which each object stays


@dataclass(frozen=True, eq=False)
class ObjectsPhantom:
    """A sequence of several moving objects, a point on each of them on every frame, and the truth.

    labels: (T, H, W) uint8, 0 or the number of an object from 1, in the order of the points' object names.
    """

    sequence: ImageSequence
    points: PointSet
    labels: np.ndarray


def make_objects(
    n_frames: int = 24, size: tuple[int, int] = (96, 96), seed: int = 0, *, objects: int = 2
) -> ObjectsPhantom:
    """Paint two or three objects of unlike brightness, each in its own quarter of the frame; uint8, grey.

    >>> make_objects(n_frames=2, size=(48, 40)).points.object_names
    ('object 1', 'object 2')
    """
    if n_frames < 1 or min(size) < 32 or objects not in (2, 3):
        raise InputError(
            f"a phantom needs 2 or 3 objects on frames of 32 x 32 pixels or more, got {objects} on {n_frames} of "
            f"{size[0]} x {size[1]}"
        )
    rng = np.random.default_rng(seed)
    quarter = (size[0] // 2, size[1] // 2)
    labels = np.zeros((n_frames, *size), np.uint8)
    grey = _paint_tissue(labels.shape, rng)
    rows, names = [], []
    for number in range(1, objects + 1):
        top, left = (place * side for place, side in zip(QUARTERS[number - 1], quarter, strict=True))
        truth = np.zeros(labels.shape, bool)
        truth[:, top : top + quarter[0], left : left + quarter[1]] = _move_object(n_frames, quarter, rng)
        labels[truth] = number
        painted = _paint_object(labels.shape, rng) + OBJECT_GREYS[number - 1] - OBJECT_GREY
        grey = np.where(truth, painted, grey)
        rows += _click_each_frame(truth, rng).coordinates.tolist()
        names += [f"object {number}"] * n_frames
    frames = _take_picture(grey, labels > 0, 1, rng)
    points = PointSet.from_rows([tuple(row) for row in rows], objects=names)
    return ObjectsPhantom(ImageSequence.from_array(frames), points, labels)


def _move_object(n_frames: int, size: tuple[int, int], rng: np.random.Generator) -> np.ndarray:
    """(T, H, W) bool: an ellipse with waves in its radius, on a smooth closed course, breathing as it goes."""
    time = np.linspace(0, 1, n_frames)[:, np.newaxis, np.newaxis]
    phase = rng.uniform(0, 2 * np.pi, 6)
    rows, columns = np.indices(size)[:, np.newaxis]
    centre_y = size[0] * (0.5 + 0.16 * np.sin(2 * np.pi * time + phase[0]))
    centre_x = size[1] * (0.5 + 0.20 * np.sin(2 * np.pi * 0.7 * time + phase[1]))
    dy, dx = rows - centre_y, (columns - centre_x) / 1.25
    angle = np.arctan2(dy, dx)
    waves = 0.16 * np.cos(2 * angle + phase[2] + 3 * time) + 0.10 * np.cos(3 * angle + phase[3] - 4 * time)
    waves = waves + 0.05 * np.cos(5 * angle + phase[4])
    radius = min(size) * (0.16 + 0.045 * np.sin(2 * np.pi * time + phase[5]))
    return np.hypot(dy, dx) <= radius * (1 + waves)


def _paint_object(shape: tuple[int, int, int], rng: np.random.Generator) -> np.ndarray:
    """(T, H, W) grey values of the object's coarse grain."""
    return OBJECT_GREY + 0.05 * _smooth_noise(shape, 1.2, rng) + 0.03 * _smooth_noise(shape, 5, rng)


def _paint_tissue(shape: tuple[int, int, int], rng: np.random.Generator) -> np.ndarray:
    """(T, H, W) grey values of tissue at three scales, with distractors that stay where they are."""
    scales = ((0.03, 1.5), (0.04, 4), (0.05, 12))
    grain = (weight * _smooth_noise(shape, scale, rng) for weight, scale in scales)
    tissue = TISSUE_GREY + sum(grain, start=np.zeros(shape))
    rows, columns = np.indices(shape[1:])
    corners = ((0.2, 0.2), (0.8, 0.75), (0.22, 0.8), (0.78, 0.22))
    for grey, corner in zip(DISTRACTOR_GREYS, corners, strict=True):
        y, x = corner + rng.uniform(-0.06, 0.06, 2)
        half_height, half_width = rng.uniform(0.08, 0.14, 2)
        inside = np.hypot((rows / shape[1] - y) / half_height, (columns / shape[2] - x) / half_width) <= 1
        tissue[:, inside] = grey + 0.3 * (tissue[:, inside] - TISSUE_GREY)
    return tissue


def _smooth_noise(shape: tuple[int, int, int], scale: float, rng: np.random.Generator) -> np.ndarray:
    """(T, H, W) noise of mean 0 and deviation 1, smooth over scale pixels and a few frames."""
    from scipy.ndimage import gaussian_filter

    noise = gaussian_filter(rng.standard_normal(shape), (2, scale, scale), mode="wrap")
    return (noise - noise.mean()) / noise.std()


def _take_picture(grey: np.ndarray, truth: np.ndarray, channels: int, rng: np.random.Generator) -> np.ndarray:
    """(T, H, W, C) uint8: tint if in colour, blur a little as a lens does, add noise."""
    from scipy.ndimage import gaussian_filter

    tints = np.where(truth[..., np.newaxis], OBJECT_TINT, TISSUE_TINT) if channels == 3 else 1.0
    picture = gaussian_filter(grey[..., np.newaxis] * tints, (0, 0.6, 0.6, 0))
    picture += 0.03 * rng.standard_normal(picture.shape)
    return np.rint(255 * picture.clip(0, 1)).astype(np.uint8)


def _click_each_frame(truth: np.ndarray, rng: np.random.Generator) -> PointSet:
    """A random pixel of the object on each frame, away from its border if the object is wide enough."""
    from scipy.ndimage import distance_transform_edt

    rows = []
    for frame, mask in enumerate(truth):
        depth = np.asarray(distance_transform_edt(mask))
        y, x = rng.choice(np.argwhere(depth > min(CLICK_MARGIN, depth.max() - 0.5)))
        rows.append((frame, int(y), int(x)))
    return PointSet.from_rows(rows)
