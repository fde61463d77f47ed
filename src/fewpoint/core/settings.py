"""How settings of any method are changed, stored and read back; free of torch.

Settings are a dataclass of sections, each a dataclass of plain values.
"""

import difflib
import math
import warnings
from dataclasses import asdict, fields, is_dataclass, replace
from typing import Any, TypeVar

from fewpoint.core.plain_text import parse_number
from fewpoint.errors import SettingsError

S = TypeVar("S")

# Names that settings had in version 0.1, which still work, with a warning.
RENAMED = {
    "phases.warmup_epochs": "warmup.epochs",
    "phases.warmup_rate": "warmup.rate",
    "phases.warmup_prior": "warmup.prior",
    "refinement.unseen": "rounds.heldout",
    "reuse.refine_epochs": "refine.epochs",
    "reuse.refine_rate": "refine.rate",
    "reuse.warm_share": "warm_start.share",
}
RENAMED_SECTIONS = {"refinement": "rounds"}


class RenamedSettingWarning(FutureWarning):
    """A setting was given by a name that will stop working in the next version."""


def override(settings: S, key: str, value: Any) -> S:
    """Change one setting, named section.key; text is read as the setting's type."""
    if not has_setting(settings, key):
        key = _find_renamed(settings, key)
    section_name, _, name = key.partition(".")
    section = getattr(settings, section_name)
    kinds = {entry.name: entry.type for entry in fields(section)}
    converted = _convert(key, value, kinds[name])
    whole: Any = settings
    return replace(whole, **{section_name: replace(section, **{name: converted})})


def override_from_text(settings: S, assignments: list[str]) -> S:
    """Apply assignments of the form section.key=value in order."""
    for assignment in assignments:
        key, equals, value = assignment.partition("=")
        if not equals:
            raise SettingsError(f"a setting must be given as section.key=value, got {assignment}")
        settings = override(settings, key.strip(), value.strip())
    return settings


def has_setting(settings: Any, key: str) -> bool:
    """Whether settings, a dataclass of sections or None, have section.key."""
    section, _, name = key.partition(".")
    values = getattr(settings, section, None)
    return is_dataclass(values) and name in {entry.name for entry in fields(values)}


def find_name(settings: Any, key: str) -> str | None:
    """The name that section.key has in settings, which may have had another before; None if they have no such one."""
    return next((name for name in (key, _rename(key)) if has_setting(settings, name)), None)


def knows_setting(settings: Any, key: str) -> bool:
    """Whether settings have section.key, by the name it has now or had before."""
    return find_name(settings, key) is not None


def as_table(settings: Any) -> dict[str, dict[str, Any]]:
    """The settings as nested plain values, section by section; infinity as text, since JSON has no number for it."""
    return {
        section: {name: str(value) if value == math.inf else value for name, value in values.items()}
        for section, values in asdict(settings).items()
        if values is not None
    }


def from_table(settings: S, table: dict[str, dict[str, Any]]) -> S:
    """The settings with the values that as_table turned into plain ones."""
    for section, values in table.items():
        for name, value in values.items():
            settings = override(settings, f"{section}.{name}", value)
    return settings


def _find_renamed(settings: Any, key: str) -> str:
    """The name that a setting of an earlier version has now; SettingsError if there is none."""
    renamed = _rename(key)
    if not has_setting(settings, renamed):
        raise SettingsError(f"there is no setting {key} here; did you mean {_nearest(settings, renamed)}?")
    warnings.warn(f"the setting {key} is now called {renamed}; use that name", RenamedSettingWarning, stacklevel=4)
    return renamed


def _rename(key: str) -> str:
    """The name that a setting of an earlier version may have now; any other key as it is."""
    section, _, name = key.partition(".")
    return RENAMED.get(key, f"{RENAMED_SECTIONS.get(section, section)}.{name}")


def _nearest(settings: Any, key: str) -> str:
    known = [f"{section}.{name}" for section, values in asdict(settings).items() for name in values or ()]
    by_name = [full for full in known if full.partition(".")[2] == key.rpartition(".")[2]]
    return (by_name or difflib.get_close_matches(key, known, n=1, cutoff=0.0))[0]


def _convert(key: str, value: Any, kind: Any) -> Any:
    """Read text, or check a TOML value, as the setting's type."""
    words = {"true": True, "yes": True, "1": True, "false": False, "no": False, "0": False}
    try:
        number = parse_number(value) if isinstance(value, str) and kind in (int, float) else value
        if kind is bool:
            return words[str(value).lower()]
        if kind is int and not isinstance(value, bool) and float(number) == int(float(number)):
            return int(float(number))
        if kind is float and not isinstance(value, bool):
            return float(number)
        if kind is str:
            return str(value)
    except (KeyError, ValueError, TypeError, OverflowError):
        pass
    kinds = {bool: "true or false", int: "a whole number", float: "a number", str: "text"}
    raise SettingsError(f"{key} must be {kinds[kind]}, got {value}")
