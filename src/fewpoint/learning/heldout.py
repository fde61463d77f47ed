"""How large the object is, estimated from clicks that a network has not learnt from.

A network that learns from some clicks is asked about the others. If it finds the share q of them at some threshold,
and marks the share m of all pixels there, the object covers about m / q, whatever bound was given; if it also marks
background, less. The least of these over all thresholds is the estimate (the best bin of Garg et al. 2021).
"""

from dataclasses import dataclass, replace

import numpy as np

from fewpoint.learning.samples import SampleSet

GROUPS = 3
BLOCKS = 12  # frames are held out in stretches of a twelfth of the sequence: a click's neighbours test nothing
SHORTEST_BLOCK = 3
FEWEST_CLICKED = 20
LEAST_FOUND = 0.5
THRESHOLDS = np.linspace(-4.0, 5.0, 91)
# People click well inside an object, where networks are surest: held-out clicks are found more often than the rest.
# Chosen on the twenty development sequences.
CENTRED = 1.4


def held_out(samples: SampleSet, number: int) -> np.ndarray:
    """(T,) bool frames whose clicks network `number` does not learn from; none if there are too few clicks for that."""
    n_frames = samples.n_frames
    block = np.arange(n_frames) // max(SHORTEST_BLOCK, n_frames // BLOCKS)
    chosen = block % GROUPS == number % GROUPS
    clicked = samples.clicked.any(1).cpu().numpy()
    if samples.known is not None:
        chosen &= np.isnan(samples.known)
    enough = clicked.sum() >= FEWEST_CLICKED and (clicked & chosen).any() and (samples.has_point & ~chosen).any()
    return chosen if enough else np.zeros(n_frames, bool)


def hold_out(samples: SampleSet, frames: np.ndarray) -> SampleSet:
    """The samples with all positives on these frames made unlabelled."""
    if not frames.any():
        return samples
    positive, unlabelled, chosen = samples.positive.clone(), samples.unlabelled.clone(), np.flatnonzero(frames)
    unlabelled[chosen] += positive[chosen]
    positive[chosen] = 0
    return replace(samples, positive=positive, unlabelled=unlabelled, has_point=samples.has_point & ~frames)


@dataclass(frozen=True, eq=False)
class HeldOutClicks:
    """What one network, or several together, say about clicks that they have not learnt from, at each of THRESHOLDS.

    found: (N,) number of these clicks at or above. marked: (N,) area of their frames at or above, in frames.
    clicks, frames: how many of each there are.
    """

    found: np.ndarray
    marked: np.ndarray
    clicks: int
    frames: int

    def __add__(self, other: "HeldOutClicks") -> "HeldOutClicks":
        return HeldOutClicks(
            self.found + other.found, self.marked + other.marked, self.clicks + other.clicks, self.frames + other.frames
        )

    def share(self) -> float | None:
        """Mean share that the object covers of a frame not marked absent.

        None if hardly any click is found again, or none was held out.
        """
        if not self.clicks:
            return None
        found, marked = self.found / self.clicks, self.marked / self.frames
        # The least of many ratios is a lucky one: each share found is lowered by a standard error.
        surely_found = found - np.sqrt(found * (1 - found) / self.clicks + 1 / (4 * self.clicks**2))
        usable = (found >= LEAST_FOUND) & (surely_found > 0) & (marked > 0)
        return CENTRED * float((marked[usable] / surely_found[usable]).min()) if usable.any() else None


NOTHING_ASKED = HeldOutClicks(np.zeros(len(THRESHOLDS)), np.zeros(len(THRESHOLDS)), 0, 0)


def ask_about(logits: np.ndarray, samples: SampleSet, frames: np.ndarray) -> HeldOutClicks:
    """What the (T, regions) logits of a network say about the clicks on these frames, which it held out."""
    frames = frames & ~samples.absent
    areas = samples.areas.cpu().numpy()[frames]
    clicked = samples.clicked.cpu().numpy()[frames]
    heights = logits[frames]
    found = np.array([(heights[clicked] >= threshold).sum() for threshold in THRESHOLDS])
    marked = np.array([(areas * (heights >= threshold)).sum() for threshold in THRESHOLDS])
    return HeldOutClicks(found, marked, int(clicked.sum()), len(areas))
