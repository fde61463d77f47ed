"""What is measured on each superpixel; every result is in the order of the global region index."""

from collections.abc import Callable, Iterator

import numpy as np

from fewpoint.core import NOTHING_SAID, PointSet, SuperpixelMap, Words
from fewpoint.core.paging import gather_frames, walk
from fewpoint.errors import InputError

PROPER = 2.0**-24, 1 - 2.0**-11  # the probabilities in float16 nearest 0 and 1


def region_areas(superpixels: SuperpixelMap) -> np.ndarray:
    """(total,) int64 number of pixels of each region."""
    return np.concatenate([np.bincount(frame.ravel()) for frame in walk(superpixels.labels)])


def region_means(superpixels: SuperpixelMap, values: np.ndarray) -> np.ndarray:
    """(total,) float64 mean over each region of a (T, H, W) map.

    >>> superpixels = SuperpixelMap(np.array([[[0, 0, 1]]], np.int32))
    >>> region_means(superpixels, np.array([[[1.0, 2.0, 5.0]]])).tolist()
    [1.5, 5.0]
    """
    return _average(superpixels, values, lambda frame: frame)


def region_probabilities(superpixels: SuperpixelMap, probabilities: np.ndarray) -> np.ndarray:
    """(total,) float64 f of each region: the sigmoid of the mean logit of a (T, H, W) map of probabilities.

    Probabilities are kept as far from 0 and 1 as the nearest ones that float16 can hold, to which maps are rounded.

    >>> superpixels = SuperpixelMap(np.array([[[0, 0, 1]]], np.int32))
    >>> region_probabilities(superpixels, np.array([[[0.1, 0.9, 0.2]]])).round(6).tolist()
    [0.5, 0.2]
    """
    from scipy.special import expit, logit  # here, since `fewpoint info` does without scipy

    return expit(_average(superpixels, probabilities, lambda frame: logit(np.clip(frame.astype(np.float64), *PROPER))))


def _average(superpixels: SuperpixelMap, values: np.ndarray, change: Callable[[np.ndarray], np.ndarray]) -> np.ndarray:
    """(total,) float64 mean over each region of a (T, H, W) map whose frames are changed first."""
    if np.shape(values) != superpixels.labels.shape:
        raise InputError(
            f"values must have the superpixels' shape {superpixels.labels.shape} (frames, height, width), "
            f"got {np.shape(values)}"
        )
    pairs = zip(walk(superpixels.labels), walk(values), strict=True)
    sums = [np.bincount(labels.ravel(), change(frame).ravel()) for labels, frame in pairs]
    return np.concatenate(sums) / region_areas(superpixels)


def channel_means(labels: np.ndarray, channels: np.ndarray) -> np.ndarray:
    """(regions, C) mean over each region of one frame's (H, W) labels of its (H, W, C) channels.

    >>> channel_means(np.array([[0, 0, 1]]), np.array([[[1.0, 4.0], [3.0, 4.0], [5.0, 0.0]]])).tolist()
    [[2.0, 4.0], [5.0, 0.0]]
    """
    regions = labels.ravel()
    sums = [np.bincount(regions, channel.ravel()) for channel in np.moveaxis(channels, -1, 0)]
    return np.stack(sums, axis=1) / np.bincount(regions)[:, np.newaxis]


def region_centroids(superpixels: SuperpixelMap) -> np.ndarray:
    """(total, 2) float64 mean y and x of each region, in pixels."""
    height, width = superpixels.labels.shape[1:]
    rows, columns = (axis.ravel() for axis in np.indices((height, width), np.float64))
    sums = [
        np.stack([np.bincount(labels.ravel(), rows), np.bincount(labels.ravel(), columns)], axis=1)
        for labels in walk(superpixels.labels)
    ]
    return np.concatenate(sums) / region_areas(superpixels)[:, np.newaxis]


def frame_of_region(superpixels: SuperpixelMap) -> np.ndarray:
    """(total,) int64 frame that each region lies on."""
    return np.repeat(np.arange(len(superpixels.counts)), superpixels.counts)


def paint_regions(superpixels: SuperpixelMap, values: np.ndarray) -> np.ndarray:
    """(T, H, W) map, of the values' type, that holds each region's value on all of its pixels.

    values: (total,) one value per region.
    """
    return gather_frames(paint_frames(superpixels, values), superpixels.labels.shape, values.dtype)


def paint_frames(superpixels: SuperpixelMap, values: np.ndarray) -> Iterator[np.ndarray]:
    """The same, one (H, W) frame after another."""
    if np.shape(values) != (superpixels.total,):
        raise InputError(f"one value per region is needed: {superpixels.total} regions, got shape {np.shape(values)}")
    for frame, labels in enumerate(walk(superpixels.labels)):
        yield values[superpixels.on_frame(frame)][labels]


def paint_frame(superpixels: SuperpixelMap, values: np.ndarray, frame: int) -> np.ndarray:
    """The same of a single frame."""
    return values[superpixels.on_frame(frame)][superpixels.labels[frame]]


def regions_at_points(superpixels: SuperpixelMap, points: PointSet) -> np.ndarray:
    """(P,) int64 global index of the region under each point."""
    points.check_inside(len(superpixels.labels), superpixels.labels.shape[1:])
    return _regions_at(superpixels, points.coordinates)


def regions_at_negatives(superpixels: SuperpixelMap, points: PointSet) -> np.ndarray:
    """int64 global indices, each once, of the regions under negatives that hold no point: there, the point wins."""
    clicked = regions_at_points(superpixels, points)
    return np.setdiff1d(_regions_at(superpixels, points.negatives), clicked)


def labelled_regions(
    superpixels: SuperpixelMap, points: PointSet, carried: PointSet, words: Words = NOTHING_SAID
) -> tuple[np.ndarray, np.ndarray]:
    """Global indices, each once, of the regions that are the object and of those that are not.

    carried: the points together with those that motion carried them to. In a region that holds several, a person's own
    point counts more than a carried one, and of two alike the positive. Outlined frames and boxes count most.
    """
    own_negative = regions_at_negatives(superpixels, points)
    positive = np.setdiff1d(regions_at_points(superpixels, carried), own_negative)
    moved = np.setdiff1d(_regions_at(superpixels, carried.negatives), positive)
    negative = np.union1d(own_negative, moved)
    if words.empty:
        return positive, negative
    inside, outside = outlined_regions(superpixels, words)
    return np.union1d(np.setdiff1d(positive, outside), inside), np.union1d(np.setdiff1d(negative, inside), outside)


def outlined_regions(superpixels: SuperpixelMap, words: Words) -> tuple[np.ndarray, np.ndarray]:
    """Global indices of the regions that outlined frames say are the object, and that they or boxes say are not.

    A region is on the side on which more than half of it lies; half of it counts as not the object.
    """
    inside, outside = [np.empty(0, np.int64)], [np.empty(0, np.int64)]
    for frame in sorted({*words.outlined, *(box.frame for box in words.boxes)}):
        allowed = _allowed_pixels(superpixels, words, frame)
        shares = _shares(superpixels.labels[frame], allowed)
        if frame in words.outlined:
            inside.append(superpixels.offsets[frame] + np.flatnonzero(shares > 0.5))
        outside.append(superpixels.offsets[frame] + np.flatnonzero(shares <= 0.5))
    return np.concatenate(inside), np.concatenate(outside)


def _allowed_pixels(superpixels: SuperpixelMap, words: Words, frame: int) -> np.ndarray:
    """(H, W) bool, where the object is on an outlined frame, or may be on one with a box."""
    size = superpixels.labels.shape[1:]
    if frame in words.outlined:
        return words.mask(frame, size)
    box, allowed = words.box_on(frame), np.zeros(size, bool)
    if box is not None:
        allowed[box.top : box.bottom, box.left : box.right] = True
    return allowed


def _shares(labels: np.ndarray, mask: np.ndarray) -> np.ndarray:
    """(regions,) share of each region of a frame that lies in a mask (H, W)."""
    return np.bincount(labels.ravel(), mask.ravel()) / np.bincount(labels.ravel())


def _regions_at(superpixels: SuperpixelMap, coordinates: np.ndarray) -> np.ndarray:
    frames, rows, columns = coordinates.T
    return superpixels.labels[frames, rows, columns] + superpixels.offsets[frames]


def share_of_points(superpixels: SuperpixelMap, points: PointSet) -> float:
    """Largest share of a frame that the regions clicked on it cover: a bound on the object below it is too small.

    >>> superpixels = SuperpixelMap(np.array([[[0, 0, 1, 2]]], np.int32))
    >>> share_of_points(superpixels, PointSet.from_rows([(0, 0, 0), (0, 0, 1), (0, 0, 3)]))
    0.75
    """
    clicked = np.unique(regions_at_points(superpixels, points))
    covered = np.bincount(frame_of_region(superpixels)[clicked], region_areas(superpixels)[clicked])
    return float(covered.max() / superpixels.labels[0].size)


def part_regions(superpixels: SuperpixelMap, points: tuple[PointSet, ...]) -> SuperpixelMap:
    """Superpixels of which none holds points of two objects: each pixel of one that does goes with the nearest point.

    points: those of each object.

    >>> superpixels = SuperpixelMap(np.array([[[0, 0, 0, 1]]], np.int32))
    >>> part_regions(superpixels, (PointSet.from_rows([(0, 0, 0)]), PointSet.from_rows([(0, 0, 2)]))).labels.tolist()
    [[[0, 0, 2, 1]]]
    """
    if len(points) == 1:
        return superpixels
    labels = gather_frames(walk(superpixels.labels), superpixels.labels.shape, np.int32)
    places = np.concatenate([each.coordinates for each in points])
    owners = np.repeat(np.arange(len(points)), [len(each) for each in points])
    regions = np.concatenate([regions_at_points(superpixels, each) for each in points])
    for region in np.unique(regions):
        inside = regions == region
        if len(np.unique(owners[inside])) == 1:
            continue
        frame = places[inside][0, 0]
        rows, columns = np.nonzero(superpixels.global_labels(frame) == region)
        distances = np.hypot(rows - places[inside, 1:2], columns - places[inside, 2:])
        nearest = owners[inside][distances.argmin(axis=0)]
        for owner in np.unique(nearest)[1:]:
            labels[frame, rows[nearest == owner], columns[nearest == owner]] = labels[frame].max() + 1
    return SuperpixelMap(labels)
