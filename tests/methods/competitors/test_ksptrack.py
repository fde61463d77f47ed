"""KSPTrack's parts by hand: links, votes, costs, paths, repeats."""

import sys

import numpy as np
import pytest

from fewpoint.core import AreaBound, ImageSequence, PointSet, SuperpixelMap
from fewpoint.errors import InputError
from fewpoint.methods.competitors.ksptrack import (
    Linked,
    Links,
    bag_trees,
    build_graph,
    find_links,
    learn_metric,
    link,
    repeat,
)
from fewpoint.methods.competitors.settings import BaggingSettings, KspTrackSettings, LinkingSettings, MetricSettings
from fewpoint.tracking.graph import SOURCE

# Three frames of four superpixels in a row, each ten pixels wide.
ROW = SuperpixelMap(np.tile(np.repeat(np.arange(4, dtype=np.int32), 10), (3, 4, 1)))
STILL = ImageSequence.from_array(np.zeros((3, 4, 40), np.uint8))
TINY = AreaBound(0.01)  # 1.6 pixels: two radii of a disc of that area are 1.4, less than any circle here


def test_entrances_lie_round_clicks_and_steps_between_near_superpixels():
    """Radius 0.3 x 40 = 12 pixels: the clicked superpixel and its neighbours, on the same and on the next frame."""
    links = find_links(STILL, ROW, PointSet.from_rows([(1, 2, 15)]), TINY, LinkingSettings(radius=0.3))
    assert links.entrances.tolist() == [[4, 5], [5, 5], [6, 5]]
    assert sorted(links.steps[links.steps[:, 0] == 5][:, 1].tolist()) == [8, 9, 10]
    assert sorted(links.steps[links.steps[:, 0] == 0][:, 1].tolist()) == [4, 5]


@pytest.mark.parametrize(("reach", "entered"), [(0, [5]), (1, [4, 5, 6]), (2, [3, 4, 5, 6, 7])])
def test_entrances_reach_as_many_radii_of_the_bound_s_disc_as_are_asked_for_and_steps_do_not(reach, entered):
    """Columns ten pixels apart on frames of 40 x 80; the bound is the area of a disc of radius 12."""
    frames, labels = np.zeros((2, 40, 80), np.uint8), np.tile(np.repeat(np.arange(8, dtype=np.int32), 10), (2, 40, 1))
    points, settings = PointSet.from_rows([(0, 20, 55)]), LinkingSettings(radius=0.05, reach=reach)
    bound = AreaBound(np.pi * 12**2 / 3200)
    links = find_links(ImageSequence.from_array(frames), SuperpixelMap(labels), points, bound, settings)
    assert links.entrances[:, 0].tolist() == entered
    assert links.steps.tolist() == [[place, 8 + place] for place in range(8)]


def test_steps_between_superpixels_that_move_differently_are_left_out(monkeypatch):
    """The left half moves right and the right half down, at every time."""
    flow = np.zeros((3, 4, 40, 2), np.float32)
    flow[:, :, :20, 1], flow[:, :, 20:, 0] = 1, 1
    monkeypatch.setattr("fewpoint.methods.competitors.ksptrack.estimate_flow", lambda sequence: flow)
    links = find_links(STILL, ROW, PointSet.from_rows([(1, 2, 15)]), TINY, LinkingSettings(radius=0.3))
    places = links.steps % 4
    assert set(map(tuple, places.tolist())) == {(0, 0), (0, 1), (1, 0), (1, 1), (2, 2), (2, 3), (3, 2), (3, 3)}


def test_movement_is_compared_over_the_interval_of_the_step(monkeypatch):
    """All move right from frame 0 to 1 and down from 1 to 2: every near superpixel can be stepped to."""
    flow = np.zeros((3, 4, 40, 2), np.float32)
    flow[0, ..., 1], flow[1:, ..., 0] = 1, 1
    monkeypatch.setattr("fewpoint.methods.competitors.ksptrack.estimate_flow", lambda sequence: flow)
    links = find_links(STILL, ROW, PointSet.from_rows([(1, 2, 15)]), TINY, LinkingSettings(radius=0.3))
    assert len(links.steps) == 2 * (4 + 2 * 3)


def test_trees_vote_for_what_resembles_the_positives_and_positives_are_certain():
    rng = np.random.default_rng(0)
    truth = np.arange(200) < 40
    features = (truth[:, None] + 0.1 * rng.standard_normal((200, 4))).astype(np.float32)
    positive = np.arange(200) < 10
    votes = bag_trees(features, positive, 25, np.random.default_rng(1))
    assert (votes[positive] == 1).all()
    assert votes[10:40].mean() > 0.5 > 0.1 > votes[40:].mean()


def test_without_scikit_learn_the_error_says_what_to_install(monkeypatch):
    monkeypatch.setitem(sys.modules, "sklearn.tree", None)
    with pytest.raises(InputError, match=r"ksptrack needs sklearn, .*: pip install 'fewpoint\[competitors\]'$"):
        bag_trees(np.zeros((4, 2), np.float32), np.arange(4) < 2, 3, np.random.default_rng(0))


def test_costs_are_negative_log_odds_of_visits_entrances_and_steps():
    """Votes 0.75 cost -log 3; equal features enter and step at the clip; features 0.5 apart step at exp(-1/4)."""
    votes, projected = np.array([0.75, 0.75, 0.25, 0.75]), np.array([[0.0], [0.0], [0.0], [0.5]])
    links = Links(np.array([[0, 0], [2, 0]]), np.array([[0, 1], [1, 2], [0, 3]]))
    graph = build_graph(votes, projected, links, prune=0.5)
    assert graph.regions.tolist() == [0, 1, 3]
    np.testing.assert_allclose(graph.costs[:3], -np.log(3))
    assert (graph.tails == SOURCE).sum() == 1
    likely = np.exp(-0.25)
    np.testing.assert_allclose(graph.costs[-2:], [np.log(1e-6), -np.log(likely / (1 - likely))], rtol=1e-4)


def test_paths_follow_likeness_in_both_directions_of_time():
    """A click on the middle frame; superpixels 1, 5, 9 look like it, 2, 6, 10 are likely too but look different."""
    votes = np.tile([0.1, 0.9, 0.6, 0.1], 3)
    projected = np.array([[9, 0.0, 3.0, 9, 9, 0.1, 3.8, 9, 9, 0.2, 4.6, 9]]).T
    links = find_links(STILL, ROW, PointSet.from_rows([(1, 2, 15)]), TINY, LinkingSettings(radius=0.3))
    linked = link(votes, projected, links, 0.5)
    assert np.flatnonzero(linked.selected).tolist() == [1, 5, 9]
    assert linked.agreed.tolist() == []  # forward leads from the click to the end, backward to the beginning


def test_steps_taken_in_both_directions_of_time_are_agreed_on():
    """Entrances on the first and the last frame, less sure than steps: both directions lead along the whole path."""
    votes, projected = np.tile([0.1, 0.9, 0.1, 0.1], 3), np.zeros((12, 1))
    projected[[0, 8]] = 0.5
    links = Links(np.array([[1, 0], [9, 8]]), np.array([[1, 5], [5, 9]]))
    assert link(votes, projected, links, 0.5).agreed.tolist() == [[1, 5], [5, 9]]


def test_a_tracklet_is_visited_whole():
    """5 is unlikely and unlike 1, and a path that enters at 1 ends there, unless both are a tracklet."""
    votes, projected = np.full(12, 0.1), np.zeros((12, 1))
    votes[[1, 5, 9]] = 0.99, 0.01, 0.99
    projected[5], projected[9] = 1, 2
    entrances, steps = np.array([[1, 1], [9, 9]]), np.array([[1, 5], [5, 9]])
    alone = link(votes, projected, Links(entrances, steps), 0.0)
    assert np.flatnonzero(alone.selected).tolist() == [1, 9]
    joined = link(votes, projected, Links(entrances, steps, steps[:1]), 0.0)
    assert np.flatnonzero(joined.selected).tolist() == [1, 5, 9]


def test_nobody_enters_a_tracklet_in_its_middle_and_a_pruned_one_comes_apart():
    links = Links(np.array([[1, 1], [5, 1]]), np.array([[1, 5], [5, 9], [2, 5]]), np.array([[1, 5], [5, 9]]))
    whole = links.keep(np.ones(12, bool))
    assert whole.entrances.tolist() == [[1, 1]] and whole.steps.tolist() == [[1, 5], [5, 9]]
    pruned = links.keep(np.arange(12) != 1)
    assert pruned.entrances.tolist() == [[5, 1]]
    assert pruned.steps.tolist() == [[5, 9], [2, 5]] and pruned.tracklets.tolist() == [[5, 9]]
    assert links.reverse().keep(np.ones(12, bool)).steps.tolist() == [[5, 1], [9, 5]]


def test_what_is_found_is_learnt_from_until_nothing_is_new(monkeypatch):
    seen = []

    def vote(features, positive, trees, rng):
        seen.append(np.flatnonzero(positive).tolist())
        return np.tile([0.1, 0.9, 0.1, 0.1], 3)

    monkeypatch.setattr("fewpoint.methods.competitors.ksptrack.bag_trees", vote)
    monkeypatch.setattr("fewpoint.methods.competitors.ksptrack.learn_metric", lambda *given: np.zeros((2, 1)))
    links = find_links(STILL, ROW, PointSet.from_rows([(1, 2, 15)]), TINY, LinkingSettings(radius=0.3))
    clicked = np.arange(12) == 5
    found, _ = repeat(np.zeros((12, 2)), links, clicked, KspTrackSettings(), np.random.default_rng(0))
    assert seen == [[5], [1, 5, 9]]
    assert np.flatnonzero(found).tolist() == [1, 5, 9]


def test_repeats_are_limited(monkeypatch):
    counts = []
    monkeypatch.setattr("fewpoint.methods.competitors.ksptrack.learn_metric", lambda *given: np.zeros((2, 1)))
    monkeypatch.setattr(
        "fewpoint.methods.competitors.ksptrack.link",
        lambda *given: Linked(np.arange(12) == len(counts), np.empty((0, 2), int)),
    )
    monkeypatch.setattr(
        "fewpoint.methods.competitors.ksptrack.bag_trees", lambda *given: counts.append(1) or np.ones(12)
    )
    settings = KspTrackSettings(bagging=BaggingSettings(1), linking=LinkingSettings(repeats=3))
    repeat(np.zeros((12, 2)), Links(*np.zeros((2, 0, 2), int)), np.arange(12) == 0, settings, np.random.default_rng(0))
    assert len(counts) == 3


@pytest.mark.parametrize("votes", [np.ones(6), np.zeros(6), np.full(6, 0.5)])
def test_a_metric_is_learnt_even_where_votes_do_not_tell(votes):
    features = np.random.default_rng(0).standard_normal((6, 3)).astype(np.float32)
    metric = learn_metric(features, votes, MetricSettings(dimensions=2), np.random.default_rng(0))
    assert metric.shape == (3, 2) and np.isfinite(metric).all()
