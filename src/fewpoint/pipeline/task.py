"""What one run is asked to do."""

import hashlib
import json
from dataclasses import dataclass, replace

from fewpoint import __version__
from fewpoint.core import AreaBound, ImageSequence, PointSet
from fewpoint.errors import InputError
from fewpoint.io.formats import Outputs
from fewpoint.io.images import hash_sequence
from fewpoint.io.points import hash_points
from fewpoint.io.runs import RunIdentity
from fewpoint.pipeline.config import Settings, as_table

METHOD = "ssnnpu+ksptrack"


@dataclass(frozen=True, eq=False)
class Task:
    """A sequence, points on one object or several, and how to segment it.

    bound: None means that it is estimated from the sequence. device: auto, cpu, cuda or mps.
    outputs: what the result is written as in a run folder; another start of the same run may ask for others.
    time_limit_s: seconds from the start to the masks, into which the schedule is shortened to fit; None for no limit.
    own_bounds: of several objects, by name, those that have another bound than the rest.
    """

    sequence: ImageSequence
    points: PointSet
    bound: AreaBound | None
    settings: Settings
    seed: int = 0
    device: str = "auto"
    outputs: Outputs = Outputs()
    time_limit_s: float | None = None
    own_bounds: tuple[tuple[str, AreaBound], ...] = ()

    def __post_init__(self) -> None:
        self.points.check_inside(len(self.sequence), self.sequence.size)
        self.outputs.check(self.sequence.source)
        names = self.points.object_names
        if len(names) > 1 and "" in names:
            raise InputError("with several objects each point needs a name, some have none; fill the column object")
        unknown = [name for name, _ in self.own_bounds if name not in names]
        if unknown:
            known = f"there are {', '.join(names)}" if names else "the points name none"
            raise InputError(f"a bound is given for the object {unknown[0]}, which has no point; {known}")

    def of_object(self, name: str) -> "Task":
        """The same for one of several objects alone."""
        return replace(
            self,
            points=self.points.of_object(name),
            bound=dict(self.own_bounds).get(name, self.bound),
            own_bounds=(),
        )

    def identity(self) -> RunIdentity:
        """What a run folder must hold to belong to this task; the device may change between starts."""
        settings = json.dumps(as_table(self.settings), sort_keys=True)
        return RunIdentity(
            version=__version__,
            method=METHOD,
            sequence=hash_sequence(self.sequence),
            points=hash_points(self.points),
            bound=self._describe_bounds(),
            settings=hashlib.sha256(settings.encode()).hexdigest(),
            seed=self.seed,
            time_limit="none" if self.time_limit_s is None else f"{self.time_limit_s / 60:g} min",
        )

    def _describe_bounds(self) -> str:
        own = [f"{name}={bound.fraction!r}" for name, bound in sorted(self.own_bounds)]
        return ", ".join(["estimated" if self.bound is None else repr(self.bound.fraction), *own])
