"""The cells of a suite: one method on one sequence with one seed, one variant, one kind of points and of bound.

Where a person is played, also with one kind of effort.
"""

import hashlib
import json
import re
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import product
from typing import Any

from fewpoint import __version__
from fewpoint.bench.methods import choose_changes, find_settings
from fewpoint.bench.person import Effort
from fewpoint.bench.sequences import BenchSequence
from fewpoint.bench.suite import Suite, Variant
from fewpoint.core.job import Job
from fewpoint.core.settings import as_table
from fewpoint.methods.registry import ALIASES, is_own
from fewpoint.witness.store import identify_model

HASH_LENGTH = 10


@dataclass(frozen=True)
class Cell:
    """One run of one method, and all that its result depends on; effort: how a person then corrects it."""

    method: str
    sequence: BenchSequence
    variant: Variant
    points: str
    bound: str
    seed: int
    effort: Effort | None = None

    @cached_property
    def settings(self) -> dict[str, Any] | None:
        """The method's settings section by section; None for a method that has none."""
        settings = find_settings(self.method, self.variant.changes)
        return None if settings is None else as_table(settings)

    def job(self, device: str) -> Job:
        """What the cell runs; its points, if they are made of the truth, and its bound come from the worker."""
        return Job(
            input=str(self.sequence.input),
            points=str(self.sequence.find_points(self.points) or ""),
            method=self.method,
            changes=choose_changes(self.method, self.variant.changes),
            seed=self.seed,
            device=device,
            name=self.key,
            witness=self.witness,
        )

    @property
    def witness(self) -> str | None:
        """The pretrained model that the variant asks for; other methods than fewpoint's own have none."""
        return self.variant.witness or None if is_own(self.method) else None

    @property
    def settings_hash(self) -> str:
        """Empty for a method without settings."""
        return "" if self.settings is None else hash_values(self.settings)

    @cached_property
    def key(self) -> str:
        """A readable name that differs wherever a result may differ.

        A method without settings depends on neither variant nor seed: its cells share a key, and are run once. So do
        the cells of one method under two names.
        """
        method = ALIASES.get(self.method, self.method)
        own = [] if self.settings is None else [self.variant.name, f"seed{self.seed}"]
        effort = self.effort
        own += [self.points, self.bound]
        own += [] if effort is None else [effort.words, effort.look, f"rounds{effort.rounds}"]
        parts = [method, self.sequence.type, self.sequence.name, *own]
        identity = [__version__, method, self.sequence.fingerprint, self.settings, *own]
        identity += [] if self.witness is None else [identify_model(self.witness)]
        return "_".join(map(make_slug, parts)) + "-" + hash_values(identity)

    @property
    def start(self) -> "Cell":
        """The cell without a person, whose masks they correct."""
        return replace(self, effort=None)


def plan_cells(suite: Suite, methods: tuple[str, ...]) -> tuple[Cell, ...]:
    """All cells of the methods, a method after the other; each sequence with the points that it has.

    A suite of efforts has no other cells.
    """
    if suite.efforts:
        return tuple(
            Cell(method, sequence, variant, sequence.choose_points((effort.points,))[0], bound, seed, effort)
            for method, variant, effort, bound, seed, sequence in product(
                methods, suite.variants, suite.efforts, suite.bounds, suite.seeds, suite.sequences
            )
        )
    chosen = {sequence: sequence.choose_points(suite.points) for sequence in suite.sequences}
    every = dict.fromkeys(points for names in chosen.values() for points in names)
    ways = product(methods, suite.variants, every, suite.bounds, suite.seeds, suite.sequences)
    return tuple(
        Cell(method, sequence, variant, points, bound, seed)
        for method, variant, points, bound, seed, sequence in ways
        if points in chosen[sequence]
    )


def hash_values(values: Any) -> str:
    """The first ten hex digits of the SHA-256 of plain values."""
    return hashlib.sha256(json.dumps(values, sort_keys=True).encode()).hexdigest()[:HASH_LENGTH]


def make_slug(text: str) -> str:
    """Text as part of a file name.

    >>> make_slug("Lung tumour/2")
    'Lung-tumour-2'
    """
    return re.sub(r"[^\w.+-]+", "-", text)
