"""What our own JSON files must hold: one schema each, checked when a file is read, in a line that names file and field.

A schema is a table of fields: a type, or several; a list of one schema, for each of its entries; a table, for what lies
below; `OneOf` for one of some words; `Each` for a table whose names are free. A field whose name ends in a question
mark may be missing, others may be there.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from fewpoint.errors import FewpointError, InputError

NUMBER = (int, float)
Schema = Any


@dataclass(frozen=True)
class OneOf:
    """One of some words."""

    known: tuple[str, ...]


@dataclass(frozen=True)
class Each:
    """A table of any names, with one schema for what stands below each."""

    schema: Schema


def check_table(table: Any, schema: Schema, path: Path, field: str = "") -> None:
    """Raise InputError for a field that is missing or of another kind."""
    if isinstance(schema, dict):
        _need(isinstance(table, dict), path, field, "an object", table)
        for name, inner in schema.items():
            known = name.removesuffix("?")
            if known in table:
                check_table(table[known], inner, path, f"{field}.{known}" if field else known)
            elif known == name:
                raise InputError(f"{path} must have the field {f'{field}.' if field else ''}{name}; {_REMEDY}")
    elif isinstance(schema, list):
        _need(isinstance(table, list), path, field, "a list", table)
        for number, entry in enumerate(table):
            check_table(entry, schema[0], path, f"{field}[{number}]")
    elif isinstance(schema, Each):
        _need(isinstance(table, dict), path, field, "an object", table)
        for name, entry in table.items():
            check_table(entry, schema.schema, path, f"{field}.{name}")
    elif isinstance(schema, OneOf):
        _need(table in schema.known, path, field, f"one of {', '.join(schema.known)}", table)
    else:
        kinds = schema if isinstance(schema, tuple) else (schema,)
        fits = type(table) in kinds  # not isinstance: True is no number
        _need(fits, path, field, " or ".join(_NAMES[kind] for kind in kinds), table)


def check_version(table: dict[str, Any], known: int, path: Path) -> None:
    """Raise InputError for a file of a later version; one without a version is of the first."""
    version = table.get("version", 1)
    if type(version) is not int or not 1 <= version <= known:
        told = str(version)[:20]
        raise InputError(f"{path} was written by another version of fewpoint (format {told}); update fewpoint")


@contextmanager
def expecting_ours(path: Path) -> Iterator[None]:
    """Turn what a tampered file of ours leads to into one InputError that names it."""
    try:
        yield
    except FewpointError:
        raise
    except (ArithmeticError, AttributeError, LookupError, TypeError, ValueError, RecursionError) as error:
        reason = " ".join(f"{type(error).__name__}: {error}".split())[:120]
        raise InputError(f"{path} is not as fewpoint wrote it ({reason}); {_REMEDY}") from error


_NAMES: dict[type, str] = {
    int: "a whole number",
    float: "a number",
    str: "a text",
    bool: "true or false",
    dict: "an object",
}
_NAMES |= {list: "a list", type(None): "null"}
_REMEDY = "restore it, or make it again"


def _need(fits: bool, path: Path, field: str, what: str, given: Any) -> None:
    if not fits:
        raise InputError(f"{path}: {field or 'it'} must be {what}, got {repr(given)[:40]}; {_REMEDY}")
