"""The graph: which arcs there are, and which are not."""

import numpy as np
import pytest

from fewpoint.core import PointSet, SuperpixelMap
from fewpoint.errors import InputError
from fewpoint.tracking.graph import FlowGraph, Scene, build_graph, find_entrances, survey_scene


def columns(n_frames: int, n_columns: int, width: int = 4) -> SuperpixelMap:
    """Upright bands of the given width, the same on each frame."""
    row = np.repeat(np.arange(n_columns, dtype=np.int32), width)
    return SuperpixelMap(np.tile(row, (n_frames, 4, 1)))


def named_arcs(graph: FlowGraph) -> set[tuple[str, str]]:
    """Arcs as pairs such as ("in 3", "out 3"), with global regions for numbers."""
    names = {graph.source: "source", graph.sink: "sink"}
    for index, region in enumerate(graph.regions):
        names[int(graph.tails[index])] = f"in {region}"
        names[int(graph.heads[index])] = f"out {region}"
    arcs = zip(graph.tails.tolist(), graph.heads.tolist(), strict=True)
    return {(names[tail], names[head]) for tail, head in arcs}


@pytest.fixture
def scene() -> Scene:
    """Two frames of two regions; 0 overlaps 2 and 3, 1 overlaps 3; paths may start at 0."""
    return Scene(
        probabilities=np.array([0.8, 0.5, 0.4, 0.39]),
        entrances=np.array([True, False, False, False]),
        overlaps=np.array([[0, 2], [0, 3], [1, 3]]),
    )


def test_an_unpruned_graph_has_a_visit_and_an_exit_for_each_region_and_one_arc_for_each_link(scene):
    visits = {(f"in {region}", f"out {region}") for region in range(4)}
    exits = {(f"out {region}", "sink") for region in range(4)}
    links = {("out 0", "in 2"), ("out 0", "in 3"), ("out 1", "in 3")}
    assert named_arcs(build_graph(scene, 0, "forward")) == visits | exits | links | {("source", "in 0")}


def test_backward_in_time_only_the_links_are_turned(scene):
    forward, backward = (named_arcs(build_graph(scene, 0, direction)) for direction in ("forward", "backward"))
    assert forward - backward == {("out 0", "in 2"), ("out 0", "in 3"), ("out 1", "in 3")}
    assert backward - forward == {("out 2", "in 0"), ("out 3", "in 0"), ("out 3", "in 1")}


def test_a_region_below_the_threshold_goes_with_all_its_arcs_and_one_at_it_stays(scene):
    graph = build_graph(scene, 0.4, "forward")
    assert graph.regions.tolist() == [0, 1, 2]
    assert not any("3" in name for arc in named_arcs(graph) for name in arc)
    assert ("out 0", "in 2") in named_arcs(graph)


def test_a_pruned_entrance_leaves_no_way_in(scene):
    assert not any(tail == "source" for tail, _ in named_arcs(build_graph(scene, 0.9, "forward")))


def test_visits_cost_log_odds_and_all_else_is_free(scene):
    graph = build_graph(scene, 0, "forward")
    np.testing.assert_allclose(graph.costs[:4], -np.log([4, 1, 2 / 3, 39 / 61]), atol=1e-12)
    assert (graph.costs[4:] == 0).all()
    assert (graph.capacities == 1).all()


def test_paths_enter_where_the_centroid_is_near_enough():
    # Centroids of the bands lie at x = 1.5, 5.5, 9.5, …, y = 1.5.
    superpixels = columns(n_frames=2, n_columns=10)
    point = PointSet.from_rows([(1, 1, 9)])
    reached = [np.flatnonzero(find_entrances(superpixels, point, radius)).tolist() for radius in (0, 4, 4.8)]
    # Distances from (1, 9): 0.71 to band 2, 3.54 to band 1, 4.53 to band 3; radii 0, 4 and 4.8 pixels.
    assert reached == [[12], [11, 12], [11, 12, 13]]


def test_a_clicked_superpixel_is_an_entrance_even_when_its_centroid_is_far():
    superpixels = columns(n_frames=1, n_columns=2, width=30)
    entrances = find_entrances(superpixels, PointSet.from_rows([(0, 0, 0)]), 0.3)
    assert entrances.tolist() == [True, False]


def test_each_frame_is_entered_by_its_own_points_only():
    superpixels = columns(n_frames=3, n_columns=3)
    entrances = find_entrances(superpixels, PointSet.from_rows([(0, 0, 0), (2, 0, 9)]), 0)
    assert np.flatnonzero(entrances).tolist() == [0, 8]


def test_probabilities_of_another_length_are_refused():
    with pytest.raises(InputError, match=r"6 superpixels, got shape \(5,\)"):
        survey_scene(np.zeros(5), columns(2, 3), PointSet.from_rows([(0, 0, 0)]), radius=2)
