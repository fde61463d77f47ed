"""What a witness said about an object on all frames of a sequence, and how far it is believed."""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass

import numpy as np

from fewpoint.core import PointSet, Words
from fewpoint.core.paging import make_frames
from fewpoint.witness.asking import LARGEST, Testimony, hear, overlap
from fewpoint.witness.models import Answer, Prompt
from fewpoint.witness.trust import Belief, blend, weigh

STEP = LARGEST / 127  # of a kept logit
COMPARED = 8  # frames whose answers are compared with those about an empty picture

AskFrame = Callable[[int | None, list[Prompt]], list[Answer]]  # about a frame, or about an empty picture


@dataclass(frozen=True, eq=False)
class Heard:
    """logits: (T, H, W) int8 in units of STEP, of the frames on which it is believed. belief: how far."""

    logits: np.ndarray
    belief: Belief

    def heed(self, chances: Iterable[np.ndarray]) -> Iterator[np.ndarray]:
        """The (H, W) chances of each frame; where the witness is not believed they are handed on as they are."""
        for frame, (own, weight) in enumerate(zip(chances, self.belief.weights, strict=True)):
            yield blend(own, self.logits_on(frame), float(weight)) if weight else own

    def logits_on(self, frame: int) -> np.ndarray:
        """(H, W) float32."""
        return self.logits[frame].astype(np.float32) * STEP


def measure_blindness(ask: AskFrame, chances: np.ndarray, testimonies: list[Testimony | None]) -> float:
    """Mean overlap of what was heard with answers to the same prompts about an empty picture, over a few frames."""
    heard = {frame: each for frame, each in enumerate(testimonies) if each is not None}
    places = np.unique(np.linspace(0, len(heard) - 1, COMPARED).astype(int)) if heard else ()
    overlaps = []
    for frame in np.array(list(heard))[places].tolist() if heard else ():
        blind = hear(lambda prompts: ask(None, prompts), chances[frame].astype(np.float32))
        overlaps += [] if blind is None else [overlap(heard[frame].mask, blind.mask)]
    return float(np.mean(overlaps)) if overlaps else 0.0


def listen(ask: AskFrame, chances: np.ndarray, points: PointSet, words: Words) -> Heard:
    """Ask a witness about every frame that shows the object, and weigh what it says.

    chances: (T, H, W), what networks see. points, words: a person's own, about this object alone.
    """

    def ask_about(frame: int, seen: np.ndarray) -> Testimony | None:
        if frame in points.absent:
            return None
        return hear(lambda prompts: ask(frame, prompts), seen.astype(np.float32))

    testimonies = [ask_about(frame, seen) for frame, seen in enumerate(chances)]
    belief = weigh(testimonies, chances, points, words, measure_blindness(ask, chances, testimonies))
    logits = make_frames(chances.shape, np.int8)
    for place, heard, weight in zip(logits, testimonies, belief.weights, strict=True):
        if heard is not None and weight:
            place[:] = np.round(heard.logits / STEP)
    return Heard(logits, belief)
