"""Every method that a suite may name."""

from pathlib import Path
from typing import Any

from fewpoint.bench.oracles import ORACLES
from fewpoint.core import Listener, Segmenter, ignore
from fewpoint.core.job import Changes, Job
from fewpoint.core.settings import has_setting, knows_setting, override
from fewpoint.errors import SettingsError
from fewpoint.methods import registry
from fewpoint.methods.competitors.registry import COMPETITORS, build_competitor
from fewpoint.methods.paper import PAPER
from fewpoint.methods.registry import keep_known
from fewpoint.methods.resolve import change_settings, resolve_settings


def list_methods() -> tuple[str, ...]:
    """The competitors, every preset, and those that know something of the truth."""
    return (*registry.list_methods(), *ORACLES)


def check_method(name: str) -> None:
    """Raise SettingsError for a method that does not exist."""
    registry.check_method(name, tuple(ORACLES))


def check_blind(name: str) -> None:
    """Raise SettingsError for a method that does not exist, or that needs a truth."""
    check_method(name)
    if name in ORACLES:
        raise SettingsError(f"{name} uses ground truth, which only fewpoint bench has; choose another")


def check_refinable(name: str) -> None:
    """Raise SettingsError for a method whose masks nobody can correct."""
    check_method(name)
    if not registry.is_own(name):
        known = ", ".join(registry.PRESETS)
        raise SettingsError(f"an effort needs a method whose runs can be refined: {known}; those of {name} cannot")


def check_change(key: str, value: object) -> None:
    """Raise SettingsError for a setting that no method has, or a value that it cannot have."""
    every = list(map(_own_settings, list_methods()))
    known = [settings for settings in every if has_setting(settings, key)]
    renamed = [settings for settings in every if knows_setting(settings, key)]
    for settings in known or renamed[:1] or [PAPER]:
        override(settings, key, value)


def choose_changes(name: str, changes: Changes) -> Changes:
    """Those changes that a method has settings for, since a variant of a suite is meant for all its methods."""
    check_method(name)
    return keep_known(_own_settings(name), changes)


def find_settings(name: str, changes: Changes = ()) -> Any:
    """A method's settings, with those changed that it has; None for one that has none."""
    kept = choose_changes(name, changes)
    if name in ORACLES:
        return change_settings(name, ORACLES[name], kept)
    return resolve_settings(Job(method=name, changes=kept))


def build_method(
    name: str,
    changes: Changes = (),
    device: str = "auto",
    listener: Listener = ignore,
    witness: str = "",
    folder: Path | None = None,
) -> Segmenter:
    """A blind method with its settings changed; one that learns reports to the listener how it goes.

    witness: a pretrained model that has a say in the masks of fewpoint's own methods. folder: where those go on if they
    are killed.
    """
    check_blind(name)
    settings = find_settings(name, changes)
    if name in COMPETITORS:
        return build_competitor(name, settings, device, listener)
    from fewpoint.runs.segmenter import PresetSegmenter  # loads torch

    return PresetSegmenter(name, settings, device, listener, witness, folder)


def _own_settings(name: str) -> Any:
    return ORACLES[name] if name in ORACLES else registry.find_settings(name)
