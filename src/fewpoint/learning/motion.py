"""Points carried along the motion of the sequence to frames that nobody clicked on, or clicked on elsewhere.

The patch round a point is looked for on the next frame. Where the best match, followed back, does not return to where
it came from, the point is not carried any further: wrong points cost more than missing ones.
"""

from typing import NamedTuple

import numpy as np

from fewpoint.core import ImageSequence, PointSet
from fewpoint.core.paging import walk
from fewpoint.core.threads import work_ahead
from fewpoint.learning.clicks import usual_gap
from fewpoint.superpixels.intensity import window_of

WORKING_SIDE = 192
PATCH = 0.06  # half a patch's side, and how far a point may move in one frame, as shares of the longer side
REACH = 0.12
SMALLEST_PATCH = 6
RETURN = 1.5  # pixels at the working size
LIKENESS = 0.5  # least normalised correlation
EVEN = 1e-10  # least product of two sums of squares that is not rounding alone
NEARER = 1e-3  # correlation that a pixel of motion costs: in even areas a point stays where it is


class Place(NamedTuple):
    """Row and column at the working size."""

    row: int
    column: int


def carry_points(sequence: ImageSequence, points: PointSet, frames: int) -> PointSet:
    """The points, and the places to which they move within so many frames before and after theirs; so the negatives.

    Where clicks are sparse, half the usual gap between clicked frames is added to `frames`. Frames marked absent get
    no point and let none through.
    """
    if frames == 0 or len(sequence) == 1:
        return points
    grey = _reduce(sequence)
    steps = frames + (usual_gap(points) - 1) // 2
    found, refused = (
        _follow_all(grey, points, sequence.size, rows, steps) for rows in (points.coordinates, points.negatives)
    )
    return PointSet.from_rows(sorted(found), points.absent, negatives=sorted(refused - found))


def _follow_all(
    grey: np.ndarray, points: PointSet, size: tuple[int, int], rows: np.ndarray, steps: int
) -> set[tuple[int, int, int]]:
    """The rows and all places to which they go, both ways."""

    def follow(row: list[int]) -> set[tuple[int, int, int]]:
        ways = (_follow(grey, points, size, tuple(row), direction * steps) for direction in (-1, 1))
        return {tuple(row)}.union(*ways)

    return set().union(*work_ahead(follow, rows.tolist()))


def _follow(
    grey: np.ndarray, points: PointSet, size: tuple[int, int], start: tuple[int, int, int], steps: int
) -> set[tuple[int, int, int]]:
    """Where one point goes, frame after frame, until it is lost; steps is negative for the past."""
    frame, y, x = start
    small = grey.shape[1:]
    place = Place(*_scale((y, x), size, small))
    direction = 1 if steps > 0 else -1
    found = set()
    for following in range(frame + direction, frame + steps + direction, direction):
        if not 0 <= following < len(grey) or following in points.absent:
            break
        moved = _match(grey, following - direction, following, place)
        if moved is None:
            break
        place = moved
        found.add((following, *_scale(place, small, size)))
    return found


def _scale(place: tuple[int, int], size: tuple[int, int], other: tuple[int, int]) -> tuple[int, int]:
    """The pixel of a frame of another size that holds the middle of a pixel of this one.

    >>> _scale((3, 0), (10, 10), (5, 20))
    (1, 1)
    """
    row, column = ((2 * at + 1) * large // (2 * small) for at, small, large in zip(place, size, other, strict=True))
    return row, column


def _match(grey: np.ndarray, source: int, target: int, place: Place) -> Place | None:
    """Where the patch round a place lies on another frame; None where it is not found, or not found back."""
    there = _search(grey[source], grey[target], place)
    if there is None:
        return None
    back = _search(grey[target], grey[source], there)
    if back is None or np.hypot(back.row - place.row, back.column - place.column) > RETURN:
        return None
    return there


def _search(source: np.ndarray, target: np.ndarray, place: Place) -> Place | None:
    """The best match within REACH, by normalised correlation less a small price for the way."""
    side = max(source.shape)
    half, reach = max(SMALLEST_PATCH, round(PATCH * side)), max(1, round(REACH * side))
    patch = _cut(source, place, half)
    if np.ptp(patch) == 0:
        return None
    steps = np.arange(-reach, reach + 1)
    scores = correlate(_cut(target, place, half + reach), patch)
    scores = scores - NEARER * np.hypot(steps[:, np.newaxis], steps)
    row, column = np.unravel_index(np.argmax(scores), scores.shape)
    found = Place(place.row + int(row) - reach, place.column + int(column) - reach)
    inside = 0 <= found.row < source.shape[0] and 0 <= found.column < source.shape[1]
    return found if inside and scores[row, column] >= LIKENESS else None


def correlate(image: np.ndarray, patch: np.ndarray) -> np.ndarray:
    """Normalised correlation of a patch with each part of an image that is as large; 0 where the part is even.

    skimage.feature.match_template gives the same, but loads seconds' worth of scipy that nothing else needs.
    """
    centred = patch - patch.mean(dtype=np.float64)
    whole = image - image.mean(dtype=np.float64)
    rows, columns = (whole_side - side + 1 for whole_side, side in zip(image.shape, patch.shape, strict=True))
    # Parts that lie within the image do not reach round its edges, where the transform joins them.
    around = [_round_up(side) for side in image.shape]
    spectrum = np.fft.rfft2(whole, around) * np.fft.rfft2(centred, around).conj()
    products = np.fft.irfft2(spectrum, around)[:rows, :columns]
    sums, squares = (_sum_parts(each, patch.shape) for each in (whole, whole**2))
    spread = (squares - sums**2 / patch.size) * (centred**2).sum()
    return np.divide(products, np.sqrt(spread.clip(0)), out=np.zeros_like(products), where=spread > EVEN)


def _round_up(side: int) -> int:
    """The next multiple of 12: transforms of lengths with large prime factors are slow.

    >>> _round_up(71), _round_up(72)
    (72, 72)
    """
    return -(-side // 12) * 12


def _sum_parts(image: np.ndarray, size: tuple[int, ...]) -> np.ndarray:
    """The sum over each part of an image of that size."""
    sums = np.pad(image, ((1, 0), (1, 0))).cumsum(0).cumsum(1)
    height, width = size
    return sums[height:, width:] - sums[:-height, width:] - sums[height:, :-width] + sums[:-height, :-width]


def _cut(image: np.ndarray, place: Place, half: int) -> np.ndarray:
    """The square of side 2 half + 1 round a place; beyond the frame, its edge repeated."""
    rows, columns = (
        np.clip(np.arange(centre - half, centre + half + 1), 0, side - 1)
        for centre, side in zip(place, image.shape, strict=True)
    )
    return image[rows[:, np.newaxis], columns]


def _reduce(sequence: ImageSequence) -> np.ndarray:
    """(T, h, w) float32 grey frames, the longer side at most WORKING_SIDE."""
    from skimage.transform import resize

    window = window_of(sequence)
    scale = min(1.0, WORKING_SIDE / max(sequence.size))
    size = tuple(max(1, round(side * scale)) for side in sequence.size)

    def reduce(frame: np.ndarray) -> np.ndarray:
        return resize(window.apply(frame).mean(axis=-1), size, anti_aliasing=scale < 1)

    return np.stack(list(work_ahead(reduce, walk(sequence.frames))))
