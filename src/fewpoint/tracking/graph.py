"""The graph whose cheapest set of disjoint paths is the object.

Each superpixel is a pair of nodes joined by its visit arc. Paths enter near a point, step between superpixels of
neighbouring frames that overlap, and may leave anywhere.
"""

from dataclasses import dataclass
from typing import Literal

import numpy as np

from fewpoint.core import PointSet, SuperpixelMap
from fewpoint.errors import InputError
from fewpoint.superpixels.adjacency import temporal_overlaps
from fewpoint.superpixels.regions import region_centroids, regions_at_points
from fewpoint.tracking.costs import visit_costs

Direction = Literal["forward", "backward"]
SOURCE, SINK = 0, 1


@dataclass(frozen=True, eq=False)
class FlowGraph:
    """A directed graph with one source and one sink.

    tails, heads: (A,) int64 node at the start and the end of each arc.
    capacities: (A,) int64. costs: (A,) float64 for each unit of flow.
    regions: (R,) int64 global region of each visit arc; the visit arcs are the first R of the A arcs.
    n_nodes: number of nodes, source and sink included.
    """

    tails: np.ndarray
    heads: np.ndarray
    capacities: np.ndarray
    costs: np.ndarray
    regions: np.ndarray
    n_nodes: int
    source: int = SOURCE
    sink: int = SINK

    def __post_init__(self) -> None:
        if not len(self.tails) == len(self.heads) == len(self.capacities) == len(self.costs) >= len(self.regions):
            raise InputError("a graph needs one tail, head, capacity and cost per arc, and an arc for each region")


@dataclass(frozen=True, eq=False)
class Scene:
    """What the graphs of both directions share.

    probabilities: (total,) of each region. entrances: (total,) bool, where a path may start.
    overlaps: (E, 2) int64 regions of frames t and t + 1 that overlap.
    """

    probabilities: np.ndarray
    entrances: np.ndarray
    overlaps: np.ndarray


def survey_scene(probabilities: np.ndarray, superpixels: SuperpixelMap, points: PointSet, *, radius: float) -> Scene:
    """Find entrances and overlaps; radius: of entrances round points, in pixels."""
    if np.shape(probabilities) != (superpixels.total,):
        raise InputError(
            f"one probability per superpixel is needed: {superpixels.total} superpixels, "
            f"got shape {np.shape(probabilities)}"
        )
    entrances = find_entrances(superpixels, points, radius)
    return Scene(np.asarray(probabilities, np.float64), entrances, temporal_overlaps(superpixels))


def find_entrances(superpixels: SuperpixelMap, points: PointSet, radius: float) -> np.ndarray:
    """(total,) bool: clicked, or with a centroid within a radius, in pixels, of a point on the same frame."""
    clicked = regions_at_points(superpixels, points)
    centroids = region_centroids(superpixels)
    entrances = np.zeros(superpixels.total, bool)
    for frame, *place in points.coordinates:
        regions = slice(superpixels.offsets[frame], superpixels.offsets[frame + 1])
        entrances[regions] |= np.hypot(*(centroids[regions] - place).T) <= radius
    entrances[clicked] = True
    return entrances


def build_graph(scene: Scene, prune: float, direction: Direction) -> FlowGraph:
    """The flow graph of one direction in time; superpixels with f < prune are left out with all their arcs."""
    kept = np.flatnonzero(scene.probabilities >= prune)
    position = np.full(len(scene.probabilities), -1)
    position[kept] = np.arange(len(kept))
    starts = position[np.flatnonzero(scene.entrances)]
    starts = starts[starts >= 0]
    steps = position[scene.overlaps]
    steps = steps[(steps >= 0).all(axis=1)]
    if direction == "backward":
        steps = steps[:, ::-1]
    return _assemble(kept, starts, steps, visit_costs(scene.probabilities[kept]))


def _assemble(kept: np.ndarray, starts: np.ndarray, steps: np.ndarray, costs: np.ndarray) -> FlowGraph:
    """Number the nodes and list the arcs: visits, entrances, exits, transitions.

    Superpixel k has the nodes 2 + 2k, where paths arrive, and 3 + 2k, where they leave.
    """
    arrivals = 2 + 2 * np.arange(len(kept))
    departures = arrivals + 1
    tails = [arrivals, np.full(len(starts), SOURCE), departures, departures[steps[:, 0]]]
    heads = [departures, arrivals[starts], np.full(len(kept), SINK), arrivals[steps[:, 1]]]
    n_arcs = sum(map(len, tails))
    return FlowGraph(
        tails=np.concatenate(tails),
        heads=np.concatenate(heads),
        capacities=np.ones(n_arcs, np.int64),
        costs=np.concatenate([costs, np.zeros(n_arcs - len(kept))]),
        regions=kept,
        n_nodes=2 + 2 * len(kept),
    )
