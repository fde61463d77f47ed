"""Every competitor by name; nothing is loaded before it is built."""

from dataclasses import dataclass
from importlib import import_module
from typing import Any

from fewpoint.core import Listener, Segmenter, ignore
from fewpoint.methods.competitors import minisam
from fewpoint.methods.competitors.settings import AlterEstPuSettings, DlPriorSettings, EelSettings, KspTrackSettings
from fewpoint.witness import store


@dataclass(frozen=True)
class Competitor:
    """A method to compare with.

    place: module of this package and class. summary: one line for people. settings: None for a method without any,
    which uses no random numbers either. optional: needs a model that is fetched separately. model: its name, if it is
    kept with other pretrained models.
    """

    name: str
    place: str
    summary: str
    settings: Any = None
    optional: bool = False
    model: str = ""


COMPETITORS: dict[str, Competitor] = {
    entry.name: entry
    for entry in (
        Competitor("all-positive", "trivial:AllPositive", "every pixel"),
        Competitor("half-disc", "trivial:HalfDisc", "a disc of half the size limit's area around each click"),
        Competitor("random-walker", "random_walker:RandomWalker", "clicks against a ring far away (Grady 2006)"),
        Competitor("gaze2segment", "gaze2segment:Gaze2Segment", "attention, saliency, walker (Khosravan 2016)"),
        Competitor("sam-points", "sam_points:make_default", "MobileSAM's architecture, its own choice", optional=True),
        Competitor(
            "sam-points-bound", "sam_points:make_bound", "its largest mask within the size limit", optional=True
        ),
        Competitor("sam2-points", "sam2_points:make_default", "SAM 2, its own choice", None, True, "sam2-tiny"),
        Competitor(
            "sam2-points-bound",
            "sam2_points:make_bound",
            "SAM 2, its largest mask within the size limit",
            None,
            True,
            "sam2-tiny",
        ),
        Competitor("eel", "eel:Eel", "boosted stumps, expected loss (Lejeune 2017)", EelSettings()),
        Competitor("ksptrack", "ksptrack:KspTrack", "bagged trees, shortest paths (Lejeune 2018)", KspTrackSettings()),
        Competitor("dl-prior", "dl_prior:DlPrior", "network, objectness prior (Bearman 2016)", DlPriorSettings()),
        Competitor(
            "alterestpu", "alterestpu:AlterEstPu", "network, alternating prior (Kato 2018)", AlterEstPuSettings()
        ),
    )
}


def find_problem(name: str) -> str:
    """Why a competitor cannot run here, empty if it can."""
    competitor = COMPETITORS[name]
    if competitor.model:
        return store.find_problem(competitor.model)
    return minisam.find_problem() if competitor.optional else ""


def build_competitor(name: str, settings: Any, device: str = "auto", listener: Listener = ignore) -> Segmenter:
    """The competitor; one with settings computes on the device and reports its progress to the listener."""
    module, _, kind = COMPETITORS[name].place.partition(":")
    method = getattr(import_module(f"fewpoint.methods.competitors.{module}"), kind)
    return method() if settings is None else method(settings, device, listener)
