"""What is to be measured: a TOML file that names sequences, methods, seeds and settings."""

import os
import tomllib
from collections.abc import Iterable
from dataclasses import dataclass, replace
from itertools import product
from pathlib import Path
from typing import Any

from fewpoint.bench.methods import check_change, check_method, check_refinable
from fewpoint.bench.person import ANYWHERE, NONE, Effort
from fewpoint.bench.protocols import check_points, check_protocol
from fewpoint.bench.sequences import (
    BenchSequence,
    DatasetSequence,
    SingleSequence,
    choose_sequences,
    find_sequences,
    place_of,
)
from fewpoint.core.job import Changes
from fewpoint.errors import InputError, SettingsError

ROOT_VARIABLE = "FEWPOINT_DATA"
DEFAULTS: dict[str, list] = {"methods": ["fast"], "seeds": [0], "points": ["2dlocs"], "bounds": ["eta"]}
KINDS = {"methods": str, "seeds": int, "points": str, "bounds": str, "sequences": str, "words": str, "look": str}
EXTRA_KEYS = ("name", "type", "input", "truth", "points")
EFFORT_KEYS = ("points", "words", "look", "rounds")
KNOWN = ("name", "root", "variants", "extra", "effort", "sequences", *DEFAULTS)


@dataclass(frozen=True)
class Variant:
    """Settings to change, under a name for the tables. witness: of fewpoint's own methods, "" for none."""

    name: str
    changes: Changes = ()
    witness: str = ""


@dataclass(frozen=True)
class Suite:
    """Methods x sequences x seeds x variants x points x bounds.

    points: files next to a sequence's frames, without .csv, centre or spread-COUNT; a single sequence has its own. For
    bounds and points without a file see protocols.
    efforts: if there are any, a person is played who starts with the points of each and corrects the masks.
    """

    name: str
    sequences: tuple[BenchSequence, ...]
    methods: tuple[str, ...]
    seeds: tuple[int, ...]
    points: tuple[str, ...]
    bounds: tuple[str, ...]
    variants: tuple[Variant, ...]
    efforts: tuple[Effort, ...] = ()

    def __post_init__(self) -> None:
        self.check_methods(self.methods)
        for points in (*self.points, *(effort.points for effort in self.efforts)):
            check_points(points)
        for protocol in self.bounds:
            check_protocol(protocol)
        for variant in self.variants:
            for key, value in variant.changes:
                check_change(key, value)

    def check_methods(self, methods: Iterable[str]) -> None:
        """Raise SettingsError for a method that does not exist, or that efforts cannot correct."""
        for method in methods:
            check_refinable(method) if self.efforts else check_method(method)

    def choose(self, names: Iterable[str]) -> "Suite":
        """The same with some of its sequences, each by its name or as type/name."""
        return replace(self, sequences=choose_sequences(self.sequences, names))


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
        efforts=_read_efforts(table.get("effort", []), lists["points"], path),
        **lists,
    )


def _read_table(path: Path) -> dict[str, Any]:
    try:
        return tomllib.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError) as error:
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
    places = [place_of(sequence) for sequence in (*listed, *extras)]
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


def _read_efforts(tables: Any, points: tuple[str, ...], path: Path) -> tuple[Effort, ...]:
    """[[effort]] tables; every combination of what one lists. points: of a table that names none."""
    tables = tables if isinstance(tables, list) else [tables]
    if not all(isinstance(table, dict) for table in tables):
        raise SettingsError(f"suite {path}: efforts must be tables [[effort]]")
    efforts = [effort for table in tables for effort in _read_effort(table, points, path)]
    twice = [effort for effort in efforts if efforts.count(effort) > 1]
    if twice:
        words = f"points {twice[0].points}, words {twice[0].words}, look {twice[0].look}"
        raise SettingsError(f"suite {path}: each effort must be there once, one of {words} is there twice")
    return tuple(efforts)


def _read_effort(table: dict[str, Any], points: tuple[str, ...], path: Path) -> list[Effort]:
    unknown = sorted(table.keys() - set(EFFORT_KEYS))
    if unknown:
        raise SettingsError(
            f"suite {path}: [[effort]] must hold only {', '.join(EFFORT_KEYS)}, got {', '.join(unknown)}"
        )
    rounds = table.get("rounds", 0)
    if type(rounds) is not int:
        raise SettingsError(f"suite {path}: rounds of an effort must be a whole number, got {rounds}")
    defaults = {"points": list(points), "words": NONE, "look": ANYWHERE}
    starts, words, looks = (_read_list(table.get(key, default), key, path) for key, default in defaults.items())
    starts = [name.removesuffix(".csv") for name in starts]
    return [Effort(*each, rounds) for each in product(starts, words, looks)]


def _read_variants(tables: Any, path: Path) -> tuple[Variant, ...]:
    """[variants.NAME] tables of section.key = value, in the order of the file; without any the settings as they are.

    witness = "NAME" asks for a pretrained model.
    """
    if not isinstance(tables, dict) or not all(isinstance(table, dict) for table in tables.values()):
        raise SettingsError(f"suite {path}: variants must be tables such as [variants.wide]")
    return tuple(_read_variant(name, table, path) for name, table in tables.items()) or (Variant("plain"),)


def _read_variant(name: str, table: dict[str, Any], path: Path) -> Variant:
    witness = table.get("witness", "")
    if not isinstance(witness, str):
        raise SettingsError(f"suite {path}: witness of a variant must be a model's name, got {witness}")
    return Variant(name, _flatten({key: value for key, value in table.items() if key != "witness"}, path), witness)


def _flatten(table: dict[str, Any], path: Path) -> Changes:
    for section, values in table.items():
        if not isinstance(values, dict):
            raise SettingsError(f"suite {path}: a variant changes section.key = value, got {section} = {values}")
    return tuple((f"{section}.{key}", value) for section, values in table.items() for key, value in values.items())
