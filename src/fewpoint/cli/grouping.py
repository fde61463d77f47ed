"""Options that belong together as one value: a command takes a few dataclasses, a person types their fields.

Help shows them in groups, too: the few that most people need first.
"""

import functools
import inspect
from collections.abc import Callable, Iterator
from dataclasses import MISSING, fields, is_dataclass
from typing import Any, get_type_hints

from typer.core import TyperCommand

GROUPS, REST = ("Input", "Annotations", "Output", "Method", "Machine"), "More"


def grouped(command: Callable[..., None]) -> Callable[..., None]:
    """The command with every argument that is a dataclass of options replaced by its fields, each an option."""
    hints = get_type_hints(command, include_extras=True)
    groups = {name: kind for name, kind in hints.items() if is_dataclass(kind) and isinstance(kind, type)}

    @functools.wraps(command)
    def gather(**given: Any) -> None:
        held = {}
        for name, kind in groups.items():
            held[name] = kind(**{each.name: given.pop(each.name) for each in fields(kind)})
        command(**given, **held)

    signature = inspect.signature(command)
    parameters = [
        option
        for each in signature.parameters.values()
        for option in (_list_fields(groups[each.name]) if each.name in groups else [_name_only(each, hints[each.name])])
    ]
    # What typer reads the options from.
    gather.__signature__ = signature.replace(parameters=parameters)  # pyright: ignore[reportAttributeAccessIssue]
    gather.__annotations__ = {each.name: each.annotation for each in parameters}
    return gather


class GroupedHelp(TyperCommand):
    """A command whose help shows options with a `rich_help_panel` in GROUPS first, and then all others."""

    def format_options(self, ctx: Any, formatter: Any) -> None:
        rows: dict[str, list[tuple[str, str]]] = {name: [] for name in (*GROUPS, REST)}
        for each in self.get_params(ctx):
            record = each.get_help_record(ctx)
            if record is not None:
                rows[getattr(each, "rich_help_panel", None) or REST].append(record)
        for name, records in rows.items():
            with formatter.section(name):
                formatter.write_dl(records)


def _name_only(parameter: inspect.Parameter, hint: Any) -> inspect.Parameter:
    return parameter.replace(kind=inspect.Parameter.KEYWORD_ONLY, annotation=hint)


def _list_fields(kind: type) -> Iterator[inspect.Parameter]:
    hints = get_type_hints(kind, include_extras=True)
    for each in fields(kind):
        default = inspect.Parameter.empty if each.default is MISSING else each.default
        yield inspect.Parameter(each.name, inspect.Parameter.KEYWORD_ONLY, default=default, annotation=hints[each.name])
