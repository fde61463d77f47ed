"""The reference of settings: what each means is written on the page, its values come from the program."""

import re
from typing import Any

from fewpoint.bench.methods import find_settings, list_methods
from fewpoint.core.settings import as_table
from fewpoint.methods.registry import PRESETS

TABLE = re.compile(r"^\| setting \| meaning \|\n\|---\|---\|\n((?:\| .* \|\n?)+)", re.MULTILINE)
ROW = re.compile(r"^\| `([a-z_]+\.[a-z_]+)` \| (.+) \|$", re.MULTILINE)
Values = dict[str, dict[str, Any]]  # of a method or preset: by name of the setting


def fill(page: str) -> str:
    """Add the values to each table of the page; a setting without a meaning, or the reverse, is an error."""
    check(page)
    return TABLE.sub(lambda table: _fill_table(ROW.findall(table[1])), page)


def check(page: str) -> None:
    """Raise ValueError unless the page explains every setting of every method, and no other, once."""
    explained = [name for rows in TABLE.findall(page) for name, _ in ROW.findall(rows)]
    there = {name for values in _collect().values() for name in values}
    wrong = sorted(there ^ set(explained)) or sorted({name for name in explained if explained.count(name) > 1})
    if wrong:
        raise ValueError(f"docs/reference/settings.md must explain each setting once, not so: {', '.join(wrong)}")


def _collect() -> Values:
    """Settings of each preset, then of each competitor that has some."""
    methods = [name for name in list_methods() if name not in PRESETS and find_settings(name) is not None]
    found = {**PRESETS, **{name: find_settings(name) for name in methods}}
    return {
        name: {f"{section}.{key}": each for section, part in as_table(settings).items() for key, each in part.items()}
        for name, settings in found.items()
    }


def _fill_table(rows: list[tuple[str, str]]) -> str:
    """One column per preset if presets have these settings, else the value and the methods that have it."""
    values = _collect()
    presets = [name for name in PRESETS if rows[0][0] in values[name]]
    if presets:
        head = ["setting", *(f"`{name}`" for name in presets), "meaning"]
        body = [[f"`{key}`", *(_write(values[name][key]) for name in presets), meaning] for key, meaning in rows]
    else:
        head = ["setting", "value", "of", "meaning"]
        owners = {key: [name for name in values if key in values[name]] for key, _ in rows}
        body = [
            [f"`{key}`", _write(values[owners[key][0]][key]), ", ".join(f"`{n}`" for n in owners[key]), meaning]
            for key, meaning in rows
        ]
    return "\n".join("| " + " | ".join(line) + " |" for line in [head, ["---"] * len(head), *body]) + "\n"


def _write(value: Any) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)
