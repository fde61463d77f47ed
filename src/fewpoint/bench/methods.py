"""Every method that a suite may name."""

import difflib
from dataclasses import fields, is_dataclass
from typing import Any

from fewpoint.baselines.registry import COMPETITORS, build_competitor
from fewpoint.bench.oracles import ORACLES
from fewpoint.core import Listener, Segmenter, ignore
from fewpoint.errors import SettingsError
from fewpoint.pipeline.config import PAPER, PRESETS, Settings, override

# What the paper calls the preset that follows it, without and with its last step.
PAPER_NAMES: dict[str, Settings] = {
    "ssnnpu": override(PAPER, "tracking.enabled", False),
    "ssnnpu+ksptrack": PAPER,
}
ALIASES = {"ssnnpu+ksptrack": "paper"}  # the same method under two names, run once

Changes = tuple[tuple[str, object], ...]  # settings to change: ("training.batch", 4), …


def list_methods() -> tuple[str, ...]:
    """The competitors, every preset, and those that are told something of the truth."""
    return (*list_blind_methods(), *ORACLES)


def list_blind_methods() -> tuple[str, ...]:
    """The methods that know nothing but frames, points and bound: those a person can use."""
    return (*COMPETITORS, *PAPER_NAMES, *PRESETS)


def check_method(name: str) -> None:
    """Raise SettingsError for a method that does not exist."""
    if name not in list_methods():
        nearest = difflib.get_close_matches(name, list_methods(), n=1, cutoff=0.0)[0]
        raise SettingsError(f"there is no method {name}; did you mean {nearest}? There are {', '.join(list_methods())}")


def check_change(key: str, value: object) -> None:
    """Raise SettingsError for a setting that no method has, or a value that it cannot have."""
    known = [settings for settings in map(_own_settings, list_methods()) if has_setting(settings, key)]
    for settings in known or [PAPER]:
        override(settings, key, value)


def find_settings(name: str, changes: Changes = ()) -> Any:
    """A method's settings, with those changed that it has; None for one that has none."""
    check_method(name)
    settings = _own_settings(name)
    for key, value in changes:
        if has_setting(settings, key):
            settings = override(settings, key, value)
    return settings


def has_setting(settings: Any, key: str) -> bool:
    """Whether settings, a dataclass of sections or None, have section.key."""
    section, _, name = key.partition(".")
    values = getattr(settings, section, None)
    return is_dataclass(values) and name in {entry.name for entry in fields(values)}


def build_method(name: str, changes: Changes = (), device: str = "auto", listener: Listener = ignore) -> Segmenter:
    """A blind method with its settings changed; one that learns tells the listener how it goes."""
    settings = find_settings(name, changes)
    if name in ORACLES:
        raise SettingsError(f"{name} is told something of the truth, which only fewpoint bench knows; take another")
    if name in COMPETITORS:
        return build_competitor(name, settings, device, listener)
    from fewpoint.pipeline.segmenter import PresetSegmenter  # loads torch

    return PresetSegmenter(name, settings, device, listener)


def runs_pipeline(name: str) -> bool:
    """Whether a method is the pipeline under some name."""
    return name in PRESETS or name in PAPER_NAMES


def _own_settings(name: str) -> Any:
    if runs_pipeline(name):
        return {**PRESETS, **PAPER_NAMES}[name]
    return COMPETITORS[name].settings if name in COMPETITORS else ORACLES[name]
