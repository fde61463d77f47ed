"""Every competitor by name; nothing is loaded before it is built."""

from dataclasses import dataclass
from importlib import import_module
from typing import Any

from fewpoint.baselines.settings import AlterEstPuSettings, DlPriorSettings, EelSettings, KspTrackSettings
from fewpoint.core import Listener, Segmenter, ignore


@dataclass(frozen=True)
class Competitor:
    """place: module of this package and class. settings: None for a method without any, which draws nothing either."""

    name: str
    place: str
    settings: Any = None


COMPETITORS: dict[str, Competitor] = {
    entry.name: entry
    for entry in (
        Competitor("all-positive", "trivial:AllPositive"),
        Competitor("half-disc", "trivial:HalfDisc"),
        Competitor("random-walker", "random_walker:RandomWalker"),
        Competitor("gaze2segment", "gaze2segment:Gaze2Segment"),
        Competitor("eel", "eel:Eel", EelSettings()),
        Competitor("ksptrack", "ksptrack:KspTrack", KspTrackSettings()),
        Competitor("dl-prior", "dl_prior:DlPrior", DlPriorSettings()),
        Competitor("alterestpu", "alterestpu:AlterEstPu", AlterEstPuSettings()),
    )
}


def build_competitor(name: str, settings: Any, device: str = "auto", listener: Listener = ignore) -> Segmenter:
    """The competitor; one with settings computes on the device and tells the listener how it goes."""
    module, _, kind = COMPETITORS[name].place.partition(":")
    method = getattr(import_module(f"fewpoint.baselines.{module}"), kind)
    return method() if settings is None else method(settings, device, listener)
