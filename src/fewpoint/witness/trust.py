"""How far a witness is believed, without any truth: on each frame, and for the sequence as a whole.

A witness that knows the object sees it in the clicks alone, too, but not in an empty picture. It keeps what people
clicked, leaves out what they refused, and draws outlined frames at least as well as the networks do. And where it draws
an edge elsewhere than the networks, their ranking takes its side: of two places as far from the networks' own edge, the
one that it counts as the object is likelier to be so to them, too.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import cast

import numpy as np
from scipy.ndimage import distance_transform_edt
from scipy.special import expit, logit

from fewpoint.core import PointSet, Words
from fewpoint.witness.asking import LEAST_OVERLAP, Testimony, overlap

LEAST_AGREEMENT = 0.3  # for the sequence: overlap of what it claims with what it sees in clicks alone
LEAST_SCORE = 0.75  # of a frame
LEAST_RANKING = 0.54  # for the sequence; 0.5 is chance
LEAST_BELIEVED = 0.3  # share of the frames that it must be believed on for it to be believed at all
OUTLINES_WORSE = 0.02  # by which it may draw outlined frames worse than the networks
MOST_BLIND = 0.92  # overlap of its answers with those about an empty picture: more, and it does not look
CLICKS_WORSE = 0.1  # share of the clicks that the networks keep and it may lose
LARGEST = 3.0  # of a logit: a sure answer has one voice among several
SUREST = 1e-3  # chances are kept this far from 0 and 1
VOICE = 0.7  # weight of the witness against the networks where it is believed
BAND = 0.35  # of the mask's radius: how far from its edge places are compared
STEP = 0.07  # of the mask's radius: distances that count as equal


@dataclass(frozen=True, eq=False)
class Belief:
    """How far a witness is believed about an object.

    weights: (T,) its weight on each frame, 0 where masks stay as they are. ranking: how far the networks' ranking takes
    its side, 0.5 by chance, NaN if they dispute nothing. reason: why it is not believed at all; "" if it is.
    """

    weights: np.ndarray
    ranking: float
    reason: str = ""

    @property
    def share(self) -> float:
        """Of the frames on which it is believed."""
        return float((self.weights > 0).mean())


def weigh(
    testimonies: Sequence[Testimony | None], chances: np.ndarray, points: PointSet, words: Words, blind: float = 0.0
) -> Belief:
    """How far to believe what was heard about each frame, None where nothing was.

    chances: (T, H, W), what the networks see. points, words: a person's own, about this object alone. blind: overlap of
    the answers with those about an empty picture.
    """
    given = enumerate(zip(testimonies, chances, strict=True))
    weights = np.array([_weigh_on(number, *each, points, words) for number, each in given])
    ranking = compare_rankings(testimonies, chances, weights)
    reason = "it gives the same answer for an empty picture" if blind > MOST_BLIND else ""
    reason = reason or _find_objection(testimonies, chances, points, words, weights, ranking)
    return Belief(np.zeros_like(weights) if reason else weights, ranking, reason)


def weigh_frame(heard: Testimony, mask: np.ndarray, clicked: tuple[np.ndarray, np.ndarray]) -> float:
    """The weight of a testimony about a frame with a mask (H, W): 0 or VOICE.

    clicked: (n, 2) rows and columns of the frame's points on the object, and beside it. A mask that obeys one is not
    given up for a testimony that does not.
    """
    steady = heard.score >= LEAST_SCORE
    about_it = overlap(heard.mask, mask) >= LEAST_OVERLAP
    inside, outside = (tuple(places.T) for places in clicked)
    obeys = not (mask & ~heard.mask)[inside].any() and not (heard.mask & ~mask)[outside].any()
    return VOICE if steady and about_it and obeys else 0.0


def compare_rankings(testimonies: Sequence[Testimony | None], chances: np.ndarray, weights: np.ndarray) -> float:
    """How often, of two places as far from the networks' edge, the one inside the witness's mask is likelier to them.

    Over the frames with a weight; NaN if there is nothing to compare.
    """
    sums = [
        compare_ranking(heard.mask, seen)
        for heard, seen, weight in zip(testimonies, chances, weights, strict=True)
        if heard is not None and weight
    ]
    wins, pairs = np.sum(sums, axis=0) if sums else (0.0, 0.0)
    return float(wins / pairs) if pairs else float("nan")


def compare_ranking(claimed: np.ndarray, seen: np.ndarray) -> tuple[float, float]:
    """Of one frame: the sum over distances of the share of pairs that the ranking decides for the claim, and weights.

    claimed: (H, W) mask of the witness. seen: (H, W) chances.
    """
    mask = seen >= 0.5
    radius = np.sqrt(mask.sum() / np.pi)
    depths = _distances(mask) - _distances(~mask)
    near = np.abs(depths) <= max(2.0, BAND * radius)
    steps = np.round(depths[near] / max(1.0, STEP * radius)).astype(int)
    values, inside = seen[near].astype(np.float64), claimed[near]  # ranks of half numbers are half numbers, too small
    wins = pairs = 0.0
    for step in np.unique(steps):
        here = steps == step
        share, weight = _share_of_pairs(values[here], inside[here])
        wins, pairs = wins + share * weight, pairs + weight
    return wins, pairs


def blend(chances: np.ndarray, logits: np.ndarray, weight: float) -> np.ndarray:
    """(H, W) float32 chances once a witness of this weight has been heard, on a scale of logits."""
    own = np.clip(logit(np.clip(chances.astype(np.float32), SUREST, 1 - SUREST)), -LARGEST, LARGEST)
    return expit((1 - weight) * own + weight * logits).astype(np.float32)


def places_on(points: PointSet, frame: int) -> tuple[np.ndarray, np.ndarray]:
    """(n, 2) rows and columns of the points on the object and of those beside it on a frame."""
    negatives = points.negatives
    return points.coordinates[points.frames == frame, 1:], negatives[negatives[:, 0] == frame, 1:]


def _find_objection(
    testimonies: Sequence[Testimony | None],
    chances: np.ndarray,
    points: PointSet,
    words: Words,
    weights: np.ndarray,
    ranking: float,
) -> str:
    """Why the witness is not believed about a sequence; "" if nothing speaks against it."""
    heard = {number: each for number, each in enumerate(testimonies) if each is not None}
    if not heard:
        return "there was nothing to ask"
    free = [number for number in heard if not _is_settled(number, words)]
    if not free:
        return "every mask has a size set by a person"
    if (weights[free] > 0).mean() < LEAST_BELIEVED:
        return "it scores its answers low, or they overlap little with the masks"
    if np.mean([each.agreement for each in heard.values()]) < LEAST_AGREEMENT:
        return "prompted with clicks alone it finds something else"
    if not ranking >= LEAST_RANKING:
        return "where it differs from the networks, their ranking disagrees"
    clicked = [
        (each.mask[y, x], chances[frame][y, x] >= 0.5)
        for frame, y, x in points.coordinates.tolist()
        if (each := heard.get(frame)) is not None
    ]
    if clicked and np.mean([own for own, _ in clicked]) < np.mean([kept for _, kept in clicked]) - CLICKS_WORSE:
        return "it misses clicks"
    drawn = [
        (overlap(each.mask, truth), overlap(chances[frame] >= 0.5, truth))
        for frame, each in heard.items()
        if frame in words.outlined and (truth := words.mask(frame, each.mask.shape)).any()
    ]
    if drawn and np.mean([own for own, _ in drawn]) < np.mean([seen for _, seen in drawn]) - OUTLINES_WORSE:
        return "it fits drawn masks worse than the networks"
    return ""


def _weigh_on(number: int, heard: Testimony | None, seen: np.ndarray, points: PointSet, words: Words) -> float:
    if heard is None or _is_settled(number, words):
        return 0.0
    return weigh_frame(heard, seen >= 0.5, places_on(points, number))


def _distances(mask: np.ndarray) -> np.ndarray:
    """(H, W) of each pixel of a mask to the nearest outside it."""
    return cast(np.ndarray, distance_transform_edt(mask))


def _is_settled(frame: int, words: Words) -> bool:
    """Whether a person said how large the mask of a frame is, or drew it: a witness then has nothing to say."""
    return frame in words.outlined or words.size_of(frame) != 1


def _share_of_pairs(values: np.ndarray, inside: np.ndarray) -> tuple[float, float]:
    """Of all pairs of a value inside and one outside, the share in which that inside is larger; how much that counts.

    >>> _share_of_pairs(np.array([0.1, 0.2, 0.3]), np.array([False, True, True]))
    (1.0, 1.0)
    """
    count, others = int(inside.sum()), int((~inside).sum())
    if not count or not others:
        return 0.0, 0.0
    from scipy.stats import rankdata  # slow to import, and what answers at once comes by here

    ranks = rankdata(values)[inside].sum() - count * (count + 1) / 2
    return float(ranks / (count * others)), float(min(count, others))
