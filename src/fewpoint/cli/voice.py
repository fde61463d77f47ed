"""How much a command says: -q and -v of every command, and what they mean for lines, progress and logs."""

import functools
import inspect
import logging
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Annotated, get_type_hints

import typer

from fewpoint.core.plain_text import show_plainly

QUIET, NORMAL, VERBOSE, DEBUG = -1, 0, 1, 2
LEVELS = {QUIET: logging.ERROR, NORMAL: logging.WARNING, VERBOSE: logging.INFO, DEBUG: logging.DEBUG}

Quiet = Annotated[
    bool, typer.Option("--quiet", "-q", help="Print only warnings, errors and requested output, such as JSON.")
]
Verbose = Annotated[
    int,
    typer.Option(
        "--verbose", "-v", count=True, help="Log what is done, with training figures; -vv also files and tracebacks."
    ),
]

_loudness: ContextVar[int] = ContextVar("loudness", default=NORMAL)


def loudness() -> int:
    """What the command that runs was asked to say: QUIET, NORMAL, VERBOSE or DEBUG."""
    return _loudness.get()


def is_quiet() -> bool:
    return loudness() == QUIET


def say(line: str, *, bold: bool = False) -> None:
    """A line of the result on standard output, unless the command is to be quiet. bold: on a terminal."""
    if not is_quiet():
        typer.secho(show_plainly(line), bold=bold)
        sys.stdout.flush()


def tell(line: str) -> None:
    """A line on standard error."""
    print(show_plainly(line), file=sys.stderr, flush=True)


def give_voice(app: typer.Typer) -> None:
    """Give every command, and those of groups, the options -q and -v."""
    for command in app.registered_commands:
        if command.callback is not None:
            command.callback = with_voice(command.callback)
    for group in app.registered_groups:
        if group.typer_instance is not None:
            give_voice(group.typer_instance)


def with_voice(command: Callable[..., None]) -> Callable[..., None]:
    """The command with the options -q and -v."""

    @functools.wraps(command)
    def speak(*, quiet: bool = False, verbose: int = 0, **given: object) -> None:
        if quiet and verbose:
            raise typer.BadParameter("give --quiet or --verbose, not both")
        with speaking(QUIET if quiet else min(verbose, DEBUG)):
            command(**given)

    own = {
        "quiet": inspect.Parameter("quiet", inspect.Parameter.KEYWORD_ONLY, default=False, annotation=Quiet),
        "verbose": inspect.Parameter("verbose", inspect.Parameter.KEYWORD_ONLY, default=0, annotation=Verbose),
    }
    signature = inspect.signature(command)
    # What typer reads the options from.
    speak.__signature__ = signature.replace(parameters=[*signature.parameters.values(), *own.values()])  # pyright: ignore[reportAttributeAccessIssue]
    hints = get_type_hints(command, include_extras=True)
    speak.__annotations__ = {**hints, **{name: each.annotation for name, each in own.items()}}
    return speak


@contextmanager
def speaking(loud: int) -> Iterator[None]:
    """Let the loggers of the package speak on standard error, as loud as asked for."""
    logger = logging.getLogger("fewpoint")
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(logging.Formatter("%(asctime)s %(name)s: %(message)s", "%H:%M:%S"))
    token, level = _loudness.set(loud), logger.level
    logger.addHandler(handler)
    logger.setLevel(LEVELS[loud])
    try:
        yield
    except Exception:
        logger.debug("the command failed", exc_info=True)
        raise
    finally:
        logger.setLevel(level)
        logger.removeHandler(handler)
        _loudness.reset(token)
