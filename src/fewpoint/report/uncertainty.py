"""Which frames a person should look at first, judged without the truth."""

from dataclasses import dataclass

import numpy as np

from fewpoint.core import Result
from fewpoint.core.paging import walk
from fewpoint.report.looking import Looks

OPEN = (0.1, 0.9)  # probabilities between which a pixel is undecided
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


def rank_frames(result: Result, looks: Looks) -> tuple[FrameWorth, ...]:
    """Order the frames of one object by how many pixels of them may be wrong, most first, without the truth.

    Three counts of pixels say so: U, those that the probabilities leave open, 0.1 < p < 0.9; F, those of the outline
    that follow no edge; L, those that look as if they were on its other side (looks, see look_again). A look is worth

        W = ((1 + U)(1 + F)(1 + L))^(1/3) - 1

    divided by its largest: what all three tell counts most, and no constant was fitted. `benchmarks/health.py` counts
    how well W ranks frames by their wrong pixels.
    """
    undecided = count_undecided(result)
    worth = np.cbrt((1 + undecided) * (1 + looks.faint) * (1 + looks.unlike)) - 1
    worth /= max(float(worth.max()), 1e-9)
    causes = _name_causes(result.areas, undecided, looks)
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


def count_undecided(result: Result) -> np.ndarray:
    """(T,) pixels of each frame that the probabilities leave open."""
    low, high = OPEN
    counts = [np.count_nonzero((frame > low) & (frame < high)) for frame in walk(result.probabilities.values)]
    return np.array(counts, np.float64)


def _name_causes(areas: np.ndarray, undecided: np.ndarray, looks: Looks) -> list[tuple[str, ...]]:
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
    for frame in _find_odd_sizes(areas):
        causes[frame].append("a size unlike its neighbours'")
    return [tuple(each) for each in causes]


def _find_odd_sizes(areas: np.ndarray) -> np.ndarray:
    """Frames whose area differs from the median of the five about them by more than a third.

    >>> _find_odd_sizes(np.array([9, 9, 3, 9, 9])).tolist()
    [2]
    """
    padded = np.pad(areas.astype(np.float64), 2, mode="edge")
    usual = np.median([padded[start : start + len(areas)] for start in range(5)], axis=0)
    return np.flatnonzero(np.abs(areas - usual) > np.maximum(areas, usual) / 3)
