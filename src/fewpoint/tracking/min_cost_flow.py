"""The cheapest flow, with as many paths as pay."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from fewpoint.errors import FewpointError
from fewpoint.io.extras import need
from fewpoint.tracking.graph import FlowGraph

# A visit costs at most 13.8, hence 1.4e7 after scaling; the solver multiplies by the number of nodes, 2e5 for
# 60 frames of 1200 superpixels: 3e12, far below the 9.2e18 of its integers.
COST_SCALE = 1_000_000
EXTRA = "tracking"


class FlowError(FewpointError):
    """The solver gave up on a problem that always has a solution: an error of this program, not of its user."""


@dataclass(frozen=True, eq=False)
class FlowSolution:
    """A flow of least cost.

    flows: (A,) int64 flow on each arc of the graph.
    total_cost: in the graph's units; 0, the cost of no flow, at most.
    n_paths: units that left the source; the paper's K.
    """

    flows: np.ndarray
    total_cost: float
    n_paths: int


def check_solver() -> None:
    """Refuse to go on without the solver, which the core installation does not have.

    Worth a call before anything is learnt: the flow is the last thing that a run computes.
    """
    need("ortools.graph.python.min_cost_flow", EXTRA, "tracking, as the preset paper and ksptrack do it, needs")


def solve(graph: FlowGraph) -> FlowSolution:
    """Least-cost flow of any size from source to sink, exact up to the rounding of costs to 1e-6.

    A free arc from source to sink takes what does not pay, so that the optimum itself chooses the number of paths.
    """
    check_solver()
    leaving = graph.tails == graph.source
    supply = int(graph.capacities[leaving].sum())
    if supply == 0:
        return FlowSolution(np.zeros(len(graph.tails), np.int64), 0.0, 0)
    flows = _run_solver(graph, supply)
    return FlowSolution(flows, float(flows @ graph.costs), int(flows[leaving].sum()))


def _run_solver(graph: FlowGraph, supply: int) -> np.ndarray:
    """(A,) int64 optimal flows of the graph's arcs, the free arc not among them."""
    from ortools.graph.python.min_cost_flow import SimpleMinCostFlow

    solver: Any = SimpleMinCostFlow()  # its stub names number types in the place of the shapes of NumPy's arrays
    arcs = solver.add_arcs_with_capacity_and_unit_cost(
        graph.tails, graph.heads, graph.capacities, np.rint(graph.costs * COST_SCALE).astype(np.int64)
    )
    solver.add_arc_with_capacity_and_unit_cost(graph.source, graph.sink, supply, 0)
    solver.set_nodes_supplies([graph.source, graph.sink], [supply, -supply])
    status = solver.solve()
    if status != solver.OPTIMAL:
        raise FlowError(
            f"the flow solver must find an optimum and returned {status.name} for {graph.n_nodes} nodes and "
            f"{len(graph.tails)} arcs; this should never happen, please report it with these numbers"
        )
    return np.asarray(solver.flows(arcs), np.int64)
