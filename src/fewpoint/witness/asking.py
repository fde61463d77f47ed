"""What a promptable model is asked about a frame, and what it claims.

The networks know about where the object is and about how large: the model is asked with the box round each part of
their mask, cut at several levels of their chances, and again with the box round each of its own answers. Of the masks
that it offers each time, the one counts that is likest to the part asked about and that the model itself thinks good.
Which of its claims it is taken at is decided over all frames together: the model's own score says best how large the
object is, but sizes seldom differ much from those of the networks, or from one frame to the next.
"""

import math
import zlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import cast

import numpy as np
from scipy.ndimage import distance_transform_edt

from fewpoint.learning.components import label_components
from fewpoint.witness.models import Answer, Prompt, PromptBox

LEVELS = (0.3, 0.4, 0.5, 0.6, 0.7)  # of the networks' chances, at which their mask might end
MIDDLE = 0.5
TURNS = 2  # the box of a level, then the box of the answer to it
MOST_PARTS = 3
LEAST_PART = 0.1  # of a frame's mask: smaller parts are not asked about
LEAST_PIXELS = 12  # of a mask that is worth asking about
LEAST_OVERLAP = 0.3  # of a claim with the networks' mask: less is about something else
DISTANCE = 0.03  # of the score that a claim loses if it is e times as large as the networks' mask, or as small
RESTLESSNESS = 0.03  # that it loses if that ratio has changed as much since the frame before, at most

Ask = Callable[[list[Prompt]], list[Answer]]


@dataclass(frozen=True, eq=False)
class Claim:
    """One mask that a model claims. score: how good it thinks it is. ratio: logarithm of its size to the networks'.

    packed: its bits. overlap: with the networks' mask.
    """

    packed: bytes
    score: float
    ratio: float
    overlap: float

    @classmethod
    def of(cls, mask: np.ndarray, score: float, own: np.ndarray) -> "Claim":
        ratio = math.log(max(1, int(mask.sum())) / max(1, int(own.sum())))
        return cls(zlib.compress(np.packbits(mask).tobytes(), 1), score, ratio, overlap(mask, own))

    def unpack(self, size: tuple[int, int]) -> np.ndarray:
        """(H, W) bool."""
        bits = np.frombuffer(zlib.decompress(self.packed), np.uint8)
        return np.unpackbits(bits, count=size[0] * size[1]).reshape(size).astype(bool)


@dataclass(frozen=True, eq=False)
class Claims:
    """All that a model claims about a frame, see LEVELS and TURNS.

    agreement: overlap of what it claims with what it sees if it is asked with clicks alone.
    """

    claims: tuple[Claim, ...]
    agreement: float


@dataclass(frozen=True, eq=False)
class Testimony:
    """What a model is taken at about a frame. mask: (H, W) bool. agreement: see Claims. score: in [0, 1]."""

    mask: np.ndarray
    agreement: float
    score: float


def hear(ask: Ask, chances: np.ndarray, clicks: np.ndarray) -> Claims | None:
    """What a model claims about a frame with (H, W) chances of the object, as networks see it; None if they see none.

    clicks: (n, 2) rows and columns of those on this frame; without any, the middles of the networks' mask stand in.
    """
    own = chances >= MIDDLE
    middle = find_parts(own)
    if not middle:
        return None
    asked = {level: find_parts_at(chances, level) for level in LEVELS}
    claims = []
    for _ in range(TURNS):
        heard = ask_about(ask, asked)
        asked = {level: [mask for mask, _ in some] for level, some in heard.items()}
        claims += [_claim(some, own) for some in heard.values()]
    places = clicks if len(clicks) else np.stack([find_middle(part) for part in middle])
    (answer,) = ask([Prompt(clicks=places)])
    return Claims(tuple(claims), overlap(answer.best >= 0, np.logical_or.reduce(asked.get(MIDDLE) or [own & False])))


def ask_about(ask: Ask, asked: dict[float, list[np.ndarray]]) -> dict[float, list[tuple[np.ndarray, float]]]:
    """The mask and score that are chosen for each part of each level, asked with its box; without levels of nothing."""
    asked = {level: parts for level, parts in asked.items() if parts and all(part.any() for part in parts)}
    answers = iter(ask([Prompt(box_round(part)) for parts in asked.values() for part in parts]) if asked else ())
    return {level: [choose(next(answers), part) for part in parts] for level, parts in asked.items()}


def choose_claims(heard: Sequence[Claims | None]) -> list[Claim | None]:
    """The claim that a model is taken at on each frame: of all courses over time, the one of the largest worth.

    A claim is worth its score, less DISTANCE and RESTLESSNESS.
    """
    possible = [[] if each is None else [own for own in each.claims if own.overlap >= LEAST_OVERLAP] for each in heard]
    frames = [frame for frame, claims in enumerate(possible) if claims]
    worth, before = np.zeros(1), np.zeros(1)
    origins = []
    for number, frame in enumerate(frames):
        ratios = np.array([claim.ratio for claim in possible[frame]])
        own = np.array([claim.score for claim in possible[frame]]) - DISTANCE * np.abs(ratios)
        change = np.minimum(1.0, np.abs(ratios[:, np.newaxis] - before)) if number else np.zeros((len(ratios), 1))
        courses = worth - RESTLESSNESS * change
        origins.append(courses.argmax(1))
        worth, before = own + courses.max(1), ratios
    chosen: list[Claim | None] = [None] * len(heard)
    place = int(worth.argmax())
    for frame, origin in zip(reversed(frames), reversed(origins), strict=True):
        chosen[frame] = possible[frame][place]
        place = int(origin[place])
    return chosen


def find_parts_at(chances: np.ndarray, level: float) -> list[np.ndarray]:
    """The largest parts of what is likelier than a level, as far as it hangs together with the networks' mask."""
    mask = chances >= level
    if level < MIDDLE:
        labels, _ = label_components(mask)
        mask &= np.isin(labels, np.unique(labels[chances >= MIDDLE]))
    return find_parts(mask)


def find_parts(mask: np.ndarray) -> list[np.ndarray]:
    """(H, W) masks of the largest connected parts of a mask, largest first; none if it is a speck."""
    if mask.sum() < LEAST_PIXELS:
        return []
    labels, count = label_components(mask)
    areas = np.bincount(labels.ravel(), minlength=count + 1)[1:]
    largest = np.argsort(-areas, kind="stable")[:MOST_PARTS]
    return [labels == number + 1 for number in largest if areas[number] >= LEAST_PART * areas.sum()]


def find_middle(mask: np.ndarray) -> np.ndarray:
    """Row and column of the pixel of a mask that is farthest from its edge.

    >>> find_middle(np.ones((3, 5), bool)).tolist()
    [1, 1]
    """
    depths = cast(np.ndarray, distance_transform_edt(np.pad(mask, 1)))[1:-1, 1:-1]
    return np.array(np.unravel_index(int(depths.argmax()), mask.shape))


def choose(answer: Answer, part: np.ndarray) -> tuple[np.ndarray, float]:
    """The mask (H, W) of an answer that is likest to the part and scored best, and its score."""
    masks = answer.masks >= 0
    worth = [score * overlap(mask, part) for mask, score in zip(masks, answer.scores, strict=True)]
    best = int(np.argmax(worth))
    return masks[best], float(answer.scores[best])


def box_round(mask: np.ndarray) -> PromptBox:
    """
    >>> box_round(np.array([[0, 0, 0], [0, 1, 1]], bool))
    PromptBox(top=1, bottom=2, left=1, right=3)
    """
    rows, columns = (np.flatnonzero(mask.any(axis)) for axis in (1, 0))
    return PromptBox(int(rows[0]), int(rows[-1]) + 1, int(columns[0]), int(columns[-1]) + 1)


def overlap(mask: np.ndarray, other: np.ndarray) -> float:
    """Intersection over union; 1 if both are empty."""
    union = (mask | other).sum()
    return float((mask & other).sum() / union) if union else 1.0


def _claim(parts: list[tuple[np.ndarray, float]], own: np.ndarray) -> Claim:
    """What is claimed about all parts together."""
    score = float(np.clip(np.mean([score for _, score in parts]), 0, 1))
    return Claim.of(np.logical_or.reduce([mask for mask, _ in parts]), score, own)
