"""What a witness said about an object on all frames of a sequence, and how far it is believed."""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass

import numpy as np

from fewpoint.core import PointSet, Words
from fewpoint.core.paging import make_frames
from fewpoint.witness.asking import Claims, Testimony, choose_claims, hear, overlap
from fewpoint.witness.models import Answer, Prompt
from fewpoint.witness.trust import LARGEST, Belief, blend, places_on, weigh

COMPARED = 8  # frames whose answers are compared with those about an empty picture

AskFrame = Callable[[int | None, list[Prompt]], list[Answer]]  # about a frame, or about an empty picture


@dataclass(frozen=True, eq=False)
class Heard:
    """masks: (T, H, W) bool, of the frames on which it is believed. belief: how far."""

    masks: np.ndarray
    belief: Belief

    def heed(self, chances: Iterable[np.ndarray]) -> Iterator[np.ndarray]:
        """The (H, W) chances of each frame; where the witness is not believed they are handed on as they are."""
        for frame, (own, weight) in enumerate(zip(chances, self.belief.weights, strict=True)):
            yield blend(own, self.logits_on(frame), float(weight)) if weight else own

    def logits_on(self, frame: int) -> np.ndarray:
        """(H, W) float32: a witness is sure of what it says."""
        return np.where(self.masks[frame], LARGEST, -LARGEST).astype(np.float32)


def listen(ask: AskFrame, chances: np.ndarray, points: PointSet, words: Words) -> Heard:
    """Ask a witness about every frame that shows the object, and weigh what it says.

    chances: (T, H, W), what networks see. points, words: a person's own, about this object alone.
    """
    testimonies = take_testimonies(ask, chances, points)
    belief = weigh(testimonies, chances, points, words, measure_blindness(ask, chances, points, testimonies))
    masks = make_frames(chances.shape, np.bool_)
    for place, heard, weight in zip(masks, testimonies, belief.weights, strict=True):
        if heard is not None and weight:
            place[:] = heard.mask
    return Heard(masks, belief)


def take_testimonies(ask: AskFrame, chances: np.ndarray, points: PointSet) -> list[Testimony | None]:
    """What a witness is taken at about each frame, None where the networks see no object or a person saw none."""
    given = [
        None if frame in points.absent else _hear(ask, frame, seen.astype(np.float32), points, frame)
        for frame, seen in enumerate(chances)
    ]
    size = (chances.shape[1], chances.shape[2])
    return [
        None if claims is None or claim is None else Testimony(claim.unpack(size), claims.agreement, claim.score)
        for claims, claim in zip(given, choose_claims(given), strict=True)
    ]


def measure_blindness(
    ask: AskFrame, chances: np.ndarray, points: PointSet, testimonies: list[Testimony | None]
) -> float:
    """Mean overlap of what was heard with answers to the same prompts about an empty picture, over a few frames."""
    heard = {frame: each for frame, each in enumerate(testimonies) if each is not None}
    places = np.unique(np.linspace(0, len(heard) - 1, COMPARED).astype(int)) if heard else ()
    overlaps = []
    for frame in np.array(list(heard))[places].tolist() if heard else ():
        seen = chances[frame].astype(np.float32)
        (claim,) = choose_claims([_hear(ask, None, seen, points, frame)])
        overlaps += [] if claim is None else [overlap(heard[frame].mask, claim.unpack(heard[frame].mask.shape))]
    return float(np.mean(overlaps)) if overlaps else 0.0


def _hear(ask: AskFrame, asked: int | None, seen: np.ndarray, points: PointSet, frame: int) -> Claims | None:
    """What is claimed about the picture of a frame, or about an empty one in its place."""
    return hear(lambda prompts: ask(asked, prompts), seen, places_on(points, frame)[0])
