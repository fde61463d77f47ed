"""The one interface that every method implements."""

from typing import Protocol

from fewpoint.core.bound import AreaBound
from fewpoint.core.points import PointSet
from fewpoint.core.segmentation import Segmentation
from fewpoint.core.sequence import ImageSequence


class Segmenter(Protocol):
    """Turns a sequence, points on one object and a bound on its area into masks; never sees the truth.

    bound: None where nobody gave one; the method then estimates or assumes it, and says so in its result.
    """

    name: str

    def segment(
        self, sequence: ImageSequence, points: PointSet, bound: AreaBound | None, *, seed: int
    ) -> Segmentation: ...
