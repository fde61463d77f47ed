"""`fewpoint reproduce`: the paper's tables and figures from sequences on disk."""

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
    Path,
    typer.Option(
        "--data",
        metavar="ROOT",
        help="Folder with sequences in the layout of the paper's dataset, published at doi.org/10.5281/zenodo.5007788.",
    ),
]
OutPath = Annotated[
    Path,
    typer.Option("--out", metavar="DIR", help="Folder for the results, or that of a suite, whose cells are then used."),
]
Sequences = Annotated[
    str | None, typer.Option("--sequences", metavar="A,B", help="Only these sequences, by name or as type/name.")
]
Quick = Annotated[
    bool, typer.Option("--quick", help="One sequence of each type, small networks: shows whether all works.")
]
Ours = Annotated[str, typer.Option("--ours", metavar="METHOD", help="The method that stands for fewpoint.")]


def reproduce_command(  # noqa: PLR0913 - one argument per option
    target: Target,
    data: DataPath,
    out: OutPath,
    sequences: Sequences = None,
    quick: Quick = False,
    ours: Ours = "fast",
    seed: Seed = 0,
    assignments: Assignments = None,
    jobs: Jobs = None,
    gpus_per_job: GpusPerJob = 0.0,
    engine: EngineChoice = EngineName.LOCAL,
    address: Address = None,
    device: Device = DeviceName.AUTO,
) -> None:
    """Make a table or figure of the paper from the sequences below ROOT.

    First says what is missing there and about how long it will take. Run again to go on where it stopped.
    """
    from fewpoint.bench.reproduction import QUICK, TARGETS, Plan, reproduce
    from fewpoint.bench.survey import survey

    changes = (*(QUICK if quick else ()), *(_parse(assignment) for assignment in assignments or []))
    Plan((), ours, seed or 0, changes)  # refuses what is not known before anything is read
    found = survey(data, split_names(sequences), first_of_type=quick)
    plan = Plan(found.sequences, ours, seed or 0, changes)
    targets = TARGETS if target == TargetName.ALL else (target.value,)
    chosen_engine = build_engine(engine, address, jobs, gpus_per_job)
    for line in (*found.notes, _foretell(plan, targets, found, out, device, jobs or 1)):
        tell(f"fewpoint: {line}")
    with show_standing() as listener:
        result = reproduce(plan, targets, out, listener, engine=chosen_engine, device=device)
    _tell(result)


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
        f"{describe_seconds(seconds)} with {jobs} at a time on {kind}, a rough guess until some have"
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
            f"{len(result.failures)} of the runs failed, first {first.name}; all else is written. It says why in "
            f"{first.errors}; run the same command to try again"
        )
