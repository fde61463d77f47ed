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
from fewpoint.pipeline.model import Model
from fewpoint.pipeline.previous import PreviousRun

METHOD = "ssnnpu+ksptrack"


@dataclass(frozen=True, eq=False)
class Task:
    """A sequence, points on one object or several, and how to segment it.

    bound: None means that it is estimated from the sequence. device: auto, cpu, cuda or mps.
    outputs: what the result is written as in a run folder; another start of the same run may ask for others.
    time_limit_s: seconds from the start to the masks, into which the schedule is shortened to fit; None for no limit.
    previous: a finished run on the same sequence that this one refines. warm_start: networks trained elsewhere, from
    whose weights those that learn from the points start.
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
    previous: PreviousRun | None = None
    warm_start: Model | None = None
    own_bounds: tuple[tuple[str, AreaBound], ...] = ()

    def __post_init__(self) -> None:
        if self.previous is not None and (self.warm_start is not None or self.time_limit_s is not None):
            raise InputError(
                "a run that refines another has its own short schedule: leave warm start and time limit out"
            )
        for model in (self.warm_start, self.previous and self.previous.model):
            if model is not None:
                model.check_fits(self.settings.network, self.sequence.shape[-1])
        self.points.check_inside(len(self.sequence), self.sequence.size)
        self.outputs.check(self.sequence.source)
        names = self.points.object_names
        if len(names) > 1:
            self._check_objects(names)
        unknown = [name for name, _ in self.own_bounds if name not in names]
        if unknown:
            known = f"there are {', '.join(names)}" if names else "the points name none"
            raise InputError(f"a bound is given for the object {unknown[0]}, which has no point; {known}")

    def _check_objects(self, names: tuple[str, ...]) -> None:
        """What must hold where there are several."""
        if "" in names:
            raise InputError("with several objects each point needs a name, some have none; fill the column object")
        unknown = sorted(set(self.points.negative_objects) - {"", *names})
        if unknown:
            raise InputError(
                f"a negative is given for the object {unknown[0]}, which has no point; there are {', '.join(names)}"
            )
        if self.previous is not None or self.warm_start is not None:
            raise InputError(
                f"refining and warm starts work with one object at a time for now, the points are on {len(names)}: "
                f"{', '.join(names)}; leave them out, or give each object its own points file and run"
            )

    def of_object(self, name: str) -> "Task":
        """The same for one of several objects alone; points on the others are negatives of this one."""
        return replace(
            self,
            points=self.points.of_object(name),
            bound=dict(self.own_bounds).get(name, self.bound),
            own_bounds=(),
        )

    def of_objects(self, names: tuple[str, ...]) -> "Task":
        """The same for some of several objects; points on the others are negatives of them."""
        if len(names) == 1:
            return self.of_object(names[0])
        own = tuple((name, bound) for name, bound in self.own_bounds if name in names)
        return replace(self, points=self.points.of_objects(names), own_bounds=own)

    @property
    def refining(self) -> int:
        """How many networks of an earlier run are refined; 0 where there is no such run."""
        return 0 if self.previous is None else len(self.previous.model.weights)

    def check_previous(self) -> None:
        """Raise InputError where the run to be refined is of another sequence."""
        if self.previous is not None and self.previous.sequence != hash_sequence(self.sequence):
            raise InputError(
                f"a run can only be refined on its own frames, those of {self.previous.name or 'the run'} differ; "
                "give the same INPUT and options, or use it for --warm-start"
            )

    def _start(self) -> str:
        if self.previous is not None:
            return f"refined from {self.previous.model.digest[:16]}"
        return "random weights" if self.warm_start is None else f"warm start from {self.warm_start.digest[:16]}"

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
            start=self._start(),
        )

    def _describe_bounds(self) -> str:
        own = [f"{name}={bound.fraction!r}" for name, bound in sorted(self.own_bounds)]
        return ", ".join(["estimated" if self.bound is None else repr(self.bound.fraction), *own])
