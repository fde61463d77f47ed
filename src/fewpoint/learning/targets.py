"""What a further round learns from: the last round's probabilities, corrected by what the clicks say.

A click says where, not only what. Parts with a clear outline are favoured, the probability of each superpixel is
combined with a prior that falls with the distance to the frame's clicks, its amount is set to the frame's expected
share, it is evened out along the image, its amount over the sequence is set to what held-out clicks suggest, and what
is connected to no click anywhere in the sequence is doubted. A network that learns from the result no longer sees
clicks, only frames.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, fields, replace

import numpy as np
import torch
from torch import Tensor

from fewpoint.core import AreaBound, PointSet
from fewpoint.learning.clicks import is_sparse, size_profile, usual_gap
from fewpoint.learning.components import label_components
from fewpoint.learning.depths import trust_in_spread
from fewpoint.learning.outlines import find_outlined, innermost
from fewpoint.learning.prediction import pool_regions_of
from fewpoint.learning.samples import SampleSet
from fewpoint.learning.settings import RoundSettings
from fewpoint.learning.taper import Taper, find_taper, restlessness

LEAST = 1e-4
MOST = 0.97
LEAST_WEIGHT = 0.1
LEAST_LEVEL = 0.02
BISECTIONS = 35
USUAL = 0.7  # expected F1 of networks that have found the object: 0.59 to 0.81 on the development sequences
LOWEST = 0.625  # of a lower expected F1: the least level that counts as covered
DIM = 0.2  # probability at which an object with a clear outline covers hardly more than at 0.5


@dataclass(frozen=True, eq=False)
class Targets:
    """probability: (T, h, w) that a pixel shows the object. weight: (T, h, w), 0 on padding, low if undecided."""

    probability: Tensor
    weight: Tensor

    def share(self) -> np.ndarray:
        """(T,) float64 mean probability of each frame, without padding."""
        return frame_means(self.probability, (self.weight > 0).float()).cpu().double().numpy()


@dataclass(frozen=True)
class ClueWeights:
    """How much each clue counts in the targets, see RoundSettings: as set, or less if a round or the clicks say so."""

    heldout: float
    nearness: float
    floor: float
    profile: float
    doubt: float
    taper: float
    outlines: float
    edges: float

    @classmethod
    def of(cls, settings: RoundSettings) -> "ClueWeights":
        return cls(**{entry.name: getattr(settings, entry.name) for entry in fields(cls)})


@dataclass(frozen=True, eq=False)
class Clues:
    """What is known besides the probabilities.

    points: a person's own. carried: the same and where motion carried them to. heldout_share: mean share of a frame
    that the object covers according to the clicks held out, None if there were none. taken: share of the frames that
    show the object, according to networks trained with the same prior on all. even_out: evens (T, regions)
    probabilities out along the image, None leaves them as they are. find_level: the level of (T, regions) scores at
    which the object ends according to the image, None if nothing says so.
    """

    points: PointSet
    carried: PointSet
    heldout_share: float | None = None
    taken: float = 1.0
    even_out: Callable[[np.ndarray], np.ndarray] | None = None
    find_level: Callable[[np.ndarray], float] | None = None


def make_targets(
    probabilities: Tensor, samples: SampleSet, clues: Clues, bound: AreaBound, weights: ClueWeights
) -> Targets:
    """Targets of the next round from the (T, h, w) mean probabilities of this one."""
    valid = (samples.labels < samples.regions).float()
    taper = _fit_taper(probabilities, samples, clues.points, weights)
    weights = _heed_clicks(weights, probabilities, samples, clues)
    if weights.outlines:
        outlined = _find_outlined(probabilities, samples, bound)
        clues = replace(clues, carried=stand_in(outlined, samples, clues))
        favoured = _favour(probabilities, outlined, weights.outlines * (1 - taper.trust))
        if not is_sparse(clues.points, samples.n_frames):
            # Outlines say where the object is, not how much there is of it. If clicks are sparse, networks mark too
            # much, and outlines may reduce it.
            favoured = _set_amount(favoured, frame_means(probabilities, valid).mean(), valid)
        probabilities = favoured
    pooled = pool_regions_of(probabilities, samples)
    means = spread(pooled, samples).clamp(LEAST, 1 - LEAST)
    share = frame_means(means, valid).clamp(LEAST, bound.fraction)
    nearness = nearness_prior(click_distances(samples, clues.carried), share, valid, weights.floor)
    scores = logit(means) + weights.nearness * (logit(nearness) - logit(share)[:, None, None])
    scores = shift_to_share(scores, _expected_share(scores, valid, samples, clues.points, bound, weights, taper), valid)
    scores = _follow_image(scores, samples, clues, bound, weights)
    doubted = torch.sigmoid(scores)
    doubted = torch.where(hangs_together(doubted, clues.carried, samples), doubted, weights.doubt * doubted)
    return obey_labels(doubted, samples)


def obey_labels(probabilities: Tensor, samples: SampleSet) -> Targets:
    """Targets of (T, h, w) probabilities, weighted by how decided they are, in which every label is obeyed."""
    valid = (samples.labels < samples.regions).float()
    weight = valid * ((2 * probabilities - 1).abs() + LEAST_WEIGHT)
    probability = torch.maximum(probabilities, spread(samples.positive, samples))
    if samples.negative is not None:
        rejected = spread(samples.negative, samples) > 0
        probability = torch.where(rejected, 0.0, probability)
        weight = torch.where(rejected, 1 + LEAST_WEIGHT, weight)
    absent = torch.from_numpy(samples.absent).to(probability.device)[:, None, None]
    probability, weight = torch.where(absent, 0.0, probability), torch.where(absent, valid, weight)
    if samples.drawn is not None and samples.known is not None:
        outlined = torch.from_numpy(~np.isnan(samples.known)).to(probability.device)[:, None, None]
        probability = torch.where(outlined, samples.drawn, probability)
        weight = torch.where(outlined, (1 + LEAST_WEIGHT) * valid, weight)
    return Targets(probability, weight)


def share_out(targets: Sequence[Targets]) -> tuple[Targets, ...]:
    """Targets of several objects whose probabilities sum to at most one on every pixel.

    If the sum exceeds one, each is divided by it.
    """
    total = torch.stack([each.probability for each in targets]).sum(0).clamp(min=1)
    return tuple(replace(each, probability=each.probability / total) for each in targets)


def find_excess(probabilities: Tensor, targets: Targets, samples: SampleSet) -> float:
    """How far the logits of (T, h, w) probabilities must be lowered to cover no more of the sequence than the targets.

    Superpixels with a mean of 0.5 or above are covered. The clicks that gave the targets their size are a better guide
    to it than a network that has learnt from the targets; 0 if it covers less.
    """
    present = torch.from_numpy(~samples.absent).to(probabilities.device)[:, None]
    areas = samples.areas * present
    learnt, aimed_at = (pool_regions_of(values, samples) * present for values in (probabilities, targets.probability))
    own, share = (float((areas * (values >= 0.5)).sum(1).mean()) for values in (learnt, aimed_at))
    if own <= share:
        return 0.0
    level = _level_of_share(learnt, areas, share)
    return max(0.0, math.log(level / (1 - level)))


def find_frame_excess(probabilities: Tensor, targets: Targets, samples: SampleSet, amount: float) -> Tensor:
    """(T,) how far the logits of each frame of (T, h, w) probabilities must be lowered; raised if below 0.

    Each frame then covers the share that the targets cover there, to the power `amount`, times its own to the power
    1 - amount. Frames marked absent, and those on which neither covers anything, stay as they are.
    """
    learnt, aimed_at = (pool_regions_of(values, samples) for values in (probabilities, targets.probability))
    own, wanted = ((samples.areas * (values >= 0.5)).sum(1).tolist() for values in (learnt, aimed_at))
    excess = torch.zeros(samples.n_frames, device=probabilities.device)
    for frame in np.flatnonzero(~samples.absent).tolist():
        if amount and own[frame] + wanted[frame] > 0:
            share = max(wanted[frame], LEAST) ** amount * max(own[frame], LEAST) ** (1 - amount)
            level = _level_of_share(learnt[frame, None], samples.areas[frame, None], share)
            excess[frame] = math.log(level / (1 - level))
    return excess


def find_taken(probabilities: Tensor, samples: SampleSet, points: PointSet) -> float:
    """Share of the frames not marked absent that show the object, according to (T, h, w) probabilities.

    These are of networks that learnt with the same prior on all of these frames: what frames without the object did not
    use of it went to the others. Within the usual gap from a click a frame counts fully, since a person saw the object
    about there; farther away it does if it is covered at least half as much as those, and less otherwise.
    """
    present = np.flatnonzero(~samples.absent)
    covered = (samples.areas * (pool_regions_of(probabilities, samples) >= 0.5)).sum(1).cpu().double().numpy()[present]
    near = np.abs(present[:, np.newaxis] - np.unique(points.frames)).min(1) <= usual_gap(points)
    usual = covered[near].mean()
    return float(np.where(near, 1.0, (2 * covered / usual).clip(max=1)).mean()) if usual else 1.0


def click_distances(samples: SampleSet, points: PointSet) -> Tensor:
    """(T, h, w) distance in working pixels to the frame's nearest click, infinite on frames without one."""
    height, width = samples.labels.shape[1:]
    scale = np.array(samples.size.reduced) / samples.size.full
    distances = np.full((samples.n_frames, height, width), np.inf, np.float32)
    rows, columns = np.ogrid[:height, :width]
    for frame, *place in points.coordinates:
        y, x = (np.array(place) + 0.5) * scale - 0.5
        distances[frame] = np.minimum(distances[frame], np.hypot(rows - y, columns - x))
    return torch.from_numpy(distances).to(samples.frames.device)


def nearness_prior(distances: Tensor, share: Tensor, valid: Tensor, floor: float) -> Tensor:
    """(T, h, w) probability of the object given only the clicks: a bell round them over an even floor.

    share: (T,) its mean on each frame; `floor` of it is spread evenly over the frame. The bell is as wide as a disc of
    the share's area. On a frame without a click the prior is constant.
    """
    clicked = torch.isfinite(distances[:, :1, :1])
    pixels = valid.sum((1, 2), keepdim=True)
    level = share[:, None, None]
    bell = torch.exp(-math.pi * torch.where(clicked, distances, 0.0).square() / (level * pixels)) * valid
    low, high = torch.zeros_like(level), torch.full_like(level, 50.0)
    for _ in range(BISECTIONS):
        height = (low + high) / 2
        below = (height * bell).clamp(max=0.95).sum((1, 2), keepdim=True) / pixels < (1 - floor) * level
        low, high = torch.where(below, height, low), torch.where(below, high, height)
    prior = (high * bell).clamp(max=0.95) + floor * level
    return torch.where(clicked, prior, level).clamp(LEAST, MOST)


def shift_to_share(scores: Tensor, share: Tensor, valid: Tensor) -> Tensor:
    """Scores (T, h, w) shifted frame by frame, so that their mean probability is the share (T,)."""
    low = torch.full_like(share, -30.0)[:, None, None]
    high = -low
    for _ in range(BISECTIONS):
        middle = (low + high) / 2
        below = frame_means(torch.sigmoid(scores + middle), valid)[:, None, None] < share[:, None, None]
        low, high = torch.where(below, middle, low), torch.where(below, high, middle)
    return scores + (low + high) / 2


def hangs_together(probabilities: Tensor, points: PointSet, samples: SampleSet) -> Tensor:
    """(T, h, w) whether a pixel at 0.5 or above is connected, in space and time, to a clicked one, or is below 0.5."""
    likely = (probabilities >= 0.5).cpu().numpy()
    components, _ = label_components(likely, np.ones((3, 3, 3)))
    clicked = np.unique(components[tuple(locate(points, samples).T)])
    kept = np.isin(components, clicked[clicked > 0])
    return torch.from_numpy(kept | ~likely if kept.any() else np.ones_like(likely)).to(probabilities.device)


def locate(points: PointSet, samples: SampleSet) -> np.ndarray:
    """(N, 3) frame, row and column of the points at the working size."""
    return points.coordinates * (1, *samples.size.reduced) // (1, *samples.size.full)


def spread(regions: Tensor, samples: SampleSet) -> Tensor:
    """(T, regions) values on all pixels (T, h, w) of their superpixels, 0 on padding."""
    padded = torch.nn.functional.pad(regions, (0, 1))
    return torch.gather(padded, 1, samples.labels.flatten(1)).reshape(samples.labels.shape)


def frame_means(values: Tensor, valid: Tensor) -> Tensor:
    """(T,) mean over the valid pixels of each frame."""
    return (values * valid).sum((1, 2)) / valid.sum((1, 2))


def logit(probabilities: Tensor) -> Tensor:
    return torch.log(probabilities) - torch.log1p(-probabilities)


def _follow_image(scores: Tensor, samples: SampleSet, clues: Clues, bound: AreaBound, weights: ClueWeights) -> Tensor:
    """Scores (T, h, w) evened out along the image and shifted as a whole to the expected share of the sequence."""
    present = torch.from_numpy(~samples.absent).to(scores.device)
    pooled = torch.maximum(pool_regions_of(torch.sigmoid(scores), samples), samples.positive) * present[:, None]
    if samples.negative is not None:
        pooled = pooled * (samples.negative == 0)
    areas = samples.areas * present[:, None] / present.float().mean()
    share = float((areas * (pooled >= _covering_level(pooled, areas))).sum(1).mean())
    # What frames without the object did not use went to others; tapers and clicks have undone half of that by now.
    share *= math.sqrt(clues.taken)
    if clues.heldout_share is not None:
        # Bounds are generous, and so is what is learnt with them: held-out clicks may only make the object smaller.
        share *= min(1.0, clues.heldout_share / share) ** weights.heldout
    elif clues.even_out is None:
        return scores
    if clues.even_out is not None:
        pooled = torch.from_numpy(clues.even_out(pooled.cpu().numpy())).to(pooled)
    level = _level_of_share(pooled, areas, min(share, bound.fraction))
    scores = logit(pooled.clamp(LEAST, 1 - LEAST)) - math.log(level / (1 - level))
    if weights.edges and clues.find_level is not None:
        scores = scores - weights.edges * clues.find_level(scores.cpu().double().numpy())
    return spread(scores, samples)


def _covering_level(values: Tensor, areas: Tensor) -> float:
    """The probability from which samples count as covered: 0.5, and less if hardly any of them is certain.

    F1 is largest if calibrated probabilities are cut at half of the F1 that they then suggest (Lipton et al. 2014).
    Those of networks that have found the object suggest about USUAL, and 0.5 is right for them. Other networks know
    only its place, and at 0.5 would leave next to nothing of it; for them half is a little low.
    """
    ordered, order = values.flatten().cpu().double().sort(descending=True)
    covered = areas.flatten().cpu().double()[order]
    hits = (covered * ordered).cumsum(0)
    expected = float((2 * hits / (covered.cumsum(0) + hits[-1]).clamp(min=LEAST)).max())
    return min(0.5, max(LOWEST * expected, expected - (USUAL - 0.5)))


def _level_of_share(values: Tensor, areas: Tensor, share: float) -> float:
    """The value that samples covering this mean share of a frame reach, kept away from 0 and 1."""
    ordered, order = values.flatten().sort(descending=True)
    covered = areas.flatten()[order].cumsum(0) / len(areas)
    last = min(int((covered < share).sum()), len(ordered) - 1)
    return min(max(float(ordered[last]), LEAST_LEVEL), 1 - LEAST_LEVEL)


def _fit_taper(probabilities: Tensor, samples: SampleSet, points: PointSet, weights: ClueWeights) -> Taper:
    """The taper of the superpixels' probabilities, its trust times weights.taper."""
    sure = (samples.areas * pool_regions_of(probabilities, samples).square()).sum(1).clamp(min=LEAST**2)
    taper = find_taper(sure.cpu().double().numpy(), points)
    return replace(taper, trust=min(1.0, weights.taper * taper.trust))


def _heed_clicks(weights: ClueWeights, probabilities: Tensor, samples: SampleSet, clues: Clues) -> ClueWeights:
    """Weights with which clicks count for the object's size only as far as they are spread over it.

    Held-out clicks also count only as far as the probabilities leave the size open: a few clicks know less than a clear
    outline. But such an outline is too wide if frames without the object have not used their share.
    """
    trust = trust_in_spread((probabilities >= 0.5).cpu().numpy(), locate(clues.points, samples))
    openness = 1 - clues.taken * (1 - find_openness(probabilities, samples))
    return replace(weights, heldout=trust * openness * weights.heldout, profile=trust * weights.profile)


def find_openness(probabilities: Tensor, samples: SampleSet) -> float:
    """How far (T, h, w) probabilities leave open how large the object is.

    0 if as much is marked from DIM on as from 0.5 on, 1 if it is twice as much, or nothing is marked from 0.5 on.
    """
    pooled = pool_regions_of(probabilities, samples)
    areas = samples.areas * torch.from_numpy(~samples.absent).to(pooled)[:, None]
    sure, dim = (float((areas * (pooled >= level)).sum()) for level in (0.5, DIM))
    return min(1.0, dim / sure - 1) if sure else 1.0


def _find_outlined(probabilities: Tensor, samples: SampleSet, bound: AreaBound) -> np.ndarray:
    """(T, h, w) bool, the parts of each frame with the clearest outlines; none on frames marked absent."""
    valid = (samples.labels < samples.regions).cpu().numpy() & ~samples.absent[:, np.newaxis, np.newaxis]
    return find_outlined(probabilities.float().cpu().numpy(), valid, bound.fraction)


def stand_in(outlined: np.ndarray, samples: SampleSet, clues: Clues) -> PointSet:
    """The carried points, and on frames without one but near a click, the middles of outlined (T, h, w) parts.

    Near is within the usual gap between clicked frames: farther away nothing says that the object is there at all.
    """
    clicked, gap = np.unique(clues.points.frames), usual_gap(clues.points)
    scale = np.array(samples.size.full) / samples.size.reduced
    rows = [tuple(row) for row in clues.carried.coordinates.tolist()]
    for frame in sorted(set(range(samples.n_frames)) - set(clues.carried.frames.tolist())):
        if np.abs(clicked - frame).min() <= gap:
            places = ((np.array(place) + 0.5) * scale for place in innermost(outlined[frame]))
            rows += [(frame, int(y), int(x)) for y, x in places]
    return PointSet.from_rows(rows, clues.carried.absent)


def _favour(probabilities: Tensor, outlined: np.ndarray, amount: float) -> Tensor:
    """Probabilities (T, h, w) whose logits are higher by the amount where outlined, and lower elsewhere.

    Frames on which nothing is outlined stay as they are.
    """
    inside = torch.from_numpy(outlined).to(probabilities)
    sign = (2 * inside - 1) * inside.amax((1, 2), keepdim=True)
    return torch.sigmoid(logit(probabilities.clamp(LEAST, 1 - LEAST)) + amount * sign)


def _set_amount(probabilities: Tensor, share: Tensor, valid: Tensor) -> Tensor:
    """Probabilities (T, h, w) whose logits are shifted together, so that their mean over all frames is the share."""
    scores = logit(probabilities.clamp(LEAST, 1 - LEAST)).flatten(0, 1)[None]  # as one long frame
    return torch.sigmoid(shift_to_share(scores, share[None], valid.flatten(0, 1)[None])).view_as(probabilities)


def _expected_share(
    scores: Tensor,
    valid: Tensor,
    samples: SampleSet,
    points: PointSet,
    bound: AreaBound,
    weights: ClueWeights,
    taper: Taper,
) -> Tensor:
    """(T,) the scores' own share of each frame, moved towards the size that the clicks' places or its taper suggest.

    The total is that of the probabilities; its distribution over the frames is that of their squares, in which sure
    pixels count more: around a small object probabilities are often near one half. Sizes that jump from frame to frame
    are mostly noise, and are evened out.
    """
    probabilities = torch.sigmoid(scores)
    own = frame_means(probabilities, valid)
    sure = frame_means(probabilities.square(), valid).cpu().double().numpy()
    height, width = samples.size.full
    profile = size_profile(points, samples.n_frames, bound.fraction * height * width)
    bent = sure ** (1 - restlessness(sure))
    bent *= profile ** (weights.profile * (1 - taper.trust)) * taper.profile**taper.trust
    return (torch.from_numpy(bent / bent.mean()).to(own) * own.mean()).clamp(LEAST, bound.fraction)
