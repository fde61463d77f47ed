"""How large the object is, told by clicks that a network has not learnt from.

A network that learns from some clicks is asked about the others. If it finds the share q of them at some threshold,
and marks the share m of all pixels there, the object covers about m / q, whatever bound was given; where it also marks
background, less. The least of these over all thresholds is the estimate (the best bin of Garg et al. 2021).
"""

from dataclasses import dataclass, replace

import numpy as np

from fewpoint.learning.samples import SampleSet

GROUPS = 3
BLOCKS = 12  # frames are left out in stretches of a twelfth of the sequence: neighbours of a click are no test
SHORTEST_BLOCK = 3
FEWEST_CLICKED = 20
LEAST_FOUND = 0.5
THRESHOLDS = np.linspace(-4.0, 5.0, 91)
# People click well inside an object, where networks are surest: unseen clicks are found more often than the rest.
# Chosen on the twenty development sequences.
CENTRED = 1.4


def left_out(samples: SampleSet, number: int) -> np.ndarray:
    """(T,) bool frames whose clicks network `number` does not learn from; none where clicks are too few for that."""
    n_frames = samples.n_frames
    block = np.arange(n_frames) // max(SHORTEST_BLOCK, n_frames // BLOCKS)
    chosen = block % GROUPS == number % GROUPS
    clicked = samples.clicked.any(1).cpu().numpy()
    enough = clicked.sum() >= FEWEST_CLICKED and (clicked & chosen).any() and (samples.has_point & ~chosen).any()
    return chosen if enough else np.zeros(n_frames, bool)


def leave_out(samples: SampleSet, frames: np.ndarray) -> SampleSet:
    """The samples with all that was positive on these frames unlabelled."""
    if not frames.any():
        return samples
    positive = samples.positive.clone()
    positive[np.flatnonzero(frames)] = 0
    unlabelled = ((samples.areas > 0) & (positive == 0)).float()
    if samples.negative is not None:
        unlabelled = unlabelled * (samples.negative == 0)
    return replace(samples, positive=positive, unlabelled=unlabelled, has_point=samples.has_point & ~frames)


@dataclass(frozen=True, eq=False)
class UnseenClicks:
    """What one network, or several together, say of clicks that they have not learnt from, at each of THRESHOLDS.

    found: (N,) number of these clicks at or above. marked: (N,) area of their frames at or above, in frames.
    clicks, frames: how many of each there are.
    """

    found: np.ndarray
    marked: np.ndarray
    clicks: int
    frames: int

    def __add__(self, other: "UnseenClicks") -> "UnseenClicks":
        return UnseenClicks(
            self.found + other.found, self.marked + other.marked, self.clicks + other.clicks, self.frames + other.frames
        )

    def share(self) -> float | None:
        """Mean share that the object covers of a frame not marked absent.

        None where hardly a click is found again, or none was kept.
        """
        if not self.clicks:
            return None
        found, marked = self.found / self.clicks, self.marked / self.frames
        # The least of many ratios is a lucky one: each share found counts a standard error less.
        surely_found = found - np.sqrt(found * (1 - found) / self.clicks + 1 / (4 * self.clicks**2))
        usable = (found >= LEAST_FOUND) & (surely_found > 0) & (marked > 0)
        return CENTRED * float((marked[usable] / surely_found[usable]).min()) if usable.any() else None


NOTHING_UNSEEN = UnseenClicks(np.zeros(len(THRESHOLDS)), np.zeros(len(THRESHOLDS)), 0, 0)


def ask_about_unseen(logits: np.ndarray, samples: SampleSet, frames: np.ndarray) -> UnseenClicks:
    """What the (T, regions) logits of a network say of the clicks on these frames, which it left out."""
    frames = frames & ~samples.absent
    areas = samples.areas.cpu().numpy()[frames]
    clicked = samples.clicked.cpu().numpy()[frames]
    heights = logits[frames]
    found = np.array([(heights[clicked] >= threshold).sum() for threshold in THRESHOLDS])
    marked = np.array([(areas * (heights >= threshold)).sum() for threshold in THRESHOLDS])
    return UnseenClicks(found, marked, int(clicked.sum()), len(areas))
