"""What one run is asked to do."""

import hashlib
import json
from dataclasses import dataclass

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
    """A sequence, points on one object, and how to segment it.

    bound: None means that it is estimated from the sequence. device: auto, cpu, cuda or mps.
    outputs: what the result is written as in a run folder; another start of the same run may ask for others.
    time_limit_s: seconds from the start to the masks, into which the schedule is shortened to fit; None for no limit.
    previous: a finished run on the same sequence that this one refines. warm_start: networks trained elsewhere, from
    whose weights those that learn from the points start.
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
            raise InputError(
                f"only one object can be segmented for now, the points are on {len(names)}: {', '.join(names)}; "
                "give each its own points file and run"
            )

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
            bound="estimated" if self.bound is None else repr(self.bound.fraction),
            settings=hashlib.sha256(settings.encode()).hexdigest(),
            seed=self.seed,
            time_limit="none" if self.time_limit_s is None else f"{self.time_limit_s / 60:g} min",
            start=self._start(),
        )
