"""`fewpoint reproduce`: the paper's tables and figures from sequences on disk."""

from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from fewpoint.cli.bench import show_standing
from fewpoint.cli.engines import Address, EngineChoice, EngineName, GpusPerJob, Jobs, build_engine
from fewpoint.cli.segment import Assignments, Device, DeviceName, Seed
from fewpoint.errors import FewpointError

if TYPE_CHECKING:
    from fewpoint.bench.reproduction import Reproduction


class TargetName(StrEnum):
    TABLE_1 = "table1"
    TABLE_2 = "table2"
    FIGURE_PRIORS = "figure-priors"
    FIGURE_STOPPING = "figure-stopping"
    FIGURE_QUALITATIVE = "figure-qualitative"
    ALL = "all"


Target = Annotated[TargetName, typer.Argument(help="What to reproduce.")]
DataPath = Annotated[
    Path, typer.Option("--data", metavar="ROOT", help="Folder with sequences in the layout of the paper's dataset.")
]
OutPath = Annotated[
    Path,
    typer.Option("--out", metavar="DIR", help="Folder for the results, or that of a suite, whose cells are then used."),
]
Ours = Annotated[str, typer.Option("--ours", metavar="METHOD", help="The method that stands for fewpoint.")]


def reproduce_command(  # noqa: PLR0913 - one argument per option
    target: Target,
    data: DataPath,
    out: OutPath,
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

    Run again to go on where it stopped.
    """
    from fewpoint.bench.reproduction import TARGETS, Plan, reproduce

    changes = tuple(_parse(assignment) for assignment in assignments or [])
    plan = Plan.find(data, ours, seed or 0, changes)
    targets = TARGETS if target == TargetName.ALL else (target.value,)
    chosen_engine = build_engine(engine, address, jobs, gpus_per_job)
    with show_standing() as listener:
        result = reproduce(plan, targets, out, listener, engine=chosen_engine, device=device)
    _tell(result)


def _parse(assignment: str) -> tuple[str, str]:
    key, equals, value = assignment.partition("=")
    if not equals:
        raise typer.BadParameter(f"a setting must be given as section.key=value, got {assignment}")
    return key.strip(), value.strip()


def _tell(result: "Reproduction") -> None:
    """Print tables and where everything lies; then, if any job failed, say so as an error."""
    for path in result.written:
        if path.suffix == ".md":
            print(path.read_text(encoding="utf-8"))
    for path in result.written:
        print(path)
    if result.failures:
        first = result.failures[0].job
        raise FewpointError(
            f"{len(result.failures)} of the runs failed, first {first.name}; all else is written. It says why in "
            f"{first.errors}; run the same command to try again"
        )
