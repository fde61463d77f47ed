"""The nouns that flow through the program: frozen, self-checking, numpy only.

What is read from a file carries its `Source`: format, header, and for volumes a `Geometry`, which says where the voxels
lie in RAS millimetres and which axes became frame, y and x. A `Job` is what a run is asked to do, as plain values;
`project` is what a person has annotated, and `actions` each way to change it. Arrays over all frames are made by
`paging`: a large one is a memory map on a file without a name, and code that walks over it lets pages go again.
"""

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
