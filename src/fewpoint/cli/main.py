"""The command `fewpoint`: one line and a non-zero exit for whatever goes wrong."""

import os
import sys
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Annotated, Any, cast

import typer

from fewpoint import __version__
from fewpoint.cli import annotate, batch, bench, convert, demo, evaluate, fetch, info, reproduce, segment
from fewpoint.core.settings import RenamedSettingWarning
from fewpoint.errors import FewpointError

PROGRAM = "fewpoint"
FAILED, MISUSED, INTERRUPTED = 1, 2, 130

# The error that typer's parser raises for a wrong call has no public name; its public child has, and the same members.
UsageError = cast(type[typer.BadParameter], typer.BadParameter.__base__)

app = typer.Typer(
    name=PROGRAM,
    help="Click a few times on an object, get its mask in every frame of a medical volume or video.",
    add_completion=False,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
)
app.command("segment")(segment.segment_command)
app.command("annotate")(annotate.annotate_command)
app.command("batch")(batch.batch_command)
app.command("batch-status")(batch.batch_status_command)
app.command("convert")(convert.convert_command)
app.command("evaluate")(evaluate.evaluate_command)
app.command("bench")(bench.bench_command)
app.command("reproduce")(reproduce.reproduce_command)
app.command("fetch")(fetch.fetch_command)
app.command("info")(info.info_command)
app.command("demo")(demo.demo_command)


def _print_version(wanted: bool) -> None:
    if wanted:
        print(__version__)
        raise typer.Exit


Version = Annotated[
    bool, typer.Option("--version", help="Print the version and exit.", is_eager=True, callback=_print_version)
]


@app.callback(invoke_without_command=True)
def start(context: typer.Context, version: Version = False) -> None:
    if context.invoked_subcommand is None:
        print(context.get_help())


def main() -> None:
    """Run the command line of this process and leave with its exit code."""
    # Before torch is loaded: its threads then sleep while they wait for each other. On two busy cores a training step
    # took 6 to 7 s with threads that spin, and 0.5 to 1.3 s with threads that sleep.
    os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")
    sys.exit(run(sys.argv[1:]))


def run(arguments: list[str]) -> int:
    """Run a command; on an error print one line on standard error and return 1, or 2 if the call was wrong."""
    try:
        with _telling_old_names():
            _invoke(arguments)
    except typer.Exit as leaving:
        return leaving.exit_code
    except UsageError as error:
        return _complain(_describe_misuse(error), MISUSED)
    except FewpointError as error:
        return _complain(str(error), FAILED)
    except KeyboardInterrupt:
        return _complain("stopped; run the same command again to go on from here", INTERRUPTED)
    return 0


def _invoke(arguments: list[str]) -> None:
    """What typer's own entry does, less its printing of errors and its silence about Ctrl-C."""
    command = typer.main.get_command(app)
    with command.make_context(PROGRAM, list(arguments)) as context:
        command.invoke(context)


@contextmanager
def _telling_old_names() -> Iterator[None]:
    """Say in one line that a setting was given by its old name, and once, however often the settings are read."""
    told = set()
    show_others = warnings.showwarning

    def show(message: Warning | str, category: type[Warning], *place: Any, **others: Any) -> None:
        if not issubclass(category, RenamedSettingWarning):
            show_others(message, category, *place, **others)
        elif str(message) not in told:
            told.add(str(message))
            print(f"{PROGRAM}: warning: {message}", file=sys.stderr, flush=True)

    with warnings.catch_warnings():
        warnings.simplefilter("always", RenamedSettingWarning)
        warnings.showwarning = show
        yield


def _describe_misuse(error: typer.BadParameter) -> str:
    path = error.ctx.command_path if error.ctx is not None else PROGRAM
    return f"{error.format_message().rstrip('.')}; see {path} --help"


def _complain(text: str, code: int) -> int:
    print(f"{PROGRAM}: " + " ".join(text.split()), file=sys.stderr)
    return code
