"""The only place that knows the truth; no method may import it."""

from fewpoint.evaluation.ceiling import best_superpixel_masks, score_ceiling
from fewpoint.evaluation.metrics import (
    AbsenceScore,
    MaskScores,
    Score,
    prior_error,
    score_absence,
    score_masks,
    share_error,
)
from fewpoint.evaluation.phantom import Phantom, make_phantom
from fewpoint.evaluation.regions import RegionTruth
from fewpoint.evaluation.truth import largest_box, paper_bound, true_shares

__all__ = [
    "AbsenceScore",
    "MaskScores",
    "Phantom",
    "RegionTruth",
    "Score",
    "best_superpixel_masks",
    "largest_box",
    "make_phantom",
    "paper_bound",
    "prior_error",
    "score_absence",
    "score_ceiling",
    "score_masks",
    "share_error",
    "true_shares",
]
