"""From probabilities of superpixels to the superpixels that paths through time visit."""

from dataclasses import dataclass

import numpy as np

from fewpoint.core import AreaBound, PointSet, SuperpixelMap
from fewpoint.superpixels.regions import paint_regions
from fewpoint.tracking.graph import Direction, FlowGraph, Scene, build_graph, survey_scene
from fewpoint.tracking.min_cost_flow import FlowSolution, solve
from fewpoint.tracking.settings import TrackingSettings

RegionPath = tuple[int, ...]


@dataclass(frozen=True, eq=False)
class Tracks:
    """What was found in both directions of time.

    selected: (total,) bool, the superpixels on any path.
    forward, backward: the paths of each direction, as global regions in the order they are visited.
    """

    selected: np.ndarray
    forward: tuple[RegionPath, ...]
    backward: tuple[RegionPath, ...]


def track(
    probabilities: np.ndarray,
    superpixels: SuperpixelMap,
    points: PointSet,
    bound: AreaBound,
    *,
    settings: TrackingSettings,
) -> Tracks:
    """Link likely superpixels into disjoint paths that start near points, forward and backward in time.

    probabilities: (total,) f of each superpixel, in [0, 1].
    """
    height, width = superpixels.labels.shape[1:]
    radius = settings.entrance_pixels((height, width), bound.fraction)
    scene = survey_scene(probabilities, superpixels, points, radius=radius)
    forward = find_paths(scene, settings.prune, "forward")
    backward = find_paths(scene, settings.prune, "backward")
    selected = np.zeros(superpixels.total, bool)
    for path in forward + backward:
        selected[list(path)] = True
    return Tracks(selected, forward, backward)


def find_paths(scene: Scene, prune: float, direction: Direction) -> tuple[RegionPath, ...]:
    """The cheapest set of disjoint paths of one direction."""
    graph = build_graph(scene, prune, direction)
    return decompose_flow(graph, solve(graph))


def decompose_flow(graph: FlowGraph, solution: FlowSolution) -> tuple[RegionPath, ...]:
    """The disjoint paths a flow consists of, each as the global regions it visits in order.

    Visit arcs carry at most one unit, so that each superpixel has one successor at most and no choice is left.
    """
    used = np.flatnonzero(solution.flows)
    successor = np.full(graph.n_nodes, graph.sink)
    leaving = graph.tails[used] == graph.source
    successor[graph.tails[used[~leaving]]] = graph.heads[used[~leaving]]
    visits = slice(len(graph.regions))
    region_at = dict(zip(graph.tails[visits].tolist(), graph.regions.tolist(), strict=True))
    return tuple(_follow(successor, region_at, start) for start in graph.heads[used[leaving]].tolist())


def masks_from_regions(superpixels: SuperpixelMap, selected: np.ndarray) -> np.ndarray:
    """(T, H, W) bool masks of the selected (total,) superpixels."""
    return paint_regions(superpixels, np.asarray(selected, bool))


def _follow(successor: np.ndarray, region_at: dict[int, int], start: int) -> RegionPath:
    """Walk from a superpixel's arriving node to the sink and note the regions on the way."""
    path = [region_at[start]]
    node = successor[successor[start]]
    while int(node) in region_at:
        path.append(region_at[int(node)])
        node = successor[successor[node]]
    return tuple(path)
