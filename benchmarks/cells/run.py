"""Run the cells of the suites next to this file that are missing, one suite after another, and keep a row of each.

python run.py COMMIT BUILD RESULTS JOBS: called by start.py with the interpreter of the commit's own environment.

RESULTS/paper.csv has a row for each finished cell, or two where one training is scored with and without tracking, and
RESULTS/curves a file for each that learnt. Cells with a row are not run again, wherever they were run.
"""

import csv
import sys
from collections.abc import Iterable, Iterator
from dataclasses import astuple, replace
from io import StringIO
from pathlib import Path

from fewpoint.bench.cells import Cell, plan_cells
from fewpoint.bench.folder import BenchFolder, open_folder
from fewpoint.bench.paper_rows import PaperRow, read_paper_rows, rows_of_cell, write_paper_rows
from fewpoint.bench.records import Course, read_record
from fewpoint.bench.results import Row
from fewpoint.bench.run import keeping_errors, plan_jobs
from fewpoint.bench.suite import read_suite
from fewpoint.engines.jobs import Standing, run_jobs
from fewpoint.engines.processes import LocalEngine
from fewpoint.io.atomic import write_text

Key = tuple[str, ...]

SUITE = "paper"
CURVES = ("epoch", "phase", "f1", "prior_error", "prior", "observed", "positive_share", "largest_share", "variance")


def main(commit: str, build: Path, results: Path, jobs: int) -> None:
    (results / "curves").mkdir(parents=True, exist_ok=True)
    with open_folder(build / "rows" / commit, SUITE) as out:
        for path in sorted(Path(__file__).resolve().parent.glob("*.toml")):
            suite = read_suite(path)
            cells = plan_cells(suite, suite.methods)
            known = read_kept(results)
            missing = [cell for cell in cells if not out.result(cell).exists() and name_cell(cell, commit) not in known]
            print(f"{path.stem}: {len(missing)} of {len(cells)} cells are missing", flush=True)

            def listen(standing: Standing, cells: tuple[Cell, ...] = cells) -> None:
                if standing.ended is not None:
                    ended = standing.ended
                    print(f"{ended.job.name}: {ended.error or 'finished'}, {ended.seconds:.0f} s", flush=True)
                    keep(cells, out, results, commit)

            keep(cells, out, results, commit)
            sequences = dict.fromkeys(cell.sequence for cell in missing)
            work = plan_jobs(sequences, missing, out, "cpu", resumes=True)
            run_jobs(work, LocalEngine(jobs, apart=False), keeping_errors(listen))


def keep(cells: Iterable[Cell], out: BenchFolder, results: Path, commit: str) -> None:
    """Add the rows and curves of finished cells to those that are kept."""
    rows = read_kept(results)
    for cell in cells:
        for row in out.collect([cell]):
            if row.delta is not None:
                rows |= {name_row(each): each for each in make_rows(cell, row, commit)}
                write_curves(out.record(cell), results / "curves" / f"{'_'.join(name_cell(cell, commit))}.csv")
    write_paper_rows(rows.values(), results / "paper.csv")


def read_kept(results: Path) -> dict[Key, PaperRow]:
    path = results / "paper.csv"
    return {name_row(row): row for row in read_paper_rows(path)} if path.exists() else {}


def make_rows(cell: Cell, row: Row, commit: str) -> list[PaperRow]:
    """What the cell gave, and what it would have given without paths if it found any."""
    return [replace(each, commit=commit) for each in rows_of_cell(cell, row)]


def name_cell(cell: Cell, commit: str) -> Key:
    """What makes a cell another one: that of its row without tracking, which every cell has."""
    sequence, figures = cell.sequence, dict.fromkeys(("f1", "precision", "recall", "max_sp"), 0.0)
    about = (sequence.type, sequence.name, cell.seed, cell.variant.name, cell.points, cell.bound)
    (row,) = make_rows(cell, Row(cell.method, *about, **figures), commit)
    return name_row(row)


def name_row(row: PaperRow) -> Key:
    """Method, sequence, type, seed, size, width, factor and commit as text."""
    return tuple(
        "" if value is None else f"{value:g}" if isinstance(value, float) else str(value) for value in astuple(row)[:8]
    )


def write_curves(record: Path, path: Path) -> None:
    """A row per epoch, nothing for a method without any; what was not looked at stays empty."""
    course = read_record(record).course
    if len(course.phases):
        stream = StringIO()
        csv.writer(stream, lineterminator="\n").writerows([CURVES, *curve_rows(course)])
        write_text(path, stream.getvalue())


def curve_rows(course: Course) -> Iterator[tuple[str, ...]]:
    means = [values.mean(1) for values in (course.priors, course.observed, course.positive_share)]
    columns = (course.f1, course.errors, *means, course.positive_share.max(1), course.variance)
    for number, (phase, *values) in enumerate(zip(course.phases, *columns, strict=True), start=1):
        yield str(number), phase, *("" if value != value else f"{value:.5g}" for value in values)


if __name__ == "__main__":
    main(sys.argv[1], Path(sys.argv[2]), Path(sys.argv[3]), int(sys.argv[4]))
