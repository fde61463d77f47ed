"""The nouns that flow through the program: frozen, self-checking, numpy only."""

from fewpoint.core.bound import AreaBound
from fewpoint.core.history import EpochRecord, PriorEstimate, PriorHistory
from fewpoint.core.points import PointSet
from fewpoint.core.probabilities import ProbabilityMaps
from fewpoint.core.progress import (
    EpochFinished,
    EpochPredicted,
    Listener,
    Message,
    StageFinished,
    StageProgress,
    StageStarted,
    SuperpixelsReady,
    ignore,
)
from fewpoint.core.segmentation import Segmentation
from fewpoint.core.segmenter import Segmenter
from fewpoint.core.sequence import ImageSequence
from fewpoint.core.superpixels import SuperpixelMap

__all__ = [
    "AreaBound",
    "EpochFinished",
    "EpochPredicted",
    "EpochRecord",
    "ImageSequence",
    "Listener",
    "Message",
    "PointSet",
    "PriorEstimate",
    "PriorHistory",
    "ProbabilityMaps",
    "Segmentation",
    "Segmenter",
    "StageFinished",
    "StageProgress",
    "StageStarted",
    "SuperpixelMap",
    "SuperpixelsReady",
    "ignore",
]
