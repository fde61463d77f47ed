"""Points carried along the motion of the sequence to frames without a click, or with a click elsewhere.

The patch round a point is searched for on the next frame. If the best match, followed back, does not return to where
it came from, the point is lost: wrong points cost more than missing ones. On the way to a frame without a click,
which has no other point, a second search uses more of the surroundings and removes the lighting, which moves with the
camera and not with what it falls on.
"""

from functools import lru_cache
from typing import NamedTuple

import numpy as np

from fewpoint.core import ImageSequence, PointSet
from fewpoint.core.paging import let_go
from fewpoint.core.stopping import check_stop
from fewpoint.learning.clicks import mean_places, usual_gap
from fewpoint.superpixels.intensity import window_of

WORKING_SIDE = 192
SMALLEST_PATCH = 6
RETURN = 1.5  # pixels at the working size
EVEN = 1e-10  # least product of two sums of squares that is not rounding alone
NEARER = 1e-3  # correlation that a pixel of motion costs: in flat areas a point stays where it is
LIGHT = 8.0  # pixels at the working size over which lighting changes
FAINT = 0.01  # contrast that may be noise, in frames from 0 to 1
KEPT = 64  # frames in the cache
LOST = [-1, -1]  # as numbers, the place of what is not found


class Patch(NamedTuple):
    """What is searched for: half its side, and how far it may move in one frame, as shares of the longer side.

    likeness: least normalised correlation.
    """

    half: float
    reach: float
    likeness: float

    def on(self, side: int) -> tuple[int, int]:
        """Half its side and its reach in pixels."""
        return max(SMALLEST_PATCH, round(self.half * side)), max(1, round(self.reach * side))


OWN, SURROUNDED = Patch(0.06, 0.12, 0.5), Patch(0.1, 0.2, 0.4)


class Place(NamedTuple):
    """Row and column at the working size."""

    row: int
    column: int


class Search(NamedTuple):
    """What is searched for, and where: the patch round a place of the frame `source`, on the frame `target`.

    surrounded: whether with more of its surroundings, and without the lighting.
    """

    source: int
    target: int
    row: int
    column: int
    surrounded: bool


class Frames:
    """The frames of a sequence at the working size, made on demand.

    grey: (h, w, 1) float32 of a frame by its number. without_light: (h, w, C).
    """

    def __init__(self, sequence: ImageSequence) -> None:
        scale = min(1.0, WORKING_SIDE / max(sequence.size))
        self._sequence, self._window, self._shrinks = sequence, window_of(sequence), scale < 1
        height, width = (max(1, round(side * scale)) for side in sequence.size)
        self.full, self.size = sequence.size, (height, width)
        self.grey = lru_cache(KEPT)(self._make_grey)
        self.without_light = lru_cache(KEPT)(self._take_light_away)

    def __len__(self) -> int:
        return len(self._sequence)

    def find(self, search: Search) -> Place | None:
        """Where it is; None if it is lost."""
        look, patch = (self.without_light, SURROUNDED) if search.surrounded else (self.grey, OWN)
        return _match(look(search.source), look(search.target), Place(search.row, search.column), patch)

    def _make_grey(self, number: int) -> np.ndarray:
        return self._reduce(self._read(number).mean(-1, keepdims=True))

    def _take_light_away(self, number: int) -> np.ndarray:
        """(h, w, C): each channel minus its surroundings, divided by the local contrast."""
        from scipy.ndimage import gaussian_filter

        frame = self._reduce(self._read(number))
        around = (LIGHT, LIGHT, 0)
        rest = frame - gaussian_filter(frame, around)
        return rest / np.sqrt(gaussian_filter(rest**2, around) + FAINT**2)

    def _read(self, number: int) -> np.ndarray:
        """(H, W, C) in [0, 1]; frames that are mapped from a file leave memory again."""
        frames = self._sequence.frames
        frame = self._window.apply(frames[number])
        let_go(frames)
        return frame

    def _reduce(self, frame: np.ndarray) -> np.ndarray:
        from skimage.transform import resize

        return np.asarray(resize(frame, self.size, anti_aliasing=self._shrinks))


class Motion:
    """How places move along a sequence; each is searched for once.

    known: what was found before on the same frames, see `found`; none of that is searched for again.
    """

    def __init__(self, sequence: ImageSequence, known: np.ndarray | None = None) -> None:
        self.frames = Frames(sequence)
        rows = [] if known is None else known.tolist()
        self._found = {Search(*row[:5]): None if row[5:] == LOST else Place(*row[5:]) for row in rows}

    @property
    def found(self) -> np.ndarray:
        """(n, 7) int32: the fields of each search, and the row and column of the place found, -1 if it is lost."""
        rows = [(*search, *(LOST if place is None else place)) for search, place in self._found.items()]
        return np.array(rows, np.int32).reshape(-1, 7)

    def follow(self, source: int, target: int, place: Place, *, doubtful: bool) -> Place | None:
        """Where a place on one frame lies on another; None if it is lost.

        doubtful: whether to search again for what is lost, with more of its surroundings.
        """
        found = self._find(Search(source, target, *place, surrounded=False))
        if found is None and doubtful:
            return self._find(Search(source, target, *place, surrounded=True))
        return found

    def carry(self, points: PointSet, frames: int) -> PointSet:
        """The points, and the places to which they move within this many frames before and after; likewise negatives.

        If clicks are sparse, half the usual gap between clicked frames is added to `frames`. Frames marked absent get
        no point, and no point is carried across them.
        """
        if frames == 0 or len(self.frames) == 1:
            return points
        steps = frames + (usual_gap(points) - 1) // 2
        found, refused = (_follow_all(self, points, rows, steps) for rows in (points.coordinates, points.negatives))
        return PointSet.from_rows(sorted(found), points.absent, negatives=sorted(refused - found))

    def _find(self, search: Search) -> Place | None:
        if search not in self._found:
            check_stop()
            self._found[search] = self.frames.find(search)
        return self._found[search]


def carry_points(sequence: ImageSequence, points: PointSet, frames: int) -> PointSet:
    """The points of a sequence, and the places to which they move, see Motion.carry."""
    return Motion(sequence).carry(points, frames)


def followed_steps(sequence: ImageSequence, points: PointSet) -> np.ndarray:
    """Squared distance in pixels from where a frame's mean point moves on the next frame to the mean point there.

    In both directions, for all adjacent clicked frames, as far as points can be followed.
    """
    numbers, places = mean_places(points)
    pairs = [(first, first + 1) for first in np.flatnonzero(np.diff(numbers) == 1).tolist()]
    if not pairs:
        return np.empty(0)
    motion = Motion(sequence)
    frames = motion.frames

    def step(source: int, target: int) -> float:
        row, column = places[source].astype(int).tolist()
        start = Place(*_scale((row, column), frames.full, frames.size))
        found = motion.follow(int(numbers[source]), int(numbers[target]), start, doubtful=True)
        return np.nan if found is None else ((_scale(found, frames.size, frames.full) - places[target]) ** 2).sum()

    both_ways = [pair for first, second in pairs for pair in ((first, second), (second, first))]
    steps = np.array([step(*pair) for pair in both_ways])
    return steps[np.isfinite(steps)]


def _follow_all(motion: Motion, points: PointSet, rows: np.ndarray, steps: int) -> set[tuple[int, int, int]]:
    """The rows and all places that they move to, in both directions."""
    pointed = frozenset(points.frames.tolist())

    def follow(row: list[int]) -> set[tuple[int, int, int]]:
        frame, y, x = row
        start = (frame, y, x)
        ways = (_follow(motion, start, direction * steps, pointed, points.absent) for direction in (-1, 1))
        return {start}.union(*ways)

    # One after another: most of it runs in the interpreter, so that threads would only wait for each other.
    return set().union(*map(follow, rows.tolist()))


def _follow(
    motion: Motion, start: tuple[int, int, int], steps: int, pointed: frozenset[int], absent: tuple[int, ...]
) -> set[tuple[int, int, int]]:
    """Where one point goes, frame after frame, until it is lost; steps is negative for the past."""
    frame, y, x = start
    frames = motion.frames
    place = Place(*_scale((y, x), frames.full, frames.size))
    direction = 1 if steps > 0 else -1
    found = set()
    for following in range(frame + direction, frame + steps + direction, direction):
        if not 0 <= following < len(frames) or following in absent:
            break
        moved = motion.follow(following - direction, following, place, doubtful=following not in pointed)
        if moved is None:
            break
        place = moved
        found.add((following, *_scale(place, frames.size, frames.full)))
    return found


def _scale(place: tuple[int, int], size: tuple[int, int], other: tuple[int, int]) -> tuple[int, int]:
    """The pixel of a frame of another size that holds the middle of a pixel of this one.

    >>> _scale((3, 0), (10, 10), (5, 20))
    (1, 1)
    """
    row, column = ((2 * at + 1) * large // (2 * small) for at, small, large in zip(place, size, other, strict=True))
    return row, column


def _match(source: np.ndarray, target: np.ndarray, place: Place, patch: Patch) -> Place | None:
    """Where the patch round a place lies on another frame (h, w, C); None if it is not found, or not found back."""
    there = _search(source, target, place, patch)
    if there is None:
        return None
    back = _search(target, source, there, patch)
    if back is None or np.hypot(back.row - place.row, back.column - place.column) > RETURN:
        return None
    return there


def _search(source: np.ndarray, target: np.ndarray, place: Place, patch: Patch) -> Place | None:
    """The best match within reach, by normalised correlation minus a small cost of the distance."""
    half, reach = patch.on(max(source.shape[:2]))
    looked_for, searched = _cut(source, place, half), _cut(target, place, half + reach)
    if np.ptp(looked_for) == 0:
        return None
    steps = np.arange(-reach, reach + 1)
    channels = range(source.shape[-1])
    scores = np.mean([correlate(searched[..., channel], looked_for[..., channel]) for channel in channels], axis=0)
    scores = scores - NEARER * np.hypot(steps[:, np.newaxis], steps)
    row, column = np.unravel_index(np.argmax(scores), scores.shape)
    found = Place(place.row + int(row) - reach, place.column + int(column) - reach)
    inside = 0 <= found.row < source.shape[0] and 0 <= found.column < source.shape[1]
    return found if inside and scores[row, column] >= patch.likeness else None


def correlate(image: np.ndarray, patch: np.ndarray) -> np.ndarray:
    """Normalised correlation of a patch with each window of an image that is as large; 0 if the window is flat.

    skimage.feature.match_template gives the same, but loads seconds' worth of scipy that nothing else needs.
    """
    centred = patch - patch.mean(dtype=np.float64)
    whole = image - image.mean(dtype=np.float64)
    rows, columns = (whole_side - side + 1 for whole_side, side in zip(image.shape, patch.shape, strict=True))
    # Windows that lie within the image do not wrap round its edges, as the transform would.
    around = [_round_up(side) for side in image.shape]
    spectrum = np.fft.rfft2(whole, around) * np.fft.rfft2(centred, around).conj()
    products = np.fft.irfft2(spectrum, around)[:rows, :columns]
    sums, squares = (_sum_windows(each, patch.shape) for each in (whole, whole**2))
    spread = (squares - sums**2 / patch.size) * (centred**2).sum()
    return np.divide(products, np.sqrt(spread.clip(0)), out=np.zeros_like(products), where=spread > EVEN)


def _round_up(side: int) -> int:
    """The next multiple of 12: transforms of lengths with large prime factors are slow.

    >>> _round_up(71), _round_up(72)
    (72, 72)
    """
    return -(-side // 12) * 12


def _sum_windows(image: np.ndarray, size: tuple[int, ...]) -> np.ndarray:
    """The sum over each window of that size of an image."""
    height, width = size
    sums = np.zeros([side + 1 for side in image.shape])
    np.cumsum(image.cumsum(0), 1, out=sums[1:, 1:])
    return sums[height:, width:] - sums[:-height, width:] - sums[height:, :-width] + sums[:-height, :-width]


def _cut(image: np.ndarray, place: Place, half: int) -> np.ndarray:
    """The square of side 2 half + 1 of an image (h, w, C) round a place; beyond the frame, its edge repeated."""
    rows, columns = (
        np.clip(np.arange(centre - half, centre + half + 1), 0, side - 1)
        for centre, side in zip(place, image.shape[:2], strict=True)
    )
    return image[rows[:, np.newaxis], columns]
