"""The command `fewpoint`: one line and a non-zero exit for whatever goes wrong."""

import sys
from typing import Annotated

import typer

from fewpoint import __version__
from fewpoint.cli import demo, evaluate, info, segment
from fewpoint.errors import FewpointError

FAILED, MISUSED, INTERRUPTED = 1, 2, 130

# The error that typer's parser raises for a wrong call has no public name; its public child has.
USAGE_ERROR = typer.BadParameter.__base__

app = typer.Typer(
    name="fewpoint",
    help="Click a few times on an object, get its mask in every frame of a medical volume or video.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
)
app.command("segment")(segment.segment_command)
app.command("evaluate")(evaluate.evaluate_command)
app.command("info")(info.info_command)
app.command("demo")(demo.demo_command)


@app.callback()
def describe(version: Annotated[bool, typer.Option("--version", help="Print the version.", is_eager=True)] = False) -> None:
    if version:
        print(__version__)
        raise typer.Exit


def main() -> None:
    """Run a command; print one line on standard error and leave with 1, or 2 where the call itself was wrong."""
    sys.exit(run(sys.argv[1:]))


def run(arguments: list[str]) -> int:
    """The exit code of a command."""
    try:
        return app(arguments, standalone_mode=False) or 0
    except FewpointError as error:
        return _complain(str(error), FAILED)
    except (KeyboardInterrupt, typer.Abort):
        return _complain("stopped; the same command goes on from here", INTERRUPTED)
    except USAGE_ERROR as error:
        return _complain(f"{error.format_message()} See fewpoint --help.", MISUSED)


def _complain(text: str, code: int) -> int:
    print("fewpoint: " + " ".join(text.split()), file=sys.stderr)
    return code
