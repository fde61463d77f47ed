"""The nouns that flow through the program: frozen, self-checking, numpy only."""

from fewpoint.core.bound import AreaBound
from fewpoint.core.geometry import Geometry
from fewpoint.core.history import EpochRecord, PriorEstimate, PriorHistory
from fewpoint.core.labels import LabelMap, ObjectLabel, label_objects
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
    StepsTaken,
    SuperpixelsReady,
    ignore,
)
from fewpoint.core.result import ObjectResult, Result
from fewpoint.core.segmenter import Segmenter
from fewpoint.core.sequence import ImageSequence
from fewpoint.core.source import Reading, Source
from fewpoint.core.superpixels import SuperpixelMap
from fewpoint.core.words import NOTHING_SAID, Box, Words

__all__ = [
    "NOTHING_SAID",
    "AreaBound",
    "Box",
    "EpochFinished",
    "EpochPredicted",
    "EpochRecord",
    "Geometry",
    "ImageSequence",
    "LabelMap",
    "Listener",
    "Message",
    "ObjectLabel",
    "ObjectResult",
    "PointSet",
    "PriorEstimate",
    "PriorHistory",
    "ProbabilityMaps",
    "Reading",
    "Result",
    "Segmenter",
    "Source",
    "StageFinished",
    "StageProgress",
    "StageStarted",
    "StepsTaken",
    "SuperpixelMap",
    "SuperpixelsReady",
    "Words",
    "ignore",
    "label_objects",
]
