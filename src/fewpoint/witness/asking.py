"""What a promptable model is asked about a frame, and what its answers amount to.

The networks know about where the object is: the model is asked with the box round each part of their mask, as it is and
shaken a little, and with the mask itself. Of the masks that it offers each time, the one counts that is likest to the
part asked about and that the model itself thinks good.
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from scipy.special import logit

from fewpoint.learning.components import label_components
from fewpoint.witness.models import Answer, Prompt, PromptBox

MOST_PARTS = 3
LEAST_PART = 0.1  # of a frame's mask: smaller parts are not asked about
LEAST_PIXELS = 12  # of a mask that is worth asking about
# By how much of the box's height and width its top, bottom, left and right are moved.
SHAKES = (
    (0.0, 0.0, 0.0, 0.0),
    (0.05, 0.05, 0.05, 0.05),
    (-0.05, -0.05, 0.05, 0.05),
    (0.05, -0.05, 0.05, -0.05),
)
SUREST = 1e-3  # chances are kept this far from 0 and 1
ELSEWHERE = -8.0  # logit of other parts in a rough mask of one

Ask = Callable[[list[Prompt]], list[Answer]]


@dataclass(frozen=True, eq=False)
class Testimony:
    """What a model says about a frame.

    logits: (H, W) mean over its answers, each within LARGEST. agreement: mean IoU of its answers with what they
    amount to. score: how good it thinks they are, in [0, 1].
    """

    logits: np.ndarray
    agreement: float
    score: float

    @property
    def mask(self) -> np.ndarray:
        return self.logits >= 0


LARGEST = 3.0  # of a logit: a sure answer has one voice among several


def hear(ask: Ask, chances: np.ndarray) -> Testimony | None:
    """What a model says about a frame with (H, W) chances of the object, as networks see it; None if they see none."""
    parts = find_parts(chances >= 0.5)
    if not parts:
        return None
    ways = make_prompts(chances, parts)
    answers = iter(ask([prompt for way in ways for prompt in way]))
    heard = [[choose(next(answers), part) for part in parts] for _ in ways]
    logits = np.stack([np.max([mask for mask, _ in way], axis=0) for way in heard])
    mean = np.clip(logits, -LARGEST, LARGEST).mean(0)
    agreement = np.mean([overlap(each >= 0, mean >= 0) for each in logits])
    scores = np.mean([[score for _, score in way] for way in heard])
    return Testimony(mean, float(agreement), float(np.clip(scores, 0, 1)))


def find_parts(mask: np.ndarray) -> list[np.ndarray]:
    """(H, W) masks of the largest connected parts of a mask, largest first; none if it is a speck."""
    if mask.sum() < LEAST_PIXELS:
        return []
    labels, count = label_components(mask)
    areas = np.bincount(labels.ravel(), minlength=count + 1)[1:]
    largest = np.argsort(-areas, kind="stable")[:MOST_PARTS]
    return [labels == number + 1 for number in largest if areas[number] >= LEAST_PART * areas.sum()]


def make_prompts(chances: np.ndarray, parts: list[np.ndarray]) -> list[list[Prompt]]:
    """Prompts about each part, by the way of asking: a box as it is, shaken, and with what networks see as a mask."""
    boxes = [box_round(part) for part in parts]
    ways = [[Prompt(shake(box, moves, chances.shape)) for box in boxes] for moves in SHAKES]
    scores, others = logit(np.clip(chances, SUREST, 1 - SUREST)), np.logical_or.reduce(parts)
    rough = [np.where(others & ~part, ELSEWHERE, scores) for part in parts]
    return [*ways, [Prompt(box, rough=each) for box, each in zip(boxes, rough, strict=True)]]


def choose(answer: Answer, part: np.ndarray) -> tuple[np.ndarray, float]:
    """The mask (H, W) of an answer that is likest to the part and scored best, and its score."""
    worth = [score * overlap(mask >= 0, part) for mask, score in zip(answer.masks, answer.scores, strict=True)]
    best = int(np.argmax(worth))
    return answer.masks[best], float(answer.scores[best])


def box_round(mask: np.ndarray) -> PromptBox:
    """
    >>> box_round(np.array([[0, 0, 0], [0, 1, 1]], bool))
    PromptBox(top=1, bottom=2, left=1, right=3)
    """
    rows, columns = (np.flatnonzero(mask.any(axis)) for axis in (1, 0))
    return PromptBox(int(rows[0]), int(rows[-1]) + 1, int(columns[0]), int(columns[-1]) + 1)


def shake(box: PromptBox, moves: tuple[float, float, float, float], size: tuple[int, ...]) -> PromptBox:
    """The box with its sides moved by shares of its height and width, within a frame of a size (height, width)."""
    height, width = box.bottom - box.top, box.right - box.left
    top, bottom = (side + move * height for side, move in zip((box.top, box.bottom), moves[:2], strict=True))
    left, right = (side + move * width for side, move in zip((box.left, box.right), moves[2:], strict=True))
    return PromptBox(max(top, 0.0), min(bottom, size[0]), max(left, 0.0), min(right, size[1]))


def overlap(mask: np.ndarray, other: np.ndarray) -> float:
    """Intersection over union; 1 if both are empty."""
    union = (mask | other).sum()
    return float((mask & other).sum() / union) if union else 1.0
