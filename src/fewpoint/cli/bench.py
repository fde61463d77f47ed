"""`fewpoint bench`: methods against the truth of many sequences."""

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from fewpoint.cli.engines import Address, EngineChoice, EngineName, GpusPerJob, Jobs, build_engine
from fewpoint.cli.options import Device, DeviceName
from fewpoint.cli.trust import Trust
from fewpoint.cli.voice import is_quiet, say, tell
from fewpoint.core.plain_text import show_plainly
from fewpoint.errors import FewpointError

if TYPE_CHECKING:
    from fewpoint.bench.run import BenchResult
    from fewpoint.engines.jobs import Outcome, Standing

MOST_NAMED = 3

SuitePath = Annotated[
    Path, typer.Argument(metavar="SUITE.toml", help="Which methods, sequences, seeds and settings to measure.")
]
OutPath = Annotated[
    Path, typer.Option("--out", metavar="DIR", help="Folder for the results; what is finished in it is kept.")
]
Methods = Annotated[
    str | None, typer.Option("--methods", metavar="A,B", help="Run only these methods, not all of the suite.")
]
Only = Annotated[
    str | None, typer.Option("--only", metavar="A,B", help="Run only these sequences, by name or as type/name.")
]


def bench_command(  # noqa: PLR0913 - one argument per option
    suite_path: SuitePath,
    out: OutPath,
    methods: Methods = None,
    only: Only = None,
    jobs: Jobs = None,
    gpus_per_job: GpusPerJob = 0.0,
    engine: EngineChoice = EngineName.LOCAL,
    address: Address = None,
    device: Device = DeviceName.AUTO,
    trust: Trust = False,
) -> None:
    """Score methods on the sequences of SUITE.toml.

    Writes results.csv, tables.md, tables.tex and report.html. Run it again to continue, and to try failed cells again.
    """
    from fewpoint.bench.run import run_suite
    from fewpoint.bench.suite import read_suite

    suite = read_suite(suite_path)
    chosen_engine = build_engine(engine, address, jobs, gpus_per_job)
    with show_standing() as listener:
        result = run_suite(
            suite,
            out,
            listener,
            methods=split_names(methods),
            only=split_names(only),
            engine=chosen_engine,
            device=device,
        )
    _tell(result, out)


def split_names(names: str | None) -> tuple[str, ...]:
    """Names between commas, each once."""
    return tuple(dict.fromkeys(name.strip() for name in (names or "").split(",") if name.strip()))


@contextmanager
def show_standing() -> "Iterator[Callable[[Standing], None]]":
    """A listener that shows how far a suite is: a live line on a terminal, one line per cell elsewhere."""
    if is_quiet():
        yield _print_failure
        return
    if not sys.stderr.isatty():
        yield _print_line
        return
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

    columns = (MofNCompleteColumn(), BarColumn(bar_width=16), TimeElapsedColumn(), TextColumn("{task.description}"))
    with Progress(*columns, console=Console(stderr=True)) as progress:
        task = progress.add_task("", total=None)

        def show(standing: "Standing") -> None:
            if standing.ended is not None and standing.ended.error:
                progress.console.print(show_plainly(describe_end(standing.ended)), markup=False, highlight=False)
            progress.update(task, total=standing.total, completed=standing.done, description=describe_rest(standing))

        yield show


def describe_end(ended: "Outcome") -> str:
    """The job that has just ended, how long it took, and why it failed if it did."""
    from fewpoint.engines.jobs import summarise_error

    came = f"failed: {summarise_error(ended.error)}" if ended.error else f"{ended.seconds:.1f} s"
    return f"{ended.job.name}: {came}"


def describe_rest(standing: "Standing") -> str:
    """Time left, and below it what has been running longest; fits into 80 columns."""
    return "\n".join([describe_pace(standing), *standing.running[:1]])


def _print_line(standing: "Standing") -> None:
    if standing.ended is None:
        return
    line = f"[{standing.done}/{standing.total}] {describe_end(standing.ended)} ({describe_pace(standing)})"
    tell(line)


def _print_failure(standing: "Standing") -> None:
    if standing.ended is not None and standing.ended.error:
        tell(describe_end(standing.ended))


def describe_pace(standing: "Standing") -> str:
    running = f"{len(standing.running)} running"
    if standing.seconds_left is None:
        return running
    seconds = round(standing.seconds_left)
    hours, minutes = divmod(seconds // 60, 60)
    left = f"{hours} h {minutes} min" if hours else f"{minutes}:{seconds % 60:02d}"
    return f"{running}, {left} left"


def _tell(result: "BenchResult", out: Path) -> None:
    """Print the tables; then, if any job failed, say so as an error."""
    say((out / "tables.md").read_text(encoding="utf-8"))
    say(f"results: {out / 'results.csv'}")
    say(f"report:  {out / 'report.html'}")
    if result.failures:
        names = [outcome.job.name for outcome in result.failures]
        more = f" and {len(names) - MOST_NAMED} more" if len(names) > MOST_NAMED else ""
        raise FewpointError(
            f"failed: {'; '.join(names[:MOST_NAMED])}{more}; everything else is written. The reason is in "
            f"{result.failures[0].job.errors}; run the same command to try again"
        )
