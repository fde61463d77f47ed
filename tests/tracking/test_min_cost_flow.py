"""The optimum against enumeration, against another solver, and by hand."""

import sys
from itertools import product

import numpy as np
import pytest

from fewpoint.errors import InputError
from fewpoint.tracking.graph import FlowGraph, Scene, build_graph
from fewpoint.tracking.min_cost_flow import FlowError, solve
from fewpoint.tracking.paths import decompose_flow


def random_scene(rng: np.random.Generator, counts: tuple[int, ...], link_share: float) -> Scene:
    offsets = np.concatenate([[0], np.cumsum(counts)])
    links = [
        (a, b)
        for t in range(len(counts) - 1)
        for a, b in product(range(offsets[t], offsets[t + 1]), range(offsets[t + 1], offsets[t + 2]))
        if rng.random() < link_share
    ]
    return Scene(
        probabilities=rng.uniform(0.05, 0.95, offsets[-1]),
        entrances=rng.random(offsets[-1]) < 0.5,
        overlaps=np.array(links, np.int64).reshape(-1, 2),
    )


def chain(probabilities: list[float], entrances: list[int]) -> Scene:
    """One region a frame, each overlapping the next."""
    count = len(probabilities)
    starts = np.isin(np.arange(count), entrances)
    links = np.stack([np.arange(count - 1), np.arange(1, count)], axis=1)
    return Scene(np.array(probabilities), starts, links)


def all_paths(scene: Scene) -> list[frozenset[int]]:
    """Every path from an entrance along links, as the set of its regions."""
    nexts = {region: [] for region in range(len(scene.probabilities))}
    for first, second in scene.overlaps.tolist():
        nexts[first].append(second)

    def extend(path: tuple[int, ...]):
        yield frozenset(path)
        for region in nexts[path[-1]]:
            yield from extend((*path, region))

    return [path for start in np.flatnonzero(scene.entrances).tolist() for path in extend((start,))]


def cheapest_by_enumeration(scene: Scene) -> float:
    """Try every set of disjoint paths."""
    costs = -np.log(scene.probabilities / (1 - scene.probabilities))
    paths = [(path, costs[list(path)].sum()) for path in set(all_paths(scene))]

    def best(index: int, taken: frozenset[int]) -> float:
        if index == len(paths):
            return 0.0
        without = best(index + 1, taken)
        path, cost = paths[index]
        return without if path & taken else min(without, cost + best(index + 1, taken | path))

    return best(0, frozenset())


def cheapest_by_networkx(graph: FlowGraph) -> int:
    """Cost, in millionths, of the same problem for a solver written by others."""
    import networkx as nx

    problem = nx.DiGraph()
    supply = int((graph.tails == graph.source).sum())
    problem.add_node(graph.source, demand=-supply)
    problem.add_node(graph.sink, demand=supply)
    problem.add_edge(graph.source, graph.sink, capacity=supply, weight=0)
    costs = np.rint(graph.costs * 1e6).astype(int).tolist()
    for tail, head, cost in zip(graph.tails.tolist(), graph.heads.tolist(), costs, strict=True):
        problem.add_edge(tail, head, capacity=1, weight=cost)
    return nx.min_cost_flow_cost(problem)


@pytest.mark.parametrize("seed", range(12))
def test_the_cost_is_the_least_of_all_sets_of_disjoint_paths(seed):
    scene = random_scene(np.random.default_rng(seed), counts=(3, 2, 3), link_share=0.4)
    solution = solve(build_graph(scene, 0, "forward"))
    # Eight costs rounded to 1e-6.
    assert solution.total_cost == pytest.approx(cheapest_by_enumeration(scene), abs=8e-6)


@pytest.mark.parametrize("direction", ["forward", "backward"])
@pytest.mark.parametrize("seed", range(3))
def test_the_cost_equals_that_of_networkx(seed, direction):
    scene = random_scene(np.random.default_rng(100 + seed), counts=(12,) * 6, link_share=0.2)
    graph = build_graph(scene, 0.3, direction)
    # 72 costs rounded to 1e-6.
    assert solve(graph).total_cost == pytest.approx(cheapest_by_networkx(graph) / 1e6, abs=72e-6)


@pytest.mark.parametrize("seed", range(5))
def test_the_total_is_the_sum_of_the_costs_of_the_paths(seed):
    scene = random_scene(np.random.default_rng(seed), counts=(10,) * 5, link_share=0.3)
    graph = build_graph(scene, 0.2, "forward")
    solution = solve(graph)
    costs = -np.log(scene.probabilities / (1 - scene.probabilities))
    paths = decompose_flow(graph, solution)
    assert len(paths) == solution.n_paths
    assert solution.total_cost == pytest.approx(sum(costs[list(path)].sum() for path in paths), abs=1e-9)


def test_two_paths_are_better_than_one():
    # Two chains 0-2 and 1-3, joined by 0-3. Both pay: log 9 + log 4 and log 4 + log 4.
    scene = Scene(
        np.array([0.9, 0.8, 0.8, 0.8]), np.array([True, True, False, False]), np.array([[0, 2], [0, 3], [1, 3]])
    )
    solution = solve(build_graph(scene, 0, "forward"))
    assert solution.n_paths == 2
    assert solution.total_cost == pytest.approx(-np.log(9 * 4 * 4 * 4), abs=4e-6)


def test_a_second_path_turns_the_first_aside():
    # Alone, the best path is 0-3 (log 9 + log 9). With it, region 1 cannot go on; better 0-2 and 1-3 together.
    scene = Scene(
        np.array([0.9, 0.45, 0.8, 0.9]), np.array([True, True, False, False]), np.array([[0, 2], [0, 3], [1, 3]])
    )
    graph = build_graph(scene, 0, "forward")
    solution = solve(graph)
    assert sorted(decompose_flow(graph, solution)) == [(0, 2), (1, 3)]
    assert solution.total_cost == pytest.approx(-np.log(9 * 4 * 9 * 0.45 / 0.55), abs=4e-6)


def test_a_path_that_would_raise_the_cost_is_not_added():
    # The second chain gains log 4 at its end but must first pay log 9 to get there.
    scene = Scene(np.array([0.9, 0.1, 0.8, 0.8]), np.array([True, True, False, False]), np.array([[0, 2], [1, 3]]))
    graph = build_graph(scene, 0, "forward")
    assert decompose_flow(graph, solve(graph)) == ((0, 2),)


def test_a_path_bridges_a_doubtful_frame_when_the_far_side_pays():
    graph = build_graph(chain([0.9, 0.45, 0.9], [0]), 0.4, "forward")
    assert decompose_flow(graph, solve(graph)) == ((0, 1, 2),)


def test_a_path_stops_where_going_on_does_not_pay():
    graph = build_graph(chain([0.9, 0.42, 0.55], [0]), 0.4, "forward")
    # Going on costs log(0.58 / 0.42) = 0.32 and gains log(0.55 / 0.45) = 0.20.
    assert decompose_flow(graph, solve(graph)) == ((0,),)


@pytest.mark.parametrize("probabilities", [[0.2, 0.9], [0.9, 0.9]])
def test_without_a_way_in_the_flow_is_empty(probabilities):
    entrances = [0] if probabilities[0] < 0.4 else []
    solution = solve(build_graph(chain(probabilities, entrances), 0.4, "forward"))
    assert (solution.total_cost, solution.n_paths, int(solution.flows.sum())) == (0.0, 0, 0)


def test_costs_closer_than_the_rounding_are_all_that_is_confused():
    # The better of two branches wins by 5e-6 in cost.
    better = 0.7 + 5e-6 * 0.7 * 0.3
    scene = Scene(np.array([0.9, 0.7, better]), np.array([True, False, False]), np.array([[0, 1], [0, 2]]))
    graph = build_graph(scene, 0, "forward")
    assert decompose_flow(graph, solve(graph)) == ((0, 2),)


def test_costs_beyond_the_solvers_integers_are_an_error_that_names_the_status():
    one_arc = np.array([1])
    graph = FlowGraph(np.array([0]), one_arc, one_arc, np.array([-4e12]), np.array([], np.int64), n_nodes=2)
    with pytest.raises(FlowError, match="BAD_COST_RANGE"):
        solve(graph)


def test_without_the_solver_the_error_says_what_to_install(monkeypatch):
    monkeypatch.setitem(sys.modules, "ortools.graph.python.min_cost_flow", None)
    with pytest.raises(InputError, match=r"the preset paper .* needs ortools, .*: pip install 'fewpoint\[tracking\]'$"):
        solve(build_graph(chain([0.9, 0.9], [0]), 0.5, "forward"))
