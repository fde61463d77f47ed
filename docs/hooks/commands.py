"""The reference of the command line, made from the commands themselves."""

import re
from collections.abc import Iterator
from typing import Any

import typer

from fewpoint.cli.main import PROGRAM, app

WIDE = 10_000  # columns, so that no line of help is broken


def describe_all() -> str:
    """A section for each command, in the order of `fewpoint --help`."""
    return "\n\n".join(_describe(context) for context in _walk(typer.main.get_command(app), PROGRAM))


def _walk(command: Any, path: str, parent: Any = None) -> Iterator[Any]:
    """The context of the program itself and of each command that does something, groups' members included."""
    context = command.context_class(command, info_name=path.rpartition(" ")[2], parent=parent, max_content_width=WIDE)
    members = getattr(command, "commands", {})
    if parent is None or not members:
        yield context
    for name, member in members.items():
        if not member.hidden:
            yield from _walk(member, f"{path} {name}", context)


def _describe(context: Any) -> str:
    command = context.command
    usage = " ".join([context.command_path, *command.collect_usage_pieces(context)])
    lines = [f"## {context.command_path}", "", "```text", usage, "```", "", _paragraphs(command.help), ""]
    records = [record for each in command.get_params(context) if (record := each.get_help_record(context))]
    lines += ["| argument or option | meaning |", "|---|---|"]
    lines += [f"| `{' '.join(name.split())}` | {_escape(text)} |" for name, text in records]
    return "\n".join(lines)


def _paragraphs(text: str | None) -> str:
    return "\n\n".join(" ".join(part.split()) for part in (text or "").split("\n\n"))


def _escape(text: str) -> str:
    """Text that keeps its place in a table, with nothing in it that means something to Markdown."""
    return re.sub(r"([|<>*\[\]_`])", r"\\\1", " ".join(text.split()))
