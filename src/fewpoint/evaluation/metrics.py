"""How good masks and priors are, given the truth."""

from dataclasses import dataclass

import numpy as np

from fewpoint.core.given import need
from fewpoint.errors import InputError
from fewpoint.evaluation.truth import true_shares


@dataclass(frozen=True)
class Score:
    """F1, precision and recall in [0, 1], and the pixel counts behind them."""

    f1: float
    precision: float
    recall: float
    true_positives: int
    false_positives: int
    false_negatives: int

    @classmethod
    def from_counts(cls, true_positives: int, false_positives: int, false_negatives: int) -> "Score":
        """F1 = 2 TP / (2 TP + FP + FN), precision = TP / (TP + FP), recall = TP / (TP + FN).

        Nothing to find and nothing found scores 1 on all three; any other ratio 0 / 0 scores 0.

        >>> Score.from_counts(6, 2, 4).precision
        0.75
        """
        counts = (int(true_positives), int(false_positives), int(false_negatives))
        if sum(counts) == 0:
            return cls(1.0, 1.0, 1.0, *counts)
        hits, extra, missed = counts
        return cls(2 * hits / (2 * hits + extra + missed), _ratio(hits, extra), _ratio(hits, missed), *counts)


@dataclass(frozen=True)
class MaskScores:
    """Score over all pixels of all frames, and one score per frame."""

    pooled: Score
    frames: tuple[Score, ...]

    def __repr__(self) -> str:
        return f"<MaskScores: F1 {self.pooled.f1:.3g} over {len(self.frames)} frames>"


def score_masks(masks: np.ndarray, truth: np.ndarray) -> MaskScores:
    """Compare (T, H, W) bool masks with the truth; a frame without object and without mask scores 1.

    >>> score_masks(np.array([[[True, True]]]), np.array([[[True, False]]])).pooled.precision
    0.5
    """
    check_masks(masks, truth)
    hits = (masks & truth).sum(axis=(1, 2))
    extra = (masks & ~truth).sum(axis=(1, 2))
    missed = (~masks & truth).sum(axis=(1, 2))
    frames = tuple(Score.from_counts(*counts) for counts in zip(hits, extra, missed, strict=True))
    return MaskScores(Score.from_counts(hits.sum(), extra.sum(), missed.sum()), frames)


def score_labels(labels: np.ndarray, truth: np.ndarray) -> dict[int, Score]:
    """Score of each object over all frames, by its number; labels, truth: (T, H, W) integers, 0 for no object.

    >>> {number: score.f1 for number, score in score_labels(np.array([[[1, 2]]]), np.array([[[1, 0]]])).items()}
    {1: 1.0, 2: 0.0}
    """
    numbers = sorted(({*np.unique(labels).tolist(), *np.unique(truth).tolist()}) - {0})
    return {number: score_masks(labels == number, truth == number).pooled for number in numbers}


@dataclass(frozen=True)
class AbsenceScore:
    """How clean masks are where there is nothing to find.

    frames: how many frames do not show the object. false_positive: mean over them of the share that is marked all the
    same; None if there is no such frame.
    """

    frames: int
    false_positive: float | None


def score_absence(masks: np.ndarray, truth: np.ndarray) -> AbsenceScore:
    """Judge (T, H, W) bool masks on the frames whose truth is empty.

    >>> score_absence(np.array([[[True, False]], [[True, True]]]), np.array([[[False, False]], [[True, False]]]))
    AbsenceScore(frames=1, false_positive=0.5)
    """
    check_masks(masks, truth)
    marked = masks[~truth.any(axis=(1, 2))]
    return AbsenceScore(len(marked), float(marked.mean()) if len(marked) else None)


def prior_error(priors: np.ndarray, truth: np.ndarray) -> float:
    """Mean over frames of the absolute difference of (T,) estimated shares and the true ones."""
    return share_error(priors, true_shares(truth))


def share_error(priors: np.ndarray, shares: np.ndarray) -> float:
    """The same of (T,) shares that are known already.

    >>> share_error(np.array([0.25, 0.5]), np.array([0.5, 0.5]))
    0.125
    """
    if np.shape(priors) != shares.shape:
        raise InputError(f"one prior per frame is needed: {len(shares)} frames of truth, priors {np.shape(priors)}")
    return float(np.abs(priors - shares).mean())


def _ratio(hits: int, misses: int) -> float:
    return hits / (hits + misses) if hits + misses else 0.0


def check_masks(masks: np.ndarray, truth: np.ndarray) -> None:
    """InputError unless both are (T, H, W) bool."""
    for value, what in ((masks, "masks"), (truth, "truth")):
        need(value, np.ndarray, what, "a bool array (T, H, W)")
    if masks.ndim != 3 or masks.shape != truth.shape:
        raise InputError(
            f"masks and truth must have one shape (frames, height, width), got masks {masks.shape}, truth {truth.shape}"
        )
    if masks.dtype != bool or truth.dtype != bool:
        raise InputError(
            f"masks and truth must be bool, got masks {masks.dtype}, truth {truth.dtype}; compare with 0 first"
        )
