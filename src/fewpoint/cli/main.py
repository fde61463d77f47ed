"""The command `fewpoint`: one line and a non-zero exit for whatever goes wrong."""

import os
import sys
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from itertools import pairwise
from typing import Annotated, Any, cast, get_args, get_type_hints

import typer

from fewpoint import __version__
from fewpoint.cli import (
    annotate,
    batch,
    bench,
    collect,
    convert,
    demo,
    evaluate,
    fetch,
    info,
    models,
    recut,
    reproduce,
    segment,
    serve,
)
from fewpoint.cli.grouping import GroupedHelp
from fewpoint.cli.terminal import (
    AGAIN,
    INTERRUPTED,
    PIPE_CLOSED,
    heed_interrupts,
    leave,
    prepare_streams,
    silence_output,
)
from fewpoint.cli.voice import give_voice
from fewpoint.core.plain_text import is_encodable, show_plainly
from fewpoint.core.settings import RenamedSettingWarning
from fewpoint.errors import FewpointError, InputError

PROGRAM = "fewpoint"
FAILED, MISUSED = 1, 2  # docs/reference/conventions.md tells them
# What torch says where memory on a CPU ends: its own allocator, and the library that it computes with.
MEMORY_WORDS = ("can't allocate memory", "could not create a primitive", "could not create a memory object")
COMPLETING = "_FEWPOINT_COMPLETE"  # set by the shell that asks how to go on

# The error that typer's parser raises for a wrong call has no public name; its public child has, and the same members.
UsageError = cast(type[typer.BadParameter], typer.BadParameter.__base__)

app = typer.Typer(
    name=PROGRAM,
    help="Click a few times on an object, get its mask in every frame of a medical volume or video.",
    context_settings={"help_option_names": ["-h", "--help"]},
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
)
app.command("segment", cls=GroupedHelp)(segment.segment_command)
app.command("annotate")(annotate.annotate_command)
app.command("serve")(serve.serve_command)
app.command("batch")(batch.batch_command)
app.command("batch-status")(batch.batch_status_command)
app.command("recut")(recut.recut_command)
app.command("convert")(convert.convert_command)
app.command("collect")(collect.collect_command)
app.command("evaluate")(evaluate.evaluate_command)
app.command("bench")(bench.bench_command)
app.command("reproduce")(reproduce.reproduce_command)
app.command("fetch")(fetch.fetch_command)
app.add_typer(models.app, name="models")
app.command("info")(info.info_command)
app.command("demo")(demo.demo_command)
give_voice(app)


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
    prepare_streams()
    heed_interrupts()
    if COMPLETING in os.environ:
        app(prog_name=PROGRAM)
    leave(run(sys.argv[1:]))


def run(arguments: list[str]) -> int:
    """Run a command; on an error print one line on standard error and return 1, or 2 if the call was wrong."""
    try:
        _check_arguments(arguments)
        with _telling_old_names():
            _invoke(arguments)
    except typer.Exit as leaving:
        return leaving.exit_code
    except UsageError as error:
        return _complain(_describe_misuse(error), MISUSED)
    except FewpointError as error:
        return _complain(str(error), FAILED)
    except KeyboardInterrupt:
        return _complain(AGAIN, INTERRUPTED)
    except BrokenPipeError:  # whoever read the output has enough
        silence_output()
        return PIPE_CLOSED
    except OSError as error:  # such as a full disk under standard output
        return _complain(f"{error.filename or 'standard input or output'}: {error.strerror or error}", FAILED)
    except (MemoryError, RuntimeError) as error:
        if not _tells_of_memory(error):
            raise
        return _complain("this machine's memory is not enough; reduce the input, or end other programs", FAILED)
    return 0


def _tells_of_memory(error: Exception) -> bool:
    """Whether memory was not enough, which torch says by other errors, too."""
    return isinstance(error, MemoryError) or any(words in str(error) for words in MEMORY_WORDS)


def _check_arguments(arguments: list[str]) -> None:
    """Raise InputError for a name that is no text: it could neither be printed nor kept in a file."""
    for argument in arguments:
        if not is_encodable(argument):
            raise InputError(f"names must be valid UTF-8, got {argument!a}; rename the file or folder")


def _invoke(arguments: list[str]) -> None:
    """What typer's own entry does, less its printing of errors and its silence about Ctrl-C."""
    _refuse_odd_numbers(arguments)
    command = typer.main.get_command(app)
    with command.make_context(PROGRAM, list(arguments)) as context:
        command.invoke(context)


def _refuse_odd_numbers(arguments: list[str]) -> None:
    """Let options take numbers in the digits 0 to 9 alone; Python itself takes `1_0` and other digits for numbers."""
    options = {name for command in app.registered_commands for name in _find_numbers(command.callback)}
    for argument, following in pairwise([*arguments, ""]):
        name, equals, value = argument.partition("=")
        given = value if equals else following
        if name in options and ("_" in given or not given.isascii()):
            raise typer.BadParameter(f"{given!r} is not a valid number for {name}")


def _find_numbers(command: Callable[..., Any] | None) -> Iterator[str]:
    """The options of a command that take a number."""
    for hint in get_type_hints(command, include_extras=True).values() if command else ():
        kind, *about = get_args(hint) or (hint,)
        if about and {int, float} & {kind, *get_args(kind)}:
            names = (*(getattr(about[0], "param_decls", None) or ()), getattr(about[0], "default", None))
            yield from (name for name in names if isinstance(name, str) and name.startswith("--"))


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
    print(f"{PROGRAM}: " + show_plainly(" ".join(text.split())), file=sys.stderr)
    return code
