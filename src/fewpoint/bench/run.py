"""A suite from its file to tables, cell by cell, continued where it stopped."""

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from fewpoint.bench import glance
from fewpoint.bench.cells import Cell, plan_cells
from fewpoint.bench.folder import BenchFolder, open_folder, write_error
from fewpoint.bench.methods import check_method
from fewpoint.bench.page import render_page
from fewpoint.bench.results import Row, write_rows
from fewpoint.bench.sequences import BenchSequence
from fewpoint.bench.suite import Suite
from fewpoint.bench.tables import CEILING, build_tables, to_latex, to_markdown
from fewpoint.bench.worker import WORK, CeilingOrder, CellOrder, write_order
from fewpoint.engines.jobs import Engine, Job, Listener, Outcome, Standing, run_jobs
from fewpoint.engines.processes import LocalEngine
from fewpoint.io.atomic import write_text


@dataclass(frozen=True)
class BenchResult:
    """What is known once a suite has been run.

    rows: all cells that are finished or failed, those of earlier starts included. failures: jobs of this start.
    """

    rows: tuple[Row, ...]
    failures: tuple[Outcome, ...]


def run_suite(
    suite: Suite,
    out: Path,
    listener: Listener,
    *,
    methods: tuple[str, ...] = (),
    engine: Engine | None = None,
    device: str = "auto",
) -> BenchResult:
    """Run what is not finished yet, each cell in its own process, and write results, tables and page.

    methods: only these are run, those of the suite if there are none; tables show the suite's and these.
    engine: where cells are run; one after the other on this machine if it is None.
    """
    for method in methods:
        check_method(method)
    with open_folder(out, suite.name) as folder:
        wanted = [cell for cell in plan_cells(suite, methods or suite.methods) if not folder.result(cell).exists()]
        jobs = plan_jobs(suite.sequences, wanted, folder, device)
        cells = plan_cells(suite, tuple(dict.fromkeys((*suite.methods, *methods))))
        try:
            outcomes = run_jobs(jobs, engine or LocalEngine(), keeping_errors(listener))
        finally:  # also on Ctrl-C, so that what is finished can be read
            rows = folder.collect(cells)
            write_tables(rows, folder)
        write_text(folder.path / "report.html", render_page(suite.name, rows, folder))
    return BenchResult(rows, tuple(outcome for outcome in outcomes if outcome.error))


def plan_jobs(sequences: Iterable[BenchSequence], cells: Iterable[Cell], folder: BenchFolder, device: str) -> list[Job]:
    """The ceilings of the sequences that are not known yet, then the cells, each key once."""
    ceilings = [sequence for sequence in sequences if not folder.ceiling(sequence).exists()]
    return [
        *(_order_ceiling(sequence, folder) for sequence in ceilings),
        *(_order_cell(cell, folder, device) for cell in {cell.key: cell for cell in cells}.values()),
    ]


def write_tables(rows: Iterable[Row], folder: BenchFolder) -> None:
    """Write results.csv, tables.md and tables.tex."""
    rows = tuple(rows)
    tables = build_tables(rows)
    write_rows(rows, folder.path / "results.csv")
    sections = (to_markdown(tables), glance.to_markdown(glance.build_glances(rows)))
    write_text(folder.path / "tables.md", "\n".join(filter(None, sections)))
    write_text(folder.path / "tables.tex", to_latex(tables))


def _order_ceiling(sequence: BenchSequence, folder: BenchFolder) -> Job:
    out = folder.ceiling(sequence)
    order = CeilingOrder(str(sequence.input), str(sequence.truth), str(out))
    return Job(
        f"{CEILING} {sequence.type}/{sequence.name}", CEILING, WORK, write_order(order), out.with_suffix(".error.txt")
    )


def _order_cell(cell: Cell, folder: BenchFolder, device: str) -> Job:
    order = CellOrder(cell.job(device), str(cell.sequence.truth), cell.bound, str(folder.result(cell).parent))
    details = f"{cell.variant.name}, {cell.points}, {cell.bound}, seed {cell.seed}"
    name = f"{cell.method} {cell.sequence.type}/{cell.sequence.name} ({details})"
    return Job(name, f"{cell.method} {cell.variant.name}", WORK, write_order(order), folder.cell_error(cell))


def keeping_errors(listener: Listener) -> Listener:
    """Write down why a job failed, or forget why it failed before, then tell the listener."""

    def listen(standing: Standing) -> None:
        ended = standing.ended
        if ended is not None and ended.error:
            write_error(ended.job.errors, ended.error)
        elif ended is not None:
            ended.job.errors.unlink(missing_ok=True)
        listener(standing)

    return listen
