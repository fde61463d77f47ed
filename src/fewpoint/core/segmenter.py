"""The one interface that every method implements."""

from typing import Protocol

from fewpoint.core.bound import AreaBound
from fewpoint.core.points import PointSet
from fewpoint.core.result import Result
from fewpoint.core.sequence import ImageSequence


class Segmenter(Protocol):
    """Turns a sequence, points on one object and a bound on its area into masks; never sees the truth.

    bound: None if nobody gave one; the method then estimates or assumes it, and says so in its result.
    """

    @property
    def name(self) -> str: ...

    def segment(self, sequence: ImageSequence, points: PointSet, bound: AreaBound | None, *, seed: int) -> Result: ...
