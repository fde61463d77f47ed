"""What is to be measured: a TOML file that names sequences, methods, seeds and settings."""

import os
import tomllib
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from fewpoint.bench.methods import check_change, check_method
from fewpoint.bench.protocols import check_protocol
from fewpoint.bench.sequences import BenchSequence, DatasetSequence, SingleSequence, find_sequences
from fewpoint.core.job import Changes
from fewpoint.errors import InputError, SettingsError

ROOT_VARIABLE = "FEWPOINT_DATA"
DEFAULTS: dict[str, list] = {"methods": ["fast"], "seeds": [0], "points": ["2dlocs"], "bounds": ["eta"]}
KINDS = {"methods": str, "seeds": int, "points": str, "bounds": str, "sequences": str}
EXTRA_KEYS = ("name", "type", "input", "truth", "points")
KNOWN = ("name", "root", "variants", "extra", *KINDS)


@dataclass(frozen=True)
class Variant:
    """Settings to change, under a name for the tables."""

    name: str
    changes: Changes = ()


@dataclass(frozen=True)
class Suite:
    """Methods x sequences x seeds x variants x points x bounds.

    points: files next to a sequence's frames, without .csv, or centre; a single sequence has its own. For bounds and
    centre see protocols.
    """

    name: str
    sequences: tuple[BenchSequence, ...]
    methods: tuple[str, ...]
    seeds: tuple[int, ...]
    points: tuple[str, ...]
    bounds: tuple[str, ...]
    variants: tuple[Variant, ...]

    def __post_init__(self) -> None:
        for method in self.methods:
            check_method(method)
        for protocol in self.bounds:
            check_protocol(protocol)
        for variant in self.variants:
            for key, value in variant.changes:
                check_change(key, value)


def read_suite(path: Path) -> Suite:
    """Read a suite; its root is relative to the file, and FEWPOINT_DATA, if set, stands in its place.

    Sequences in the dataset's layout come first, then those of the [[extra]] tables, in the order of the file.
    """
    table = _read_table(path)
    unknown = sorted(table.keys() - set(KNOWN))
    if unknown:
        raise SettingsError(f"suite {path} must hold only {', '.join(KNOWN)}, got {', '.join(unknown)}")
    lists = {key: _read_list(table.get(key, default), key, path) for key, default in DEFAULTS.items()}
    lists["points"] = tuple(name.removesuffix(".csv") for name in lists["points"])
    return Suite(
        name=str(table.get("name", path.stem)),
        sequences=_locate_sequences(table, path),
        variants=_read_variants(table.get("variants", {}), path),
        **lists,
    )


def _read_table(path: Path) -> dict[str, Any]:
    try:
        return tomllib.loads(path.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise SettingsError(f"the suite {path} must be readable TOML: {error}") from error


def _read_list(values: Any, key: str, path: Path) -> tuple:
    """One value or several of the key's kind, none twice."""
    values = values if isinstance(values, list) else [values]
    kind = KINDS[key]
    words = {str: "text", int: "whole numbers"}
    if not values or any(not isinstance(value, kind) or isinstance(value, bool) for value in values):
        raise SettingsError(f"suite {path}: {key} must be a list of {words[kind]}, got {values}")
    if len(set(values)) < len(values):
        raise SettingsError(f"suite {path}: {key} must hold each value once, got {values}")
    return tuple(values)


def _locate_sequences(table: dict[str, Any], path: Path) -> tuple[BenchSequence, ...]:
    root = _find_root(table, path)
    extras = _read_extras(table.get("extra", []), root, path)
    listed = _list_dataset(table, root, path)
    places = [f"{sequence.type}/{sequence.name}" for sequence in (*listed, *extras)]
    twice = [place for place in places[len(listed) :] if places.count(place) > 1]
    if twice:
        raise SettingsError(f"suite {path}: each extra sequence needs its own type and name, {twice[0]} is there twice")
    return (*listed, *extras)


def _find_root(table: dict[str, Any], path: Path) -> Path:
    root = Path(os.environ.get(ROOT_VARIABLE) or path.parent / str(table.get("root", ".")))
    if not root.is_dir():
        raise InputError(f"the suite's root must be a folder, {root} is none; correct root or set {ROOT_VARIABLE}")
    return root.resolve()


def _list_dataset(table: dict[str, Any], root: Path, path: Path) -> tuple[DatasetSequence, ...]:
    """Those that are listed, or all that are found below the root; a suite of extra sequences may list none."""
    if "sequences" not in table:
        return find_sequences(root)
    if table["sequences"] == [] and table.get("extra"):
        return ()
    return tuple(DatasetSequence(root / name) for name in _read_list(table["sequences"], "sequences", path))


def _read_extras(tables: Any, root: Path, path: Path) -> tuple[SingleSequence, ...]:
    """[[extra]] tables, whose paths start from the root."""
    if not isinstance(tables, list) or not all(isinstance(table, dict) for table in tables):
        raise SettingsError(f"suite {path}: extra sequences must be tables [[extra]]")
    return tuple(_read_extra(table, root, path) for table in tables)


def _read_extra(table: dict[str, Any], root: Path, path: Path) -> SingleSequence:
    if table.keys() != set(EXTRA_KEYS) or not all(isinstance(value, str) and value for value in table.values()):
        raise SettingsError(f"suite {path}: [[extra]] must hold the texts {', '.join(EXTRA_KEYS)}, got {table}")
    files = {key: root / table[key] for key in ("input", "truth", "points")}
    return SingleSequence(table["name"], table["type"], **files)


def _read_variants(tables: Any, path: Path) -> tuple[Variant, ...]:
    """[variants.NAME] tables of section.key = value, in the order of the file; without any the settings as they are."""
    if not isinstance(tables, dict) or not all(isinstance(table, dict) for table in tables.values()):
        raise SettingsError(f"suite {path}: variants must be tables such as [variants.wide]")
    return tuple(Variant(name, _flatten(table, path)) for name, table in tables.items()) or (Variant("plain"),)


def _flatten(table: dict[str, Any], path: Path) -> Changes:
    for section, values in table.items():
        if not isinstance(values, dict):
            raise SettingsError(f"suite {path}: a variant changes section.key = value, got {section} = {values}")
    return tuple((f"{section}.{key}", value) for section, values in table.items() for key, value in values.items())
