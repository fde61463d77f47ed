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
from fewpoint.learning.clicks import is_sparse, usual_gap
from fewpoint.learning.components import label_components
from fewpoint.learning.outlines import find_outlined, innermost
from fewpoint.learning.prediction import pool_regions_of
from fewpoint.learning.samples import SampleSet
from fewpoint.learning.settings import RoundSettings
from fewpoint.learning.sizes import (
    LEAST,
    believe_heldout,
    estimate_shares,
    fit_taper,
    hear_heldout,
    hear_taper,
    level_of_share,
)
from fewpoint.learning.taper import Taper

MOST = 0.97
LEAST_WEIGHT = 0.1
BISECTIONS = 35


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
    doubt: float
    taper: float
    outlines: float

    @classmethod
    def of(cls, settings: RoundSettings) -> "ClueWeights":
        return cls(**{entry.name: getattr(settings, entry.name) for entry in fields(cls)})


@dataclass(frozen=True, eq=False)
class Clues:
    """What is known besides the probabilities.

    points: a person's own. carried: the same and where motion carried them to. heldout_share: mean share of a frame
    that the object covers according to the clicks held out, None if there were none. even_out: evens (T, regions)
    probabilities out along the image, None leaves them as they are.
    """

    points: PointSet
    carried: PointSet
    heldout_share: float | None = None
    even_out: Callable[[np.ndarray], np.ndarray] | None = None


def make_targets(
    probabilities: Tensor, samples: SampleSet, clues: Clues, bound: AreaBound, weights: ClueWeights
) -> Targets:
    """Targets of the next round from the (T, h, w) mean probabilities of this one."""
    valid = (samples.labels < samples.regions).float()
    taper = fit_taper(probabilities, samples, clues.points, weights.taper)
    belief = weights.heldout * believe_heldout(probabilities, samples, locate(clues.points, samples))
    if weights.outlines:
        outlined = _find_outlined(probabilities, samples, bound)
        clues = replace(clues, carried=stand_in(outlined, samples, clues))
        favoured = _favour(probabilities, outlined, weights.outlines * (1 - taper.trust))
        if not is_sparse(clues.points, samples.n_frames):
            # Outlines say where the object is, not how much there is of it. If clicks are sparse, networks mark too
            # much, and outlines may reduce it.
            favoured = _set_amount(favoured, frame_means(probabilities, valid).mean(), valid)
        probabilities = favoured
    means = spread(pool_regions_of(probabilities, samples), samples).clamp(LEAST, 1 - LEAST)
    share = frame_means(means, valid).clamp(LEAST, bound.fraction)
    nearness = nearness_prior(click_distances(samples, clues.carried), share, valid, weights.floor)
    scores = logit(means) + weights.nearness * (logit(nearness) - logit(share)[:, None, None])
    scores = shift_to_share(scores, _share_frames(scores, valid, taper, bound), valid)
    scores = _follow_image(scores, samples, clues, bound, belief)
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


def emphasise_labels(targets: Targets, samples: SampleSet, weight: float) -> Targets:
    """Targets in which superpixels that a person clicked on or refused have this weight, but for outlined frames.

    Of these every pixel is known: none weighs more than another.
    """
    marked = samples.clicked.float() if samples.negative is None else samples.clicked + samples.negative
    if samples.known is not None:
        marked = marked * torch.from_numpy(np.isnan(samples.known)).to(marked)[:, None]
    return replace(targets, weight=torch.where(spread(marked, samples) > 0, weight, targets.weight))


def share_out(targets: Sequence[Targets]) -> tuple[Targets, ...]:
    """Targets of several objects whose probabilities sum to at most one on every pixel.

    If the sum exceeds one, each is divided by it.
    """
    total = torch.stack([each.probability for each in targets]).sum(0).clamp(min=1)
    return tuple(replace(each, probability=each.probability / total) for each in targets)


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


def _share_frames(scores: Tensor, valid: Tensor, taper: Taper, bound: AreaBound) -> Tensor:
    """(T,) expected share of each frame.

    The total is that of the probabilities; its distribution over the frames is that of their squares, in which sure
    pixels count more: around a small object probabilities are often near one half.
    """
    probabilities = torch.sigmoid(scores)
    own, sure = (frame_means(values, valid) for values in (probabilities, probabilities.square()))
    sizes = (sure * own.sum() / sure.sum()).cpu().double().numpy()
    return torch.from_numpy(estimate_shares(sizes, [hear_taper(taper, sizes)], bound)).to(own)


def _follow_image(scores: Tensor, samples: SampleSet, clues: Clues, bound: AreaBound, belief: float) -> Tensor:
    """Scores (T, h, w) evened out along the image and shifted as a whole to the expected share of the sequence.

    belief: in clicks that were held out.
    """
    present = torch.from_numpy(~samples.absent).to(scores.device)
    pooled = torch.maximum(pool_regions_of(torch.sigmoid(scores), samples), samples.positive) * present[:, None]
    if samples.negative is not None:
        pooled = pooled * (samples.negative == 0)
    areas = samples.areas * present[:, None] / present.float().mean()
    own = float(np.clip((areas * (pooled >= 0.5)).sum(1).mean().item(), LEAST, bound.fraction))
    share = float(estimate_shares(np.array(own), [hear_heldout(clues.heldout_share, own, belief)], bound))
    if clues.even_out is None and math.isclose(share, own):
        return scores
    if clues.even_out is not None:
        pooled = torch.from_numpy(clues.even_out(pooled.cpu().numpy())).to(pooled)
    level = level_of_share(pooled, areas, share)
    return spread(logit(pooled.clamp(LEAST, 1 - LEAST)) - math.log(level / (1 - level)), samples)


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
