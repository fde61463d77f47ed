"""How much of each frame is the object: one estimate, made of what networks say and of what witnesses add to it.

With o_t the share of frame t according to networks, the estimate is

  log s_t = log o_t + sum over witnesses w of belief_w * correction_w,t

and never more than the bound. A taper corrects the sizes of frames relative to each other, held-out clicks the sequence
as a whole. What the image says is asked last, when masks are cut (superpixels/sizing.py), and what a person says
outweighs all of it (pipeline/masks.py).
"""

import math
from dataclasses import dataclass, replace

import numpy as np
import torch
from torch import Tensor

from fewpoint.core import AreaBound, PointSet
from fewpoint.learning.depths import trust_in_spread
from fewpoint.learning.prediction import pool_regions_of
from fewpoint.learning.samples import SampleSet
from fewpoint.learning.taper import Taper, find_taper

LEAST = 1e-4
LEAST_LEVEL = 0.02
DIM = 0.2  # probability at which an object with a clear outline covers hardly more than at 0.5


@dataclass(frozen=True, eq=False)
class SizeWitness:
    """correction: by how much the logarithm of the object's share of each frame, (T,) or all alike, should be higher.

    belief: 0 … 1, how far to go there.
    """

    correction: np.ndarray | float
    belief: float


def estimate_shares(own: np.ndarray, witnesses: list[SizeWitness], bound: AreaBound) -> np.ndarray:
    """(T,) shares of the frames, from those that networks suggest and what witnesses add to them."""
    logs = np.log(own) + sum(each.belief * np.asarray(each.correction) for each in witnesses)
    return np.exp(logs).clip(LEAST, bound.fraction)


def hear_taper(taper: Taper, own: np.ndarray) -> SizeWitness:
    """The taper of the object, which leaves the sum of (T,) shares as it is."""
    bent = taper.bent
    return SizeWitness(np.log(bent * own.sum() / (bent * own).sum()), 1.0)


def hear_heldout(share: float | None, own: float, belief: float) -> SizeWitness:
    """Clicks that networks have not learnt from: the object's share of the frames according to them.

    Bounds are generous, and so is what is learnt with them: these clicks may only make the object smaller.
    """
    return SizeWitness(0.0 if share is None or own <= 0 else min(0.0, math.log(share / own)), belief)


def believe_heldout(probabilities: Tensor, samples: SampleSet, places: np.ndarray) -> float:
    """How far clicks that networks have not learnt from tell of the object's size: 0 … 1.

    As far as their (N, 3) places are spread over what (T, h, w) probabilities mark, and as far as these leave the size
    open: a few clicks know less than a clear outline.
    """
    spread = trust_in_spread((probabilities >= 0.5).cpu().numpy(), places)
    return spread * find_openness(probabilities, samples)


def find_openness(probabilities: Tensor, samples: SampleSet) -> float:
    """How far (T, h, w) probabilities leave open how large the object is.

    0 if as much is marked from DIM on as from 0.5 on, 1 if it is twice as much, or nothing is marked from 0.5 on.
    """
    pooled = pool_regions_of(probabilities, samples)
    areas = samples.areas * torch.from_numpy(~samples.absent).to(pooled)[:, None]
    sure, dim = (float((areas * (pooled >= level)).sum()) for level in (0.5, DIM))
    return min(1.0, dim / sure - 1) if sure else 1.0


def fit_taper(probabilities: Tensor, samples: SampleSet, points: PointSet, weight: float) -> Taper:
    """The taper of the superpixels' probabilities, its trust times the weight."""
    sure = (samples.areas * pool_regions_of(probabilities, samples).square()).sum(1).clamp(min=LEAST**2)
    taper = find_taper(sure.cpu().double().numpy(), points)
    return replace(taper, trust=min(1.0, weight * taper.trust))


def level_of_share(values: Tensor, areas: Tensor, share: float) -> float:
    """The value that samples covering this mean share of a frame reach, kept away from 0 and 1."""
    ordered, order = values.flatten().sort(descending=True)
    covered = areas.flatten()[order].cumsum(0) / len(areas)
    last = min(int((covered < share).sum()), len(ordered) - 1)
    return min(max(float(ordered[last]), LEAST_LEVEL), 1 - LEAST_LEVEL)


def find_excess(probabilities: Tensor, aimed_at: Tensor, samples: SampleSet) -> float:
    """How far the logits of (T, h, w) probabilities must be lowered to cover no more of the sequence than the targets.

    aimed_at: (T, h, w) what the targets gave. Superpixels with a mean of 0.5 or above are covered. The clicks that gave
    the targets their size are a better guide to it than a network that has learnt from them; 0 if it covers less.
    """
    present = torch.from_numpy(~samples.absent).to(probabilities.device)[:, None]
    areas = samples.areas * present
    learnt, wanted = (pool_regions_of(values, samples) * present for values in (probabilities, aimed_at))
    own, share = (float((areas * (values >= 0.5)).sum(1).mean()) for values in (learnt, wanted))
    if own <= share:
        return 0.0
    level = level_of_share(learnt, areas, share)
    return max(0.0, math.log(level / (1 - level)))


def find_frame_excess(probabilities: Tensor, aimed_at: Tensor, samples: SampleSet, amount: float) -> Tensor:
    """(T,) how far the logits of each frame of (T, h, w) probabilities must be lowered; raised if below 0.

    Each frame then covers the share that the targets, aimed_at (T, h, w), cover there, to the power `amount`, times its
    own to the power 1 - amount. Frames marked absent, and those on which neither covers anything, stay as they are.
    """
    learnt, targets = (pool_regions_of(values, samples) for values in (probabilities, aimed_at))
    own, wanted = ((samples.areas * (values >= 0.5)).sum(1).tolist() for values in (learnt, targets))
    excess = torch.zeros(samples.n_frames, device=probabilities.device)
    for frame in np.flatnonzero(~samples.absent).tolist():
        if amount and own[frame] + wanted[frame] > 0:
            share = max(wanted[frame], LEAST) ** amount * max(own[frame], LEAST) ** (1 - amount)
            level = level_of_share(learnt[frame, None], samples.areas[frame, None], share)
            excess[frame] = math.log(level / (1 - level))
    return excess
