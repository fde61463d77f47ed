"""Every method that a person can use, by name: those that know only frames, points and bound; free of torch."""

import difflib
from typing import Any

from fewpoint.core.job import Changes
from fewpoint.core.settings import find_name, from_table, override
from fewpoint.errors import SettingsError
from fewpoint.methods.competitors.registry import COMPETITORS
from fewpoint.methods.default import ACCURATE, FAST, DefaultSettings
from fewpoint.methods.paper import PAPER, PaperSettings
from fewpoint.methods.paper_printed import PAPER_PRINTED
from fewpoint.models.settings import NetworkSettings

OwnSettings = DefaultSettings | PaperSettings  # of the methods that run through the pipeline

PRESETS: dict[str, OwnSettings] = {"accurate": ACCURATE, "fast": FAST, "paper": PAPER}

# What the paper calls the preset that follows it, without and with its last step, and its text to the letter.
PAPER_NAMES: dict[str, PaperSettings] = {
    "ssnnpu": override(PAPER, "tracking.enabled", False),
    "ssnnpu+ksptrack": PAPER,
    "paper-printed": PAPER_PRINTED,
}
ALIASES = {"ssnnpu+ksptrack": "paper"}  # the same method under two names, run once


def preset(name: str, device: str = "cpu") -> OwnSettings:
    """The settings of a preset, to be given to segment or changed with dataclasses.replace.

    name: accurate, fast, paper, or auto, which is accurate on a device of the kind cuda and fast on others.
    device: its kind: cpu, cuda or mps.

    >>> preset("auto", "cpu") == preset("fast")
    True
    """
    name = choose_preset(name, device)
    if name not in PRESETS:
        raise SettingsError(f"the preset must be one of auto, {', '.join(PRESETS)}, got {name}")
    return PRESETS[name]


def choose_preset(name: str, device: str) -> str:
    """The preset that a name stands for on a kind of device: "auto" is accurate on CUDA and fast elsewhere."""
    return name if name != "auto" else "accurate" if device == "cuda" else "fast"


def list_methods() -> tuple[str, ...]:
    """The competitors, the paper's names and every preset."""
    return (*COMPETITORS, *PAPER_NAMES, *PRESETS)


def check_method(name: str, known: tuple[str, ...] = ()) -> None:
    """Raise SettingsError for an unknown method; known: names besides those of list_methods."""
    names = (*list_methods(), *known)
    if name not in names:
        nearest = difflib.get_close_matches(name, names, n=1, cutoff=0.0)[0]
        raise SettingsError(f"there is no method {name}; did you mean {nearest}? There are {', '.join(names)}")


def is_own(name: str | None) -> bool:
    """Whether a method, by any of its names, runs through the pipeline; None is the default."""
    return name is None or name in PRESETS or name in PAPER_NAMES


def find_settings(name: str) -> Any:
    """A method's settings as they are; None for one that has none."""
    check_method(name)
    return {**PRESETS, **PAPER_NAMES}[name] if is_own(name) else COMPETITORS[name].settings


def keep_known(settings: Any, changes: Changes) -> Changes:
    """Those changes that settings have, for one list of changes may be meant for several methods.

    A name that a setting of these methods had before may be that of a setting of another now, such as
    phases.warmup_epochs; it is left to that one if the list gives the present name too.
    """
    given = {key for key, _ in changes}
    return tuple(
        (key, value)
        for key, value in changes
        if (name := find_name(settings, key)) == key or (name is not None and name not in given)
    )


def read_own_settings(method: str, table: dict[str, dict[str, Any]]) -> OwnSettings:
    """The settings of a finished run from its manifest; those of version 0.1 hold the settings of both methods.

    Where they name no kind of network, it is the only one there was.
    """
    table = {**table, "network": {"kind": NetworkSettings.kind, **table.get("network", {})}}
    own: dict[str, OwnSettings] = {DefaultSettings.method: ACCURATE, PaperSettings.method: PAPER}
    if method in own:
        return from_table(own[method], table)
    estimates = int(table["phases"]["estimation_epochs"]) > 0
    settings: OwnSettings = PAPER if estimates else ACCURATE
    given = [(f"{section}.{name}", value) for section, values in table.items() for name, value in values.items()]
    for key, value in given:
        name = find_name(settings, key)  # without a warning: nobody gave these by hand
        if name is not None:
            settings = override(settings, name, value)
    return settings
