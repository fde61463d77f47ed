"""One sequence of a batch in plain values, which travel to another process or machine."""

import math
import re
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

from fewpoint.batch.manifest import COLUMNS, Row, strip_suffix
from fewpoint.core import AreaBound, ImageSequence
from fewpoint.errors import InputError
from fewpoint.io.formats import Outputs
from fewpoint.io.images import parse_window, read_sequence
from fewpoint.io.points import find_points, read_points
from fewpoint.pipeline.config import PAPER, Settings, as_table, override, override_from_text, override_from_toml, preset
from fewpoint.pipeline.model import load_model
from fewpoint.pipeline.task import Task


@dataclass(frozen=True)
class Defaults:
    """What holds for every row that does not say otherwise.

    kind: the kind of device that items will be computed on, which the preset auto depends on. assignments: of the form
    section.key=value, after those of the file config. warm_start: a run or its model.npz.
    """

    preset: str = "auto"
    kind: str = "cpu"
    device: str = "auto"
    config: Path | None = None
    assignments: tuple[str, ...] = ()
    formats: tuple[str, ...] = ()
    warm_start: Path | None = None


@dataclass(frozen=True)
class Item:
    """All that decides what becomes of one sequence.

    settings: section by section. largest_box: frame, y0, x0, y1, x1. window: darkest and brightest value.
    """

    name: str
    input: str
    points: str
    settings: dict[str, dict[str, Any]]
    max_fraction: float | None = None
    largest_box: tuple[int, ...] | None = None
    seed: int = 0
    device: str = "auto"
    axis: str = "auto"
    channels: tuple[int, ...] = ()
    added: tuple[str, ...] = ()
    window: tuple[float, float] | None = None
    time_limit_s: float | None = None
    warm_start: str | None = None
    formats: tuple[str, ...] = ()

    @classmethod
    def from_table(cls, table: dict[str, Any]) -> "Item":
        """What asdict and JSON made plain values of."""
        return cls(**{name: tuple(value) if isinstance(value, list) else value for name, value in table.items()})

    @property
    def files(self) -> tuple[Path, ...]:
        """What is read."""
        models = [] if self.warm_start is None else [self.warm_start]
        return tuple(map(Path, (self.input, self.points, *self.added, *models)))


def build_item(row: Row, defaults: Defaults) -> Item:
    """An item of what a row says; InputError or SettingsError for what cannot be meant, whatever the files hold."""
    values = row.values
    if "" in values:
        raise InputError(f"a row must have no more values than there are columns, got {values[''][:40]} beyond them")
    if "input" not in values:
        raise InputError("an input is needed; fill in the column input")
    if "max_fraction" in values and "largest_box" in values:
        raise InputError("give max_fraction or largest_box, not both")
    limit = _read_number(values, "time_limit", float)
    if limit is not None and not 0 < limit < math.inf:
        raise InputError(f"time_limit must be minutes above 0, got {values['time_limit']}")
    path = row.find(values["input"])
    return Item(
        name=_name(values, path),
        input=str(path),
        points=str(_find_points(row, path)),
        settings=_share_table(_choose_settings(row, defaults)),
        max_fraction=_read_number(values, "max_fraction", float),
        largest_box=_read_numbers(values, "largest_box", 5),
        seed=_read_number(values, "seed", int) or 0,
        device=defaults.device,
        axis=values.get("axis", "auto"),
        channels=_read_numbers(values, "channels") or (),
        added=tuple(str(row.find(part.strip())) for part in values.get("with", "").split(";") if part.strip()),
        window=parse_window(values["window"]) if "window" in values else None,
        time_limit_s=None if limit is None else 60 * limit,
        warm_start=_find_start(row, defaults),
        formats=defaults.formats,
    )


def read_task(item: Item) -> Task:
    """Read the frames and points of an item, and check that they go together."""
    sequence = read_sequence(item.input, axis=item.axis, channels=item.channels, added=item.added, window=item.window)
    return Task(
        sequence,
        read_points(item.points, sequence),
        _read_bound(item, sequence),
        read_settings(item.settings),
        item.seed,
        item.device,
        Outputs.of(list(item.formats)),
        item.time_limit_s,
        warm_start=None if item.warm_start is None else load_model(item.warm_start),
    )


def read_settings(table: dict[str, dict[str, Any]]) -> Settings:
    """The settings that as_table made plain values of."""
    settings = PAPER
    for section, values in table.items():
        for name, value in values.items():
            settings = override(settings, f"{section}.{name}", value)
    return settings


def make_name(path: Path) -> str:
    """A name for a run folder of that of its input.

    >>> make_name(Path("scans/Patient 7 (left).nii.gz")), make_name(Path("p3/input-frames"))
    ('Patient-7-left', 'p3')
    """
    own = path.parent.name if path.name == "input-frames" else strip_suffix(path.name)
    return re.sub(r"[^\w.+-]+", "-", own).strip("-.") or "sequence"


def _name(values: dict[str, str], path: Path) -> str:
    name = values.get("name")
    if name is None:
        return make_name(path)
    if not re.fullmatch(r"[\w+-][\w.+-]*", name):
        raise InputError(f"a name must be letters, digits, and -_+. within it, for it names a folder; got {name[:60]}")
    return name


def _find_points(row: Row, path: Path) -> Path:
    if "points" in row.values:
        return row.find(row.values["points"])
    found = find_points(path)
    if found is None:
        raise InputError(f"points on the object are needed and {path} comes with none; fill in the column points")
    return found


def _find_start(row: Row, defaults: Defaults) -> str | None:
    if "warm_start" in row.values:
        return str(row.find(row.values["warm_start"]))
    return None if defaults.warm_start is None else str(defaults.warm_start)


def _choose_settings(row: Row, defaults: Defaults) -> Settings:
    """The preset, then what all rows change, then what this one does."""
    settings = preset(row.values.get("preset", defaults.preset), defaults.kind)
    if defaults.config is not None:
        settings = override_from_toml(settings, defaults.config)
    settings = override_from_text(settings, list(defaults.assignments))
    own = row.values.get("settings", "")
    if own.lower().endswith(".toml") and "=" not in own:
        return override_from_toml(settings, row.find(own))
    return override_from_text(settings, [part for part in own.split(";") if part.strip()])


@lru_cache(maxsize=64)
def _share_table(settings: Settings) -> dict[str, dict[str, Any]]:
    """One table for all items of the same settings, for a study may have ten thousand."""
    return as_table(settings)


def _read_number(values: dict[str, str], column: str, kind: type) -> Any:
    if column not in values:
        return None
    try:
        number = kind(values[column])
    except ValueError:
        number = None
    if number is None or (kind is int and number < 0):
        words = {int: "a whole number, 0 or above", float: "a number"}[kind]
        raise InputError(f"{column} must be {words}, got {values[column][:40]}")
    return number


def _read_numbers(values: dict[str, str], column: str, count: int | None = None) -> tuple[int, ...] | None:
    if column not in values:
        return None
    try:
        numbers = tuple(int(part) for part in re.split(r"[,;\s]+", values[column]))
    except ValueError:
        numbers = ()
    if not numbers or (count and len(numbers) != count):
        raise InputError(f"{column} must be {COLUMNS[column]}, got {values[column][:40]}")
    return numbers


def _read_bound(item: Item, sequence: ImageSequence) -> AreaBound | None:
    if item.max_fraction is not None:
        return AreaBound(item.max_fraction)
    if item.largest_box is None:
        return None
    frame, *box = item.largest_box
    if not 0 <= frame < len(sequence):
        raise InputError(f"the box is on frame {frame}, but the sequence has frames 0 to {len(sequence) - 1}")
    return AreaBound.from_box(tuple(box), sequence.size)
