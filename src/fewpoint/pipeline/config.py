"""All settings of a run, their presets, and how a user changes them; free of torch."""

import difflib
import math
import tomllib
from dataclasses import asdict, dataclass, field, fields, is_dataclass, replace
from pathlib import Path
from typing import Any

from fewpoint.errors import SettingsError
from fewpoint.learning.settings import (
    AugmentationSettings,
    ClickSettings,
    PhaseSettings,
    PriorSettings,
    RefinementSettings,
    ReuseSettings,
    RiskSettings,
    StoppingSettings,
    TrainingSettings,
)
from fewpoint.models.settings import NetworkSettings
from fewpoint.superpixels.diffusion import DiffusionSettings
from fewpoint.superpixels.slic import SuperpixelSettings
from fewpoint.tracking.settings import TrackingSettings


@dataclass(frozen=True)
class Settings:
    """Everything that decides the masks, apart from the inputs and the seed. The defaults are the paper's."""

    clicks: ClickSettings = field(default_factory=ClickSettings)
    superpixels: SuperpixelSettings = field(default_factory=SuperpixelSettings)
    network: NetworkSettings = field(default_factory=NetworkSettings)
    training: TrainingSettings = field(default_factory=TrainingSettings)
    risk: RiskSettings = field(default_factory=RiskSettings)
    phases: PhaseSettings = field(default_factory=PhaseSettings)
    priors: PriorSettings = field(default_factory=PriorSettings)
    stopping: StoppingSettings = field(default_factory=StoppingSettings)
    augmentation: AugmentationSettings = field(default_factory=AugmentationSettings)
    refinement: RefinementSettings = field(default_factory=RefinementSettings)
    reuse: ReuseSettings = field(default_factory=ReuseSettings)
    diffusion: DiffusionSettings = field(default_factory=DiffusionSettings)
    tracking: TrackingSettings = field(default_factory=TrackingSettings)


PAPER = Settings()

ACCURATE = Settings(
    clicks=ClickSettings(carry=2, focus=2.0),
    network=NetworkSettings(base_width=8, multiple=4, longest_path=1, head_prior=0.0),
    training=TrainingSettings(
        max_side=192, batch=4, weight_decay=1e-4, statistics="sequence", mirrors=True, threads=1, parts=2
    ),
    risk=RiskSettings(keep=1.0),
    phases=replace(PhaseSettings.only_warm_up(24, 1e-3), warmup_prior=0.4),
    augmentation=AugmentationSettings(flips=True, rotation=20.0, scale=1.25, shift=0.1),
    refinement=RefinementSettings(networks=3, rounds=1, sparse_rounds=2, surest=0.5, round_epochs=24, unseen=0.7),
    diffusion=DiffusionSettings(enabled=True),
    tracking=TrackingSettings(enabled=False, radius=0.2, prune=0.5),
)

FAST = replace(
    ACCURATE,
    training=replace(ACCURATE.training, max_side=128, frames_per_epoch=80),
    phases=replace(ACCURATE.phases, warmup_epochs=16),
    refinement=replace(ACCURATE.refinement, networks=2, round_epochs=16),
)

PRESETS = {"accurate": ACCURATE, "fast": FAST, "paper": PAPER}


def preset(name: str, device: str = "cpu") -> Settings:
    """Settings by name; "auto" means accurate on a CUDA device and fast elsewhere.

    >>> preset("auto", "cpu") == preset("fast")
    True
    """
    if name == "auto":
        name = "accurate" if device == "cuda" else "fast"
    if name not in PRESETS:
        raise SettingsError(f"the preset must be one of auto, {', '.join(PRESETS)}, got {name}")
    return PRESETS[name]


def override(settings: Settings, key: str, value: Any) -> Settings:
    """Change one setting, named section.key; text is read as the setting's type.

    >>> override(PAPER, "training.batch", "4").training.batch
    4
    """
    section_name, _, name = key.partition(".")
    section = getattr(settings, section_name, None)
    kinds = {entry.name: entry.type for entry in fields(section)} if is_dataclass(section) else {}
    if name not in kinds:
        raise SettingsError(f"there is no setting {key}; did you mean {_nearest(key)}?")
    converted = _convert(key, value, kinds[name])
    return replace(settings, **{section_name: replace(section, **{name: converted})})


def override_from_text(settings: Settings, assignments: list[str]) -> Settings:
    """Apply assignments of the form section.key=value in order."""
    for assignment in assignments:
        key, equals, value = assignment.partition("=")
        if not equals:
            raise SettingsError(f"a setting must be given as section.key=value, got {assignment}")
        settings = override(settings, key.strip(), value.strip())
    return settings


def override_from_toml(settings: Settings, path: Path) -> Settings:
    """Apply a TOML file with a table a section."""
    try:
        tables = tomllib.loads(path.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise SettingsError(f"the settings file {path} must be readable TOML: {error}") from error
    for section, table in tables.items():
        if not isinstance(table, dict):
            raise SettingsError(f"{path}: {section} must stand in a table such as [training]")
        if section not in as_table(settings):
            raise SettingsError(f"{path}: there is no section {section}; there are {', '.join(as_table(settings))}")
        for name, value in table.items():
            settings = override(settings, f"{section}.{name}", value)
    return settings


def as_table(settings: Settings) -> dict[str, dict[str, Any]]:
    """The settings as nested plain values, section by section; infinity as text, for JSON has no number for it."""
    return {
        section: {name: str(value) if value == math.inf else value for name, value in values.items()}
        for section, values in asdict(settings).items()
    }


def settings_from_table(table: dict[str, dict[str, Any]]) -> Settings:
    """Settings that as_table turned into plain values.

    >>> settings_from_table(as_table(FAST)) == FAST
    True
    """
    settings = PAPER
    for section, values in table.items():
        for name, value in values.items():
            settings = override(settings, f"{section}.{name}", value)
    return settings


def _nearest(key: str) -> str:
    known = [f"{section.name}.{name}" for section in fields(Settings) for name in asdict(getattr(PAPER, section.name))]
    by_name = [full for full in known if full.partition(".")[2] == key.rpartition(".")[2]]
    return (by_name or difflib.get_close_matches(key, known, n=1, cutoff=0.0))[0]


def _convert(key: str, value: Any, kind: type) -> Any:
    """Read text, or check a TOML value, as the setting's type."""
    words = {"true": True, "yes": True, "1": True, "false": False, "no": False, "0": False}
    try:
        if kind is bool:
            return words[str(value).lower()]
        if kind is int and not isinstance(value, bool) and float(value) == int(float(value)):
            return int(float(value))
        if kind is float and not isinstance(value, bool):
            return float(value)
        if kind is str:
            return str(value)
    except (KeyError, ValueError, TypeError, OverflowError):
        pass
    kinds = {bool: "true or false", int: "a whole number", float: "a number", str: "text"}
    raise SettingsError(f"{key} must be {kinds[kind]}, got {value}")
