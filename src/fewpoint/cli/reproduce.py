"""`fewpoint reproduce`: the paper's tables and figures from sequences on disk."""

from dataclasses import replace
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from fewpoint.cli.bench import show_standing, split_names
from fewpoint.cli.engines import Address, EngineChoice, EngineName, GpusPerJob, Jobs, build_engine
from fewpoint.cli.options import Assignments, Device, DeviceName, Seed
from fewpoint.cli.voice import say, tell
from fewpoint.errors import FewpointError

if TYPE_CHECKING:
    from fewpoint.bench.reproduction import Plan, Reproduction
    from fewpoint.bench.survey import Survey


class TargetName(StrEnum):
    TABLE_1 = "table1"
    TABLE_2 = "table2"
    FIGURE_PRIORS = "figure-priors"
    FIGURE_STOPPING = "figure-stopping"
    FIGURE_QUALITATIVE = "figure-qualitative"
    ALL = "all"


Target = Annotated[TargetName, typer.Argument(help="What to reproduce.")]
DataPath = Annotated[
    Path | None,
    typer.Option(
        "--data",
        metavar="ROOT|SUITE.toml",
        help="Folder with sequences in the layout of the paper's dataset, published at doi.org/10.5281/zenodo.5007788, "
        "or the file of a suite, whose sequences are taken. --quick makes phantoms without it.",
    ),
]
RowsPath = Annotated[
    Path | None,
    typer.Option("--rows", metavar="FILE.csv", help="Make the tables of these rows of earlier runs, and run nothing."),
]
Methods = Annotated[
    str | None, typer.Option("--methods", metavar="A,B", help="Only these methods, not all of the table or figure.")
]
Seeds = Annotated[str | None, typer.Option("--seeds", metavar="0,1", help="Several seeds, in place of --seed.")]
Tuned = Annotated[
    bool, typer.Option("--tuned", help="Also tune each competitor against the truth; its row is marked (tuned).")
]
OutPath = Annotated[
    Path,
    typer.Option("--out", metavar="DIR", help="Folder for the results, or that of a suite, whose cells are then used."),
]
Sequences = Annotated[
    str | None, typer.Option("--sequences", metavar="A,B", help="Only these sequences, by name or as type/name.")
]
Quick = Annotated[
    bool, typer.Option("--quick", help="One sequence of each type, tiny networks, few sweeps: tests that all works.")
]
Ours = Annotated[str, typer.Option("--ours", metavar="METHOD", help="The method that stands for fewpoint.")]


def reproduce_command(  # noqa: PLR0913 - one argument per option
    target: Target,
    out: OutPath,
    data: DataPath = None,
    rows: RowsPath = None,
    sequences: Sequences = None,
    methods: Methods = None,
    quick: Quick = False,
    tuned: Tuned = False,
    ours: Ours = "fast",
    seed: Seed = 0,
    seeds: Seeds = None,
    assignments: Assignments = None,
    jobs: Jobs = None,
    gpus_per_job: GpusPerJob = 0.0,
    engine: EngineChoice = EngineName.LOCAL,
    address: Address = None,
    device: Device = DeviceName.AUTO,
) -> None:
    """Make a table or figure of the paper from the sequences below ROOT.

    First reports what is missing and about how long it will take. Run it again to continue.
    """
    from fewpoint.bench.reproduction import TARGETS, Plan, make_phantoms, make_quick, reproduce
    from fewpoint.bench.survey import survey

    targets = TARGETS if target == TargetName.ALL else (target.value,)
    if rows is not None:
        _tell(_make_of_rows(rows, targets, ours, out))
        return
    if data is None and not quick:
        raise typer.BadParameter("give sequences by --data, or rows of earlier runs by --rows, or --quick for phantoms")
    changes = tuple(_parse(assignment) for assignment in assignments or [])
    chosen_seeds = tuple(map(_parse_seed, split_names(seeds))) or (seed or 0,)
    plan = Plan((), ours, changes, split_names(methods), chosen_seeds, tuned)
    plan = make_quick(plan) if quick else plan
    found = survey(data or make_phantoms(out), split_names(sequences), first_of_type=quick)
    plan = replace(plan, sequences=found.sequences)
    chosen_engine = build_engine(engine, address, jobs, gpus_per_job)
    for line in (*found.notes, _foretell(plan, targets, found, out, device, jobs or 1)):
        tell(f"fewpoint: {line}")
    with show_standing() as listener:
        result = reproduce(plan, targets, out, listener, engine=chosen_engine, device=device)
    _tell(result)


def _make_of_rows(rows: Path, targets: tuple[str, ...], ours: str, out: Path) -> "Reproduction":
    from fewpoint.bench.paper_rows import read_paper_rows
    from fewpoint.bench.reproduction import Reproduction, write_tables
    from fewpoint.io.atomic import explaining_write_errors

    known = read_paper_rows(rows)
    with explaining_write_errors(out):
        out.mkdir(parents=True, exist_ok=True)
        written = write_tables(known, targets, ours, out)
    if not written:
        raise typer.BadParameter(f"rows make table1 and table2 alone; for {targets[0]} give --data, not --rows")
    return Reproduction(tuple(written), ())


def _parse_seed(text: str) -> int:
    if not text.isdecimal():
        raise typer.BadParameter(f"seeds must be whole numbers from 0, such as 0,1,2, got {text}")
    return int(text)


def _foretell(plan: "Plan", targets: tuple[str, ...], found: "Survey", out: Path, device: DeviceName, jobs: int) -> str:
    """How many runs there are, and about how long they will take."""
    from fewpoint.bench.folder import BenchFolder
    from fewpoint.bench.foresight import describe_seconds, foresee
    from fewpoint.learning.devices import choose_device  # loads torch

    cells, folder, kind = plan.all_cells(targets), BenchFolder(out), choose_device(device).type
    done = sum(folder.result(cell).exists() for cell in cells)
    seconds = foresee(cells, found.extents, folder, device=kind, jobs=jobs)
    return (
        f"sequences: {len(found.extents)}, runs: {len(cells)}, finished: {done}; the others take about "
        f"{describe_seconds(seconds)} with {jobs} at a time on {kind}, a rough guess until some are finished"
    )


def _parse(assignment: str) -> tuple[str, str]:
    key, equals, value = assignment.partition("=")
    if not equals:
        raise typer.BadParameter(f"a setting must be given as section.key=value, got {assignment}")
    return key.strip(), value.strip()


def _tell(result: "Reproduction") -> None:
    """Print tables and where everything lies; then, if any job failed, say so as an error."""
    for path in result.written:
        if path.suffix == ".md":
            say(path.read_text(encoding="utf-8"))
    for path in result.written:
        say(str(path))
    if result.failures:
        first = result.failures[0].job
        raise FewpointError(
            f"{len(result.failures)} of the runs failed, first {first.name}; everything else is written. "
            f"The reason is in {first.errors}; run the same command to try again"
        )
