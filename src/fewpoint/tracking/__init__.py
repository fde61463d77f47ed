"""Probabilities to consistent masks: paths of superpixels through time that start near the points."""

from fewpoint.tracking.costs import visit_costs
from fewpoint.tracking.graph import FlowGraph, Scene, build_graph, survey_scene
from fewpoint.tracking.min_cost_flow import FlowError, FlowSolution, solve
from fewpoint.tracking.paths import Tracks, decompose_flow, find_paths, masks_from_regions, track
from fewpoint.tracking.settings import TrackingSettings

__all__ = [
    "FlowError",
    "FlowGraph",
    "FlowSolution",
    "Scene",
    "TrackingSettings",
    "Tracks",
    "build_graph",
    "decompose_flow",
    "find_paths",
    "masks_from_regions",
    "solve",
    "survey_scene",
    "track",
    "visit_costs",
]
