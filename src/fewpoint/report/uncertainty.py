"""Which frames a person should look at first, judged without the truth."""

from dataclasses import dataclass

import numpy as np

from fewpoint.core import PointSet, Result
from fewpoint.core.paging import walk
from fewpoint.report.looking import Looks

OPEN = (0.1, 0.9)  # probabilities between which a pixel is undecided
LIKELY = 0.4  # from this probability on, a pixel outside of the mask may be one that was missed
ABOUT = 9  # frames, of which the median area is what a mask is compared with
MISSED = 0.1  # of what a mask is smaller than that counts as doubted
POWERS = (3.0, 1.0, 1.0, -1.0)  # of D, F, L and A
SUGGESTED = 1 / 6  # of the frames are worth a look first
MUCH = 1.5  # times the sequence's usual, from which a cause is named


@dataclass(frozen=True)
class FrameWorth:
    """What a look at one frame is worth.

    worth: in [0, 1], relative to the frame where it is worth most. mask_share, prior: shares of the frame that are
    masked and expected; prior may be NaN. causes: what makes it worth a look, in words.
    """

    frame: int
    name: str
    worth: float
    mask_share: float
    prior: float
    causes: tuple[str, ...] = ()


@dataclass(frozen=True, eq=False)
class Signs:
    """What says of each of (T,) frames how many of its pixels may be wrong, in pixels.

    doubted: sum of min(p, 1 - p) over the pixels of a probability p above LIKELY. missing: by how much a mask, if there
    is one, is smaller than the median of the ABOUT frames about it. faint, unlike: see look_again. area: of the mask.
    """

    doubted: np.ndarray
    missing: np.ndarray
    faint: np.ndarray
    unlike: np.ndarray
    area: np.ndarray

    def weigh(self, missed: float = MISSED, powers: tuple[float, float, float, float] = POWERS) -> np.ndarray:
        """(T,) worth of a look at each frame, see rank_frames."""
        counts = (self.doubted + missed * self.missing, self.faint, self.unlike, self.area)
        logs = sum(power * np.log1p(count) for power, count in zip(powers, counts, strict=True))
        return np.where(self.doubted + self.missing + self.faint + self.unlike > 0, np.exp(logs / sum(powers)), 0.0)


def rank_frames(result: Result, looks: Looks, points: PointSet) -> tuple[FrameWorth, ...]:
    """Order the frames of one object by how many pixels of them may be wrong, most first, without the truth.

    Three counts of pixels say so: D, those that probabilities doubt, and a tenth of those that the mask is smaller by
    than about it in time; F, those of the outline that follow no edge; L, those that look as if they were on its other
    side (looks, see look_again). With A the area of the mask, a look is worth

        W = ((1 + D)^3 (1 + F)(1 + L) / (1 + A))^(1/4)

    divided by its largest, and nothing if D, F and L are 0: doubt counts most, also as a share of the mask. A frame
    without a mask between the first and the last click, unless it is marked absent, counts as a mask of the usual size
    that is doubted all over. Constants were chosen on the development sequences; `benchmarks/health.py` counts how well
    W ranks frames by their wrong pixels, and how well it would if they were chosen on other types.
    """
    lost = find_lost(result, points)
    worth = find_signs(result, looks, lost).weigh()
    worth /= max(float(worth.max()), 1e-9)
    causes = _name_causes(result.areas, count_undecided(result), looks, lost)
    priors, shares = result.priors.mean, result.shares
    order = sorted(range(len(worth)), key=lambda frame: (-worth[frame], frame))
    return tuple(
        FrameWorth(
            frame, result.names[frame], float(worth[frame]), float(shares[frame]), float(priors[frame]), causes[frame]
        )
        for frame in order
    )


def count_suggested(n_frames: int) -> int:
    """How many frames a person is asked to look at.

    >>> count_suggested(3), count_suggested(60)
    (1, 10)
    """
    return max(1, round(SUGGESTED * n_frames))


def find_lost(result: Result, points: PointSet) -> np.ndarray:
    """(T,) bool frames without a mask between clicked ones, unless they are marked absent."""
    frames = np.arange(len(result.masks))
    between = (frames >= points.frames.min()) & (frames <= points.frames.max()) if len(points) else frames < 0
    return (result.areas == 0) & between & ~np.isin(frames, points.absent)


def find_signs(result: Result, looks: Looks, lost: np.ndarray) -> Signs:
    """What rank_frames weighs; (T,) bool lost: frames that count as if they had a mask of the usual size."""
    areas = result.areas.astype(np.float64)
    usual, outline = (float(values[areas > 0].mean()) if areas.any() else 0.0 for values in (areas, looks.outline))
    whole = {"doubted": usual, "missing": 0.0, "faint": outline, "unlike": usual, "area": usual}
    found = {
        "doubted": _count_doubted(result),
        "missing": np.maximum(0.0, _median_about(areas, ABOUT) - areas) * (areas > 0),
        "faint": looks.faint,
        "unlike": looks.unlike,
        "area": areas,
    }
    return Signs(**{name: np.where(lost, whole[name], values) for name, values in found.items()})


def _count_doubted(result: Result) -> np.ndarray:
    sums = []
    for frame in walk(result.probabilities.values):
        likely = frame[frame > LIKELY].astype(np.float64)
        sums.append(float(np.minimum(likely, 1 - likely).sum()))
    return np.array(sums)


def _median_about(values: np.ndarray, count: int) -> np.ndarray:
    """(T,) medians of the `count` values about each, an odd number; the first and the last go on beyond the ends.

    >>> _median_about(np.array([9.0, 9.0, 3.0, 9.0, 8.0]), 3).tolist()
    [9.0, 9.0, 9.0, 8.0, 8.0]
    """
    padded = np.pad(values, count // 2, mode="edge")
    return np.median([padded[start : start + len(values)] for start in range(count)], axis=0)


def count_undecided(result: Result) -> np.ndarray:
    """(T,) pixels of each frame that the probabilities leave open."""
    low, high = OPEN
    counts = [np.count_nonzero((frame > low) & (frame < high)) for frame in walk(result.probabilities.values)]
    return np.array(counts, np.float64)


def _name_causes(areas: np.ndarray, undecided: np.ndarray, looks: Looks, lost: np.ndarray) -> list[tuple[str, ...]]:
    """What each frame has much more of than others, relative to its size; and a size unlike its neighbours'."""
    size = np.maximum(areas, 0.1 * areas.mean()) + 1
    told = {
        "many undecided pixels": undecided / size,
        "an outline that follows no edge": looks.faint / np.maximum(looks.outline, 1),
        "looks unlike the mask of other frames": looks.unlike / size,
    }
    causes = [[] for _ in areas]
    for words, values in told.items():
        usual = np.median(values[areas > 0]) if areas.any() else 0.0
        for frame in np.flatnonzero(values > MUCH * usual + 1e-9):
            causes[frame].append(words)
    for frame in np.flatnonzero(lost):
        causes[frame] = ["no mask between clicked frames"]
    for frame in np.setdiff1d(_find_odd_sizes(areas), np.flatnonzero(lost)):
        causes[frame].append("a size unlike its neighbours'")
    return [tuple(each) for each in causes]


def _find_odd_sizes(areas: np.ndarray) -> np.ndarray:
    """Frames whose area differs from the median of the five about them by more than a third.

    >>> _find_odd_sizes(np.array([9, 9, 3, 9, 9])).tolist()
    [2]
    """
    usual = _median_about(areas.astype(np.float64), 5)
    return np.flatnonzero(np.abs(areas - usual) > np.maximum(areas, usual) / 3)
