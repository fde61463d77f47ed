"""Every method that a suite may name."""

import difflib

from fewpoint.baselines.trivial import AllPositive, HalfDisc
from fewpoint.core import Listener, Segmenter, ignore
from fewpoint.errors import SettingsError
from fewpoint.pipeline.config import PRESETS, Settings, override

BASELINES: dict[str, Segmenter] = {method.name: method for method in (AllPositive(), HalfDisc())}

Changes = tuple[tuple[str, object], ...]  # settings to change: ("training.batch", 4), …


def list_methods() -> tuple[str, ...]:
    """The baselines, then every preset."""
    return (*BASELINES, *PRESETS)


def check_method(name: str) -> None:
    """Raise SettingsError for a method that does not exist."""
    if name not in list_methods():
        nearest = difflib.get_close_matches(name, list_methods(), n=1, cutoff=0.0)[0]
        raise SettingsError(f"there is no method {name}; did you mean {nearest}? There are {', '.join(list_methods())}")


def find_settings(name: str, changes: Changes = ()) -> Settings | None:
    """A method's settings, changed; None for one that has none."""
    check_method(name)
    if name in BASELINES:
        return None
    settings = PRESETS[name]
    for key, value in changes:
        settings = override(settings, key, value)
    return settings


def build_method(name: str, changes: Changes = (), device: str = "auto", listener: Listener = ignore) -> Segmenter:
    """The method, with its settings changed; one that is trained tells the listener how it goes."""
    settings = find_settings(name, changes)
    if settings is None:
        return BASELINES[name]
    from fewpoint.pipeline.segmenter import PresetSegmenter  # loads torch

    return PresetSegmenter(name, settings, device, listener)
