"""A job with everything it names read: what one run works on."""

import hashlib
import json
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

from fewpoint import __version__
from fewpoint.core import NOTHING_SAID, AreaBound, ImageSequence, PointSet, Words
from fewpoint.core.settings import as_table
from fewpoint.errors import InputError
from fewpoint.io.formats import Outputs
from fewpoint.io.images import hash_sequence
from fewpoint.io.points import hash_points
from fewpoint.io.runs import RunIdentity
from fewpoint.pipeline.model import Model
from fewpoint.pipeline.plan import Plan
from fewpoint.pipeline.previous import PreviousRun
from fewpoint.witness.store import check_installed, identify_model


@dataclass(frozen=True, eq=False)
class Task:
    """A sequence, points on one object or several, and how to segment it.

    Entry points build a Job, which runs/jobs.read_job turns into this.

    bound: None means that it is estimated from the sequence. device: auto, cpu, cuda or mps.
    outputs: what the result is written as in a run folder; another start of the same run may ask for others.
    previous: a finished run on the same sequence that this one refines; objects that it does not know are trained from
    scratch. warm_start: networks trained elsewhere, from whose weights those that learn from the points start.
    words: by object, what was said about it besides points; "" for a single object whose points have no name.
    own_bounds: of several objects, by name, those whose bound differs from the rest.
    method: its name; that of the settings if it is left out. settings: the method's own, as requested; None if it has
    none. adapted: the plan made from them, as a run has adapted it to what it found out; None before that.
    witness: name of the pretrained model that has a say in the masks; "" for none.
    """

    sequence: ImageSequence
    points: PointSet
    bound: AreaBound | None
    settings: Any
    seed: int = 0
    device: str = "auto"
    outputs: Outputs = Outputs()
    previous: PreviousRun | None = None
    warm_start: Model | None = None
    own_bounds: tuple[tuple[str, AreaBound], ...] = ()
    method: str = ""
    adapted: Plan | None = None
    words: tuple[tuple[str, Words], ...] = ()
    witness: str = ""

    def __post_init__(self) -> None:
        if not self.method:
            object.__setattr__(self, "method", self.settings.method)
        if self.previous is not None and self.warm_start is not None:
            raise InputError("a run that refines another starts from its networks: leave warm start out")
        for model in (self.warm_start, self.previous and self.previous.model):
            if model is not None:
                model.check_fits(self.plan.network, self.sequence.shape[-1])
        self.points.check_inside(len(self.sequence), self.sequence.size)
        for _, words in self.words:
            words.check_inside(len(self.sequence), self.sequence.size)
        self.outputs.check(self.sequence.source, self.sequence.names)
        if self.witness:
            self._check_witness()
        names = self.points.object_names
        if len(names) > 1:
            self._check_objects(names)
        self._refuse_unknown("a bound is", [name for name, _ in self.own_bounds if name not in names])
        self._refuse_unknown("words are", [name for name, _ in self.words if name not in self.object_names])

    def _check_witness(self) -> None:
        if not self.uses_pipeline or self.plan.diffusion is None:
            raise InputError("a foundation model refines masks of accurate and fast only; leave it out")
        check_installed(self.witness)

    def _refuse_unknown(self, what: str, unknown: list[str]) -> None:
        if unknown:
            names = self.points.object_names
            known = f"there are {', '.join(names)}" if names else "the points name none"
            raise InputError(f"{what} given for the object {unknown[0]}, which has no point; {known}")

    def _check_objects(self, names: tuple[str, ...]) -> None:
        """What must hold if there are several."""
        if "" in names:
            raise InputError("with several objects each point needs a name, some have none; fill in the column object")
        unknown = sorted(set(self.points.negative_objects) - {"", *names})
        if unknown:
            raise InputError(
                f"a background click names the object {unknown[0]}, which has no point; there are {', '.join(names)}"
            )

    @property
    def own_words(self) -> Words:
        """What was said about the only object of a task on one object."""
        return dict(self.words).get(self.object_names[0], NOTHING_SAID)

    @property
    def uses_pipeline(self) -> bool:
        """Whether the method makes a plan for the pipeline; others segment by themselves."""
        return hasattr(self.settings, "plan")

    @cached_property
    def plan(self) -> Plan:
        """What the pipeline does, with networks of the kind of those that they start from."""
        plan = self.settings.plan() if self.adapted is None else self.adapted
        return plan if self.warm_start is None else plan.suit_network(self.warm_start.network.kind)

    @cached_property
    def sequence_hash(self) -> str:
        """By which the frames are known again."""
        return hash_sequence(self.sequence)

    @property
    def started(self) -> PointSet | None:
        """The points that its networks learnt from scratch from; None if that is not known."""
        return self.points if self.previous is None else self.previous.started

    @property
    def settled_bound(self) -> AreaBound:
        """The bound of a task on one object, once it is given or estimated."""
        if self.bound is None:
            raise InputError("an object needs a size limit before training; give --max-fraction")
        return self.bound

    @property
    def object_names(self) -> tuple[str, ...]:
        """At least one name, "" for a single object whose points have none."""
        return self.points.object_names or ("",)

    def of_object(self, name: str) -> "Task":
        """The same for one of the objects alone; points on the others are negatives of this one."""
        several = len(self.object_names) > 1
        return replace(
            self,
            points=self.points.of_object(name) if several else self.points,
            bound=dict(self.own_bounds).get(name, self.bound),
            own_bounds=(),
            words=tuple(("" if several else name, words) for own, words in self.words if own == name),
        )

    def of_objects(self, names: tuple[str, ...]) -> "Task":
        """The same for objects that learn together, with what the run to be refined knows about them.

        Points on the others are negatives of them.
        """
        previous = self.previous
        if previous is not None:
            known = names in previous.group_names(self.object_names)
            previous = previous.of_objects(names) if known else None
        if names == self.object_names:
            return replace(self, previous=previous)
        if len(names) == 1:
            return replace(self.of_object(names[0]), previous=previous)
        own = tuple((name, bound) for name, bound in self.own_bounds if name in names)
        words = tuple((name, each) for name, each in self.words if name in names)
        return replace(self, points=self.points.of_objects(names), own_bounds=own, words=words, previous=previous)

    @property
    def refining(self) -> int:
        """How many networks of an earlier run are refined; 0 if there is no such run."""
        return 0 if self.previous is None else len(self.previous.groups[0].model.weights)

    def check_previous(self) -> None:
        """Raise InputError if the run to be refined is of another sequence."""
        if self.previous is not None and self.previous.sequence != self.sequence_hash:
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
        settings = json.dumps(self.settings_table(), sort_keys=True)
        return RunIdentity(
            version=__version__,
            method=self.method,
            sequence=self.sequence_hash,
            points=hash_points(self.points),
            bound=self._describe_bounds(),
            settings=hashlib.sha256(settings.encode()).hexdigest(),
            seed=self.seed,
            start=self._start(),
            words=self._hash_words(),
            witness=identify_model(self.witness) if self.witness else "none",
        )

    def _hash_words(self) -> str:
        """SHA-256 (hex) of all that was said besides points, with the objects' names if there are several."""
        named = len(self.object_names) > 1
        said = sorted((name if named else "", words.digest()) for name, words in self.words if not words.empty)
        return hashlib.sha256(repr(said).encode()).hexdigest() if said else "none"

    def settings_table(self) -> dict[str, dict[str, Any]]:
        """The settings as plain values."""
        return {} if self.settings is None else as_table(self.settings)

    def _describe_bounds(self) -> str:
        own = [f"{name}={bound.fraction!r}" for name, bound in sorted(self.own_bounds)]
        return ", ".join(["estimated" if self.bound is None else repr(self.bound.fraction), *own])
