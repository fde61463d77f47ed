"""The paper's tables and figures, reproduced: which cells each needs, and what is made of them."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from fewpoint.bench import paper_figures, paper_tables
from fewpoint.bench.cells import Cell
from fewpoint.bench.folder import BenchFolder, open_folder
from fewpoint.bench.methods import check_change, check_method
from fewpoint.bench.paper_rows import PaperRow, pick_tuned, rows_of_cell, write_paper_rows
from fewpoint.bench.results import Row, write_rows
from fewpoint.bench.run import keeping_errors, plan_jobs
from fewpoint.bench.sequences import BenchSequence
from fewpoint.bench.suite import Variant
from fewpoint.core.job import Changes
from fewpoint.engines.jobs import Engine, Listener, Outcome, run_jobs
from fewpoint.engines.processes import LocalEngine
from fewpoint.evaluation.phantom import make_phantom, make_ring
from fewpoint.io.images import FRAMES_FOLDER
from fewpoint.io.masks import TRUTH_FOLDER
from fewpoint.io.points import LOCATIONS_FILE, write_points
from fewpoint.methods.competitors.registry import find_problem
from fewpoint.methods.competitors.settings import LINKS

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
# What a competitor is tuned over, against the truth, as the paper's were; its own settings are tried as well.
TUNED: dict[str, tuple[Changes, ...]] = {
    "eel": tuple((("propagation.keep", keep), ("propagation.links", links)) for keep in (0.8, 0.95) for links in LINKS),
    "ksptrack": (
        *((("linking.repeats", repeats), ("linking.reach", reach)) for repeats in (1, 5) for reach in (0.0, 1.0)),
        (("linking.repeats", 1),),
    ),
    "alterestpu": tuple((("alternation.step", step),) for step in (0.001, 0.002, 0.01)),
    "dl-prior": tuple((("phases.final_rate", rate),) for rate in (1e-5, 1e-4)),
}
# For a look at whether all works: tiny networks that hardly learn; not the paper's figures.
QUICK: Changes = (
    ("superpixels.count", 200),
    ("training.max_side", 48),
    ("training.frames_per_epoch", 8),
    ("training.batch", 4),
    ("network.base_width", 4),
    ("network.levels", 3),
    ("phases.warmup_epochs", 12),
    ("phases.warmup_rate", 3e-3),
    ("phases.estimation_epochs", 8),
    ("phases.estimation_rate", 3e-4),
    ("phases.final_epochs", 4),
    ("phases.final_rate", 3e-4),
    ("stopping.window", 2),
    ("stopping.minimum", 2),
    ("warmup.epochs", 6),
    ("warmup.rate", 3e-3),
    ("rounds.round_epochs", 6),
    ("autoencoder.base_width", 8),
    ("autoencoder.max_side", 48),
    ("autoencoder.epochs", 2),
    ("autoencoder.frames_per_epoch", 16),
    ("bagging.trees", 20),
)
TARGETS = ("table1", "table2", "figure-priors", "figure-stopping", "figure-qualitative")


@dataclass(frozen=True)
class Plan:
    """What is to be reproduced.

    ours: the method shown as fewpoint. changes: settings to change in every method. methods: only these, all if there
    are none. seeds: of each method that has any. tuned: competitors are tuned against the truth, too. const_factors,
    bound_factors: of Table 2.
    """

    sequences: tuple[BenchSequence, ...]
    ours: str = "fast"
    changes: Changes = ()
    methods: tuple[str, ...] = ()
    seeds: tuple[int, ...] = (0,)
    tuned: bool = False
    const_factors: tuple[float, ...] = CONST_FACTORS
    bound_factors: tuple[float, ...] = BOUND_FACTORS

    def __post_init__(self) -> None:
        for method in (self.ours, *self.methods):
            check_method(method)
        for key, value in self.changes:
            check_change(key, value)

    def cells(self, target: str) -> tuple[Cell, ...]:
        """All that a table or figure needs."""
        if target == "table1":
            tried = (cells for candidates in self.candidates().values() for cells in candidates[1:])
            return (*self.table_1(), *(cell for cells in tried for cell in cells))
        if target == "figure-qualitative":
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

    def candidates(self) -> dict[str, list[tuple[Cell, ...]]]:
        """By method, the cells of its own settings and of each change among which it is tuned; nothing if it is not."""
        if not self.tuned:
            return {}
        return {
            method: [
                self._all(method),
                *(self._all(method, variant=(f"tuned-{number}", changes)) for number, changes in enumerate(grid, 1)),
            ]
            for method, grid in TUNED.items()
        }

    def const_sweep(self) -> tuple[Cell, ...]:
        """nnPU with the mean true prior times each factor."""
        variants = ((f"eta-{factor}", (("given_prior.factor", factor),)) for factor in self.const_factors)
        return tuple(cell for variant in variants for cell in self._all("nnpu-const", variant=variant))

    def bound_sweep(self) -> tuple[Cell, ...]:
        """Ours and the paper's method with the bound at each factor of the true maximum."""
        methods = dict.fromkeys((self.ours, PAPER_METHOD))
        return tuple(
            cell
            for method in methods
            for factor in self.bound_factors
            for cell in self._all(method, name_bound(factor))
        )

    def _all(self, method: str, bound: str = BOUND, variant: tuple[str, Changes] = ("", ())) -> tuple[Cell, ...]:
        """A method on every sequence with every seed; none if other methods were asked for."""
        if self.methods and method not in self.methods:
            return ()
        name, changes = variant
        chosen = Variant(name or ("changed" if self.changes else "plain"), (*self.changes, *changes))
        return tuple(
            Cell(method, sequence, chosen, sequence.choose_points((POINTS,))[0], bound, seed)
            for sequence in self.sequences
            for seed in self.seeds
        )


def make_quick(plan: Plan) -> Plan:
    """The same with tiny networks and one factor of each sweep that Table 1 does not have: whether all works."""
    return replace(plan, changes=(*QUICK, *plan.changes), const_factors=(1.0,), bound_factors=(1.4, 1.8))


def make_phantoms(out: Path) -> Path:
    """The folder `phantoms` below `out`, with a blob and a ring in the dataset's layout."""
    from PIL import Image

    phantoms = {"blob/phantom": make_phantom(8, (48, 64)), "ring/phantom": make_ring(8, (48, 96))}
    with open_folder(out, SUITE, adopt=True) as folder:
        root = folder.path / "phantoms"
        for name, phantom in phantoms.items():
            frames, truth = phantom.sequence.frames[..., 0], np.where(phantom.truth, 255, 0).astype(np.uint8)
            for kind, stack in ((FRAMES_FOLDER, frames), (TRUTH_FOLDER, truth)):
                (root / name / kind).mkdir(parents=True, exist_ok=True)
                for number, picture in enumerate(stack):
                    Image.fromarray(picture).save(root / name / kind / f"{number:04d}.png")
            write_points(phantom.points, root / name / LOCATIONS_FILE)
    return root


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
            tables = [target for target in targets if target in ("table1", "table2")]
            own = dict.fromkeys(row for target in tables for row in collect_rows(target, plan, folder))
            write_paper_rows(own, folder.path / "paper" / "rows.csv")
            write_rows(folder.collect(cells), folder.path / "paper" / "results.csv")
    return Reproduction(tuple(written), tuple(outcome for outcome in outcomes if outcome.error))


def make(target: str, plan: Plan, folder: BenchFolder) -> list[Path]:
    """Write one table or figure of the cells that are finished, in every format; nothing if none is."""
    out = folder.path / "paper"
    out.mkdir(parents=True, exist_ok=True)
    pairs = _finished(plan.cells(target), folder)
    if not pairs:
        return []
    if target in ("table1", "table2"):
        return write_tables(collect_rows(target, plan, folder), (target,), plan.ours, out)
    if target == "figure-priors":
        return paper_figures.write_priors(*pairs[0], folder, out)
    if target == "figure-stopping":
        return paper_figures.write_stopping(pairs, folder, out)
    return paper_figures.write_qualitative(pairs, plan.ours, folder, out)


def write_tables(rows: Sequence[PaperRow], targets: Iterable[str], ours: str, out: Path) -> list[Path]:
    """The tables among the targets, of rows wherever they come from."""
    writers = {"table1": paper_tables.write_table_1, "table2": paper_tables.write_table_2}
    return [path for target in targets if target in writers for path in writers[target](rows, ours, out)]


def collect_rows(target: str, plan: Plan, folder: BenchFolder) -> list[PaperRow]:
    """What the finished cells of a table gave; of a method that is tuned, once more the best of what was tried."""
    candidates = plan.candidates() if target == "table1" else {}
    tried = {cell.key for cells in candidates.values() for each in cells[1:] for cell in each}
    rows = [
        row
        for cell, found in _finished(plan.cells(target), folder)
        if cell.key not in tried
        for row in rows_of_cell(cell, found)
    ]
    for cells in candidates.values():
        given = [[row for pair in _finished(each, folder) for row in rows_of_cell(*pair)] for each in cells]
        whole = [each for each in given if each and len(each) == max(map(len, given))]
        rows += pick_tuned(whole) if whole else []
    return rows


def _finished(cells: Iterable[Cell], folder: BenchFolder) -> list[tuple[Cell, Row]]:
    """Cells with their results and ceilings; one that failed is left out, its error stands in results.csv."""
    pairs = [(cell, row) for cell in cells for row in folder.collect([cell])]
    return [(cell, row) for cell, row in pairs if row.delta is not None and folder.record(cell).exists()]
