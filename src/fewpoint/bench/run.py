"""A suite from its file to tables, cell by cell, continued where it stopped."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from fewpoint.bench import effort_tables, glance
from fewpoint.bench.cells import Cell, plan_cells
from fewpoint.bench.effort import EffortOrder
from fewpoint.bench.effort_figures import write_curves
from fewpoint.bench.folder import BenchFolder, open_folder, write_error
from fewpoint.bench.page import render_effort_page, render_page
from fewpoint.bench.results import Row, write_rows
from fewpoint.bench.rounds import EffortRow, write_rounds
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
    efforts: the same as rows of a suite of efforts, which has no others.
    """

    rows: tuple[Row, ...]
    failures: tuple[Outcome, ...]
    efforts: tuple[EffortRow, ...] = ()


def run_suite(
    suite: Suite,
    out: Path,
    listener: Listener,
    *,
    methods: tuple[str, ...] = (),
    only: tuple[str, ...] = (),
    engine: Engine | None = None,
    device: str = "auto",
) -> BenchResult:
    """Run what is not finished yet, each cell in its own process, and write results, tables and page.

    methods: only these are run, those of the suite if there are none; tables show the suite's and these.
    only: names of sequences, if not all are to be run; tables show all that there is.
    engine: where cells are run; one after the other on this machine if it is None.
    """
    suite.check_methods(methods)
    chosen = suite.choose(only) if only else suite
    with open_folder(out, suite.name) as folder:
        wanted = [cell for cell in plan_cells(chosen, methods or suite.methods) if not folder.result(cell).exists()]
        jobs = plan_jobs(() if suite.efforts else chosen.sequences, wanted, folder, device)
        cells = plan_cells(suite, tuple(dict.fromkeys((*suite.methods, *methods))))
        try:
            outcomes = run_jobs(jobs, engine or LocalEngine(), keeping_errors(listener))
        finally:  # also on Ctrl-C, so that what is finished can be read
            rows = folder.collect(cell for cell in cells if cell.effort is None)
            efforts = folder.collect_efforts(cell for cell in cells if cell.effort is not None)
            write_effort_tables(efforts, folder) if suite.efforts else write_tables(rows, folder)
        write_page(suite, rows, efforts, folder)
    return BenchResult(rows, tuple(outcome for outcome in outcomes if outcome.error), efforts)


def plan_jobs(
    sequences: Iterable[BenchSequence],
    cells: Iterable[Cell],
    folder: BenchFolder,
    device: str,
    resumes: bool = False,
) -> list[Job]:
    """The ceilings of the sequences that are not known yet, then the cells, each key once.

    Efforts that correct the same run are one job. resumes: whether a killed cell goes on where it was.
    """
    ceilings = [sequence for sequence in sequences if not folder.ceiling(sequence).exists()]
    jobs = [_order_ceiling(sequence, folder) for sequence in ceilings]
    same_start: dict[str, list[Cell]] = {}
    for cell in {cell.key: cell for cell in cells}.values():
        same_start.setdefault(cell.start.key, []).append(cell)
    for same in same_start.values():
        jobs += [_order_cell(cell, folder, device, resumes) for cell in same if cell.effort is None]
        efforts = [cell for cell in same if cell.effort is not None]
        jobs += [_order_efforts(efforts, folder, device)] if efforts else []
    return jobs


def write_tables(rows: Iterable[Row], folder: BenchFolder) -> None:
    """Write results.csv, tables.md and tables.tex."""
    rows = tuple(rows)
    tables = build_tables(rows)
    write_rows(rows, folder.path / "results.csv")
    sections = (to_markdown(tables), glance.to_markdown(glance.build_glances(rows)))
    write_text(folder.path / "tables.md", "\n".join(filter(None, sections)))
    write_text(folder.path / "tables.tex", to_latex(tables))


def write_page(suite: Suite, rows: Sequence[Row], efforts: Sequence[EffortRow], folder: BenchFolder) -> None:
    """Write report.html, and the figure that a page about efforts shows."""
    if suite.efforts:
        write_curves(efforts, folder.curves)
        page = render_effort_page(suite.name, efforts, folder)
    else:
        page = render_page(suite.name, rows, folder)
    write_text(folder.path / "report.html", page)


def write_effort_tables(rows: Sequence[EffortRow], folder: BenchFolder) -> None:
    """Write results.csv and tables.md of efforts."""
    write_rounds(rows, folder.path / "results.csv")
    write_text(folder.path / "tables.md", effort_tables.to_markdown(effort_tables.build_tables(rows)))


def _order_ceiling(sequence: BenchSequence, folder: BenchFolder) -> Job:
    out = folder.ceiling(sequence)
    order = CeilingOrder(str(sequence.input), str(sequence.truth), str(out))
    return Job(
        f"{CEILING} {sequence.type}/{sequence.name}", CEILING, WORK, write_order(order), out.with_suffix(".error.txt")
    )


def _order_cell(cell: Cell, folder: BenchFolder, device: str, resumes: bool) -> Job:
    out = str(folder.result(cell).parent)
    order = CellOrder(cell.job(device), str(cell.sequence.truth), cell.bound, out, cell.points, resumes)
    return Job(_name(cell), f"{cell.method} {cell.variant.name}", WORK, write_order(order), folder.cell_error(cell))


def _order_efforts(cells: list[Cell], folder: BenchFolder, device: str) -> Job:
    """Several efforts that correct one run."""
    first = cells[0]
    efforts = tuple((cell.effort, str(folder.result(cell).parent)) for cell in cells if cell.effort is not None)
    start = str(folder.start(first))
    order = EffortOrder(first.start.job(device), str(first.sequence.truth), first.bound, start, efforts)
    words = ", ".join(f"{effort.words} x {effort.rounds}" for effort, _ in efforts)
    kind = f"{first.method} {first.variant.name} {words}"
    return Job(f"{_name(first)}: {words}", kind, WORK, write_order(order), folder.cell_error(first))


def _name(cell: Cell) -> str:
    details = f"{cell.variant.name}, {cell.points}, {cell.bound}, seed {cell.seed}"
    return f"{cell.method} {cell.sequence.type}/{cell.sequence.name} ({details})"


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
