"""The paper's tables and figures, reproduced: which cells each needs, and what is made of them."""

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from fewpoint.bench import paper_figures, paper_tables
from fewpoint.bench.cells import Cell
from fewpoint.bench.folder import BenchFolder, open_folder
from fewpoint.bench.methods import check_change, check_method
from fewpoint.bench.results import Row, write_rows
from fewpoint.bench.run import keeping_errors, plan_jobs
from fewpoint.bench.sequences import DatasetSequence
from fewpoint.bench.suite import Variant
from fewpoint.core.job import Changes
from fewpoint.engines.jobs import Engine, Listener, Outcome, run_jobs
from fewpoint.engines.processes import LocalEngine
from fewpoint.methods.competitors.registry import find_problem

SUITE = "reproduce"
POINTS, BOUND = "2dlocs", "eta"
PAPER_METHOD = "ssnnpu+ksptrack"
COMPETITORS = (
    "ksptrack",
    "alterestpu",
    "eel",
    "gaze2segment",
    "dl-prior",
    "random-walker",
    "half-disc",
    "all-positive",
)
PEERS = ("sam-points", "sam-points-bound", "sam-points-best")  # if their model has been fetched
CONST_FACTORS = (0.8, 1.0, 1.2, 1.4)
BOUND_FACTORS = (1.2, 1.4, 1.6, 1.8)
# The estimation goes on after its rule has held, as its authors ran it, so that figures show what would have followed.
COURSE: Changes = (("stopping.halts", False),)
# For a look at whether all works: smaller networks, which need higher rates, and fewer trees; not the paper's figures.
QUICK: Changes = (
    ("training.max_side", 64),
    ("training.frames_per_epoch", 40),
    ("training.batch", 4),
    ("network.base_width", 8),
    ("phases.warmup_rate", 1e-3),
    ("phases.estimation_rate", 1e-4),
    ("phases.final_rate", 1e-4),
    ("autoencoder.max_side", 64),
    ("autoencoder.epochs", 2),
    ("bagging.trees", 50),
)
TARGETS = ("table1", "table2", "figure-priors", "figure-stopping", "figure-qualitative")


@dataclass(frozen=True)
class Plan:
    """What is to be reproduced. ours: the method shown as fewpoint. changes: settings to change in every method."""

    sequences: tuple[DatasetSequence, ...]
    ours: str = "fast"
    seed: int = 0
    changes: Changes = ()

    def __post_init__(self) -> None:
        check_method(self.ours)
        for key, value in self.changes:
            check_change(key, value)

    def cells(self, target: str) -> tuple[Cell, ...]:
        """All that a table or figure needs."""
        if target in ("table1", "figure-qualitative"):
            return self.table_1()
        if target == "table2":
            return (*self.const_sweep(), *self.bound_sweep(), *self._all("nnpu-true"))
        if target == "figure-priors":
            return self._all(PAPER_METHOD)[:1]
        return self._all(PAPER_METHOD)

    def all_cells(self, targets: Iterable[str]) -> tuple[Cell, ...]:
        """All that several tables and figures need, each once."""
        return tuple({cell.key: cell for target in targets for cell in self.cells(target)}.values())

    def table_1(self) -> tuple[Cell, ...]:
        peers = () if find_problem("sam-points") else PEERS
        methods = dict.fromkeys((self.ours, PAPER_METHOD, *COMPETITORS, *peers))
        return tuple(cell for method in methods for cell in self._all(method))

    def const_sweep(self) -> tuple[Cell, ...]:
        """nnPU with the mean true prior times each factor."""
        sweep = []
        for factor in CONST_FACTORS:
            variant = Variant(f"eta-{factor}", (*COURSE, *self.changes, ("given_prior.factor", factor)))
            sweep += [self._cell("nnpu-const", sequence, variant) for sequence in self.sequences]
        return tuple(sweep)

    def bound_sweep(self) -> tuple[Cell, ...]:
        """Ours and the paper's method with the bound at each factor of the true maximum."""
        methods = dict.fromkeys((self.ours, PAPER_METHOD))
        return tuple(
            cell for method in methods for factor in BOUND_FACTORS for cell in self._all(method, name_bound(factor))
        )

    def _all(self, method: str, bound: str = BOUND) -> tuple[Cell, ...]:
        variant = Variant("changed" if self.changes else "plain", (*COURSE, *self.changes))
        return tuple(self._cell(method, sequence, variant, bound) for sequence in self.sequences)

    def _cell(self, method: str, sequence: DatasetSequence, variant: Variant, bound: str = BOUND) -> Cell:
        return Cell(method, sequence, variant, POINTS, bound, self.seed)


@dataclass(frozen=True)
class Reproduction:
    """What came out. written: all files of this start. failures: jobs that failed in it."""

    written: tuple[Path, ...]
    failures: tuple[Outcome, ...]


def name_bound(factor: float) -> str:
    """The protocol of a bound, under the name that suites use.

    >>> name_bound(1.4), name_bound(1.8)
    ('eta', 'eta-1.8')
    """
    return BOUND if factor == 1.4 else f"eta-{factor}"


def reproduce(
    plan: Plan,
    targets: Iterable[str],
    out: Path,
    listener: Listener,
    *,
    engine: Engine | None = None,
    device: str = "auto",
) -> Reproduction:
    """Run the cells that are not finished, and make tables and figures of those that are.

    out: the folder of a suite's results, whose cells are used, or a new one.
    """
    targets = tuple(targets)
    with open_folder(out, SUITE, adopt=True) as folder:
        cells = plan.all_cells(targets)
        missing = [cell for cell in cells if not (folder.result(cell).exists() and folder.record(cell).exists())]
        sequences = dict.fromkeys(cell.sequence for cell in cells)
        jobs = plan_jobs(sequences, missing, folder, device)
        try:
            outcomes = run_jobs(jobs, engine or LocalEngine(), keeping_errors(listener))
        finally:  # also on Ctrl-C, so that what is finished can be read
            written = [path for target in targets for path in make(target, plan, folder)]
            write_rows(folder.collect(cells), folder.path / "paper" / "results.csv")
    return Reproduction(tuple(written), tuple(outcome for outcome in outcomes if outcome.error))


def make(target: str, plan: Plan, folder: BenchFolder) -> list[Path]:
    """Write one table or figure of the cells that are finished, in every format; nothing if none is."""
    out = folder.path / "paper"
    out.mkdir(parents=True, exist_ok=True)
    pairs = _finished(plan.cells(target), folder)
    if not pairs:
        return []
    rows = [row for _, row in pairs]
    if target == "table1":
        return paper_tables.write_table_1(rows, plan.ours, out)
    if target == "table2":
        return paper_tables.write_table_2(rows, out)
    if target == "figure-priors":
        return paper_figures.write_priors(*pairs[0], folder, out)
    if target == "figure-stopping":
        return paper_figures.write_stopping(pairs, folder, out)
    return paper_figures.write_qualitative(pairs, plan.ours, folder, out)


def _finished(cells: Iterable[Cell], folder: BenchFolder) -> list[tuple[Cell, Row]]:
    """Cells with their results and ceilings; one that failed is left out, its error stands in results.csv."""
    pairs = [(cell, row) for cell in cells for row in folder.collect([cell])]
    return [(cell, row) for cell, row in pairs if row.delta is not None and folder.record(cell).exists()]
