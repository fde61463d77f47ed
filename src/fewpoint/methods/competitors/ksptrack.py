"""KSPTrack (Lejeune et al., 2018): bagged trees on autoencoder features, linked by K shortest paths, and repeated.

1. An autoencoder learns to redraw the frames, above all round the clicks; its deepest features describe superpixels.
2. Bagged decision trees separate clicked superpixels from draws of the others.
3. Local Fisher discriminant analysis learns in which directions likely superpixels resemble each other.
4. The cheapest set of disjoint paths through time, forward and backward, that start near clicks.
5. What was found counts as clicked, steps found in both directions of time become tracklets, which are visited whole,
   and everything from 2 on is repeated until nothing new is found.

What differs from the original: its paths were found by repeated shortest-path searches, here by the exact minimum-cost
flow that has the same optimum; the number of repeats is limited; the scale of the learnt metric is fixed by the likely
superpixels (see discriminant). docs/fidelity.md has all of it.

Threshold: superpixels that fewer than half the trees vote for are left out, as in the original; which of the others
belong to the object is the optimum's choice.
"""

from dataclasses import dataclass, field, replace
from itertools import pairwise

import numpy as np

from fewpoint.core import AreaBound, ImageSequence, Listener, PointSet, Result, SuperpixelMap, ignore
from fewpoint.io.extras import need
from fewpoint.methods.competitors.discriminant import fit_metric
from fewpoint.methods.competitors.flow import estimate_flow, flow_histograms, intersect_histograms
from fewpoint.methods.competitors.results import ASSUMED_BOUND, describe_choice
from fewpoint.methods.competitors.settings import KspTrackSettings, LinkingSettings, MetricSettings
from fewpoint.superpixels.regions import paint_regions, region_centroids, regions_at_points
from fewpoint.superpixels.slic import segment_volume
from fewpoint.tracking.costs import visit_costs
from fewpoint.tracking.graph import SINK, SOURCE, FlowGraph
from fewpoint.tracking.min_cost_flow import solve
from fewpoint.tracking.paths import decompose_flow
from fewpoint.tracking.settings import TrackingSettings

FOCUS_SIGMA = 0.3
LIKELY, UNLIKELY = 0.7, 0.3
MOST_SAMPLES = 500  # of each class, for the metric


@dataclass(frozen=True)
class KspTrack:
    """device: auto, cpu, cuda or mps, for the autoencoder."""

    settings: KspTrackSettings = KspTrackSettings()
    device: str = "auto"
    listener: Listener = ignore
    name: str = "ksptrack"

    def segment(self, sequence: ImageSequence, points: PointSet, bound: AreaBound | None, *, seed: int) -> Result:
        points.check_inside(len(sequence), sequence.size)
        bound = bound or ASSUMED_BOUND
        superpixels = segment_volume(sequence, self.settings.superpixels)
        features = self._learn_features(sequence, superpixels, points, seed)
        links = find_links(sequence, superpixels, points, bound, self.settings.linking)
        clicked = np.zeros(superpixels.total, bool)
        clicked[regions_at_points(superpixels, points)] = True
        found, votes = repeat(features, links, clicked, self.settings, np.random.default_rng(seed))
        masks, maps = paint_regions(superpixels, found), paint_regions(superpixels, votes)
        return describe_choice(masks, maps, sequence, points, bound)

    def _learn_features(
        self, sequence: ImageSequence, superpixels: SuperpixelMap, points: PointSet, seed: int
    ) -> np.ndarray:
        from fewpoint.learning.devices import choose_device
        from fewpoint.methods.competitors.autoencoder import learn_features, weigh_focus  # loads torch

        focus = weigh_focus(points, sequence.shape[:3], FOCUS_SIGMA)
        device = choose_device(self.device)
        return learn_features(sequence, superpixels, self.settings.autoencoder, focus=focus, seed=seed, device=device)


@dataclass(frozen=True, eq=False)
class Links:
    """Where paths may start and step, whatever superpixels look like.

    entrances: (E, 2) int64 superpixel and the clicked one that it lies near. steps: (S, 2) int64 superpixels of frames
    t and t + 1. tracklets: (A, 2) int64, those of the steps that a path which visits either end must take.
    """

    entrances: np.ndarray
    steps: np.ndarray
    tracklets: np.ndarray = field(default_factory=lambda: np.empty((0, 2), np.int64))

    def reverse(self) -> "Links":
        """The same, backward in time."""
        return Links(self.entrances, self.steps[:, ::-1], self.tracklets[:, ::-1])

    def keep(self, usable: np.ndarray) -> "Links":
        """Links among the (total,) bool usable superpixels, without those that would enter or leave a tracklet within.

        A tracklet that holds a superpixel which is not usable comes apart there.
        """
        tracklets = self.tracklets[usable[self.tracklets].all(axis=1)]
        begun, gone_on = (np.isin(np.arange(len(usable)), column) for column in tracklets.T)
        tail, head = self.steps.T
        own = np.isin(tail * len(usable) + head, tracklets[:, 0] * len(usable) + tracklets[:, 1])
        free = ~begun[tail] & ~gone_on[head]
        entered = self.entrances[:, 0]
        return Links(
            self.entrances[usable[entered] & ~gone_on[entered]],
            self.steps[usable[self.steps].all(axis=1) & (own | free)],
            tracklets,
        )


def find_links(
    sequence: ImageSequence, superpixels: SuperpixelMap, points: PointSet, bound: AreaBound, settings: LinkingSettings
) -> Links:
    """Entrances round clicks, as far as those of fewpoint's own tracking, and steps between superpixels that lie near
    and move alike."""
    from scipy.spatial import cKDTree  # pyright: ignore[reportAttributeAccessIssue] - compiled, without a stub

    centroids, offsets = region_centroids(superpixels), superpixels.offsets
    reach = settings.radius * max(sequence.size)
    entrance = TrackingSettings(radius=settings.radius, reach=settings.reach)
    entrance_pixels = entrance.entrance_pixels(sequence.size, bound.fraction)
    trees = [cKDTree(centroids[offsets[frame] : offsets[frame + 1]]) for frame in range(len(sequence))]
    entrances = []
    for (frame, *place), clicked in zip(points.coordinates, regions_at_points(superpixels, points), strict=True):
        near = np.array(trees[frame].query_ball_point(place, entrance_pixels), np.int64) + offsets[frame]
        near = np.union1d(near, [clicked])
        entrances.append(np.stack([near, np.full(len(near), clicked)], axis=1))
    steps = [np.empty((0, 2), np.int64)]
    for frame in range(len(sequence) - 1):
        near = trees[frame].sparse_distance_matrix(trees[frame + 1], reach, output_type="ndarray")
        steps.append(np.stack([near["i"] + offsets[frame], near["j"] + offsets[frame + 1]], axis=1))
    steps = np.concatenate(steps)
    flow = estimate_flow(sequence)
    leaving = flow_histograms(superpixels, flow, settings.bins)
    # What arrives at a frame has left the one before: both ends of a step are compared over the same interval.
    arriving = flow_histograms(superpixels, np.concatenate([flow[:1], flow[:-1]]), settings.bins)
    alike = intersect_histograms(leaving[steps[:, 0]], arriving[steps[:, 1]]) >= settings.overlap
    return Links(np.concatenate(entrances), steps[alike])


def repeat(
    features: np.ndarray, links: Links, clicked: np.ndarray, settings: KspTrackSettings, rng: np.random.Generator
) -> tuple[np.ndarray, np.ndarray]:
    """(total,) bool superpixels found and (total,) votes of the last repeat."""
    positive, found, votes = clicked, clicked, clicked.astype(float)
    for _ in range(settings.linking.repeats):
        votes = bag_trees(features, positive, settings.bagging.trees, rng)
        metric = learn_metric(features, votes, settings.metric, rng)
        linked = link(votes, features @ metric, links, settings.linking.prune)
        found = clicked | linked.selected
        if not (found & ~positive).any():
            break
        positive = positive | found
        links = replace(links, tracklets=linked.agreed)
    return found, votes


def bag_trees(features: np.ndarray, positive: np.ndarray, trees: int, rng: np.random.Generator) -> np.ndarray:
    """(total,) share of trees that vote for each superpixel; 1 for the positives.

    Each tree learns from all positives against as many unlabelled superpixels, drawn with replacement.
    """
    need("sklearn.tree", "competitors", "ksptrack needs")
    from sklearn.tree import DecisionTreeClassifier

    features = np.ascontiguousarray(features, np.float32)  # what a tree accepts without a check
    known, unlabelled = np.flatnonzero(positive), np.flatnonzero(~positive)
    votes = np.zeros(len(features))
    if len(unlabelled) == 0:
        return np.ones(len(features))
    for _ in range(trees):
        drawn = rng.choice(unlabelled, len(known))
        chosen = np.concatenate([known, drawn])
        tree = DecisionTreeClassifier(max_features="sqrt", random_state=int(rng.integers(2**31)))
        votes += tree.fit(features[chosen], positive[chosen]).predict(features, check_input=False)
    return np.where(positive, 1.0, votes / trees)


def learn_metric(
    features: np.ndarray, votes: np.ndarray, settings: MetricSettings, rng: np.random.Generator
) -> np.ndarray:
    """(D, d) projection learnt from superpixels that most trees vote for against those that few do."""
    likely, unlikely = np.flatnonzero(votes >= LIKELY), np.flatnonzero(votes <= UNLIKELY)
    if min(len(likely), len(unlikely)) < 2:
        ranked = np.argsort(votes, kind="stable")
        likely, unlikely = ranked[-2:], ranked[:2]
    classes = [rng.permutation(members)[:MOST_SAMPLES] for members in (likely, unlikely)]
    chosen = np.concatenate(classes)
    return fit_metric(features[chosen].astype(np.float64), np.isin(chosen, classes[0]), settings)


@dataclass(frozen=True, eq=False)
class Linked:
    """selected: (total,) bool superpixels on any path. agreed: (A, 2) int64 steps, in the order of time, that were
    taken forward and backward."""

    selected: np.ndarray
    agreed: np.ndarray


def link(votes: np.ndarray, projected: np.ndarray, links: Links, prune: float) -> Linked:
    """The cheapest disjoint paths, forward and backward in time."""
    selected, taken = np.zeros(len(votes), bool), []
    for each, order in ((links, 1), (links.reverse(), -1)):
        graph = build_graph(votes, projected, each, prune)
        paths = decompose_flow(graph, solve(graph))
        for path in paths:
            selected[list(path)] = True
        taken.append({step[::order] for path in paths for step in pairwise(path)})
    return Linked(selected, np.array(sorted(taken[0] & taken[1]), np.int64).reshape(-1, 2))


def build_graph(votes: np.ndarray, projected: np.ndarray, links: Links, prune: float) -> FlowGraph:
    """Superpixels with votes of at least `prune`; a visit, an entrance or a step costs its negative log-odds.

    votes: (total,) likelihoods of visits; those of entrances and steps follow from the (total, d) projected features.
    """
    kept = np.flatnonzero(votes >= prune)
    position = np.full(len(votes), -1)
    position[kept] = np.arange(len(kept))
    links = links.keep(position >= 0)
    arrivals = 2 + 2 * np.arange(len(kept))
    starts, tails, heads = (position[each] for each in (links.entrances[:, 0], links.steps[:, 0], links.steps[:, 1]))
    ends = np.setdiff1d(np.arange(len(kept)), position[links.tracklets[:, 0]])
    return FlowGraph(
        tails=np.concatenate([arrivals, np.full(len(starts), SOURCE), arrivals[ends] + 1, arrivals[tails] + 1]),
        heads=np.concatenate([arrivals + 1, arrivals[starts], np.full(len(ends), SINK), arrivals[heads]]),
        capacities=np.ones(len(kept) + len(starts) + len(ends) + len(tails), np.int64),
        costs=np.concatenate(
            [
                visit_costs(votes[kept]),
                visit_costs(likeness(projected, links.entrances)),
                np.zeros(len(ends)),
                visit_costs(likeness(projected, links.steps)),
            ]
        ),
        regions=kept,
        n_nodes=2 + 2 * len(kept),
    )


def likeness(projected: np.ndarray, pairs: np.ndarray) -> np.ndarray:
    """(E,) exp(-|a - b|^2) of pairs of projected superpixels.

    >>> likeness(np.array([[0.0, 0.0], [0.6, 0.8]]), np.array([[0, 0], [0, 1]])).round(4).tolist()
    [1.0, 0.3679]
    """
    return np.exp(-((projected[pairs[:, 0]] - projected[pairs[:, 1]]) ** 2).sum(axis=1))
