"""A person who knows the truth and puts masks right, one round of words at a time.

none               says nothing
clicks             a click where the mask misses most
clicks+negatives   the same, and a negative where it leaks most
outline            the outline of one frame, exactly as it is
dial               how much larger or smaller all masks should be

They look anywhere, or only at the frame that the program suggests. What is missed or leaked most is the largest
connected part of it on one frame; the click is on its innermost pixel, and never where one is already.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from fewpoint.core.job import Triple
from fewpoint.errors import SettingsError
from fewpoint.evaluation.metrics import score_masks
from fewpoint.evaluation.truth import measure_depths

NONE, CLICKS, CLICKS_AND_NEGATIVES, OUTLINE, DIAL = "none", "clicks", "clicks+negatives", "outline", "dial"
WORDS = (NONE, CLICKS, CLICKS_AND_NEGATIVES, OUTLINE, DIAL)
ANYWHERE, SUGGESTED = "anywhere", "suggested"
LOOKS = (ANYWHERE, SUGGESTED)
DIAL_MARKS = tuple(round(1.1**mark, 2) for mark in range(-30, 31))  # each a tenth larger than the last
DIAL_PATIENCE = 3  # marks in a row that look no better before they turn back
PARTS = 5  # the worst frames are one in five
# Pixels of one frame touch along their sides; those of two frames never.
TOUCHING = np.array([[[0, 0, 0]] * 3, [[0, 1, 0], [1, 1, 1], [0, 1, 0]], [[0, 0, 0]] * 3])


@dataclass(frozen=True)
class Effort:
    """What a person does. points: those they start with. rounds: how often they look at the masks and say something."""

    points: str
    words: str = NONE
    look: str = ANYWHERE
    rounds: int = 0

    def __post_init__(self) -> None:
        for name, value, known in (("words", self.words, WORDS), ("look", self.look, LOOKS)):
            if value not in known:
                raise SettingsError(f"{name} of an effort must be one of {', '.join(known)}, got {value}")
        if self.rounds < 0 or (self.rounds == 0 and self.words != NONE):
            least = 0 if self.words == NONE else 1
            raise SettingsError(f"an effort with words {self.words} needs {least} or more rounds, got {self.rounds}")


@dataclass(frozen=True)
class Said:
    """Words of a person: places on the object and not on it, outlined frames, and where the dial was turned to, if so.

    >>> both = Said(clicks=((0, 1, 1),)).and_then(Said(negatives=((0, 5, 5),), size=1.5))
    >>> both.count, both.frames
    (3, {0})
    """

    clicks: tuple[Triple, ...] = ()
    negatives: tuple[Triple, ...] = ()
    outlined: tuple[int, ...] = ()
    size: float | None = None

    @classmethod
    def from_table(cls, table: dict[str, Any]) -> "Said":
        """What asdict made plain values of, read from JSON."""
        places = {name: tuple(tuple(place) for place in table[name]) for name in ("clicks", "negatives")}
        return cls(**places, outlined=tuple(table["outlined"]), size=table["size"])

    @property
    def count(self) -> int:
        return len(self.clicks) + len(self.negatives) + len(self.outlined) + (self.size is not None)

    @property
    def frames(self) -> set[int]:
        """Frames about which something was said."""
        return {frame for frame, _, _ in (*self.clicks, *self.negatives)} | set(self.outlined)

    def and_then(self, later: "Said") -> "Said":
        """All that was said in both; the dial stays where it was put last."""
        return Said(
            (*self.clicks, *later.clicks),
            (*self.negatives, *later.negatives),
            (*self.outlined, *later.outlined),
            self.size if later.size is None else later.size,
        )


def speak(words: str, masks: np.ndarray, truth: np.ndarray, before: Said, frame: int | None = None) -> Said:
    """What a person says about (T, H, W) bool masks.

    before: all that was said, those clicks included that they started with. frame: the only one they look at; None
    for all of them. The dial is turned elsewhere, see turn_dial.
    """
    missed, leaked = truth & ~masks, masks & ~truth
    if frame is not None:
        elsewhere = np.arange(len(truth)) != frame
        missed[elsewhere] = leaked[elsewhere] = False
    if words == OUTLINE:
        return Said(outlined=choose_outline(missed | leaked, before.outlined))
    taken = {*before.clicks, *before.negatives}
    said = Said()
    if words in (CLICKS, CLICKS_AND_NEGATIVES):
        said = Said(clicks=find_worst(missed, taken))
    if words == CLICKS_AND_NEGATIVES:
        said = replace(said, negatives=find_worst(leaked, taken))
    return said


def find_worst(wrong: np.ndarray, taken: set[Triple]) -> tuple[Triple, ...]:
    """The innermost pixel of the largest connected part on one frame of a (T, H, W) bool map; none if it is empty.

    taken: pixels to leave out; the next inner one stands for them, and after the last of a part the next smaller part.

    >>> find_worst(np.array([[[1, 0, 0, 0, 0]], [[1, 0, 1, 1, 1]]], bool), {(1, 0, 2)})
    ((1, 0, 3),)
    """
    from scipy import ndimage

    labels = np.zeros(wrong.shape, np.int32)
    ndimage.label(wrong, TOUCHING, output=labels)
    sizes = np.bincount(labels.ravel())[1:]
    boxes = ndimage.find_objects(labels)
    for part in np.argsort(-sizes, kind="stable").tolist():
        box = boxes[part]
        frame, top, left = (side.start for side in box)
        depths = measure_depths(labels[box][0] == part + 1)
        inside = [(y - top, x - left) for own, y, x in taken if own == frame and y >= top and x >= left]
        for y, x in inside:
            depths[y : y + 1, x : x + 1] = 0
        if depths.any():
            y, x = np.unravel_index(depths.argmax(), depths.shape)
            return ((frame, top + int(y), left + int(x)),)
    return ()


def choose_outline(wrong: np.ndarray, outlined: tuple[int, ...]) -> tuple[int, ...]:
    """The frame with the most wrong pixels of a (T, H, W) bool map that is not outlined yet; none if none is wrong."""
    counts = wrong.sum(axis=(1, 2))
    counts[list(outlined)] = 0
    return (int(counts.argmax()),) if counts.any() else ()


def turn_dial(look: Callable[[float], np.ndarray], truth: np.ndarray, size: float) -> float | None:
    """Where a person puts the dial who sees the (T, H, W) bool masks while they drag it; None if it stays where it is.

    look: the masks with the dial at a size. size: where it is now. They drag it, one mark after the other, towards the
    area of the truth, and on for as long as masks look better, which is to say that their F1 is higher.

    >>> places = np.arange(40)[np.newaxis, np.newaxis]
    >>> turn_dial(lambda size: places < 10 * size, places < 20, 1.0)
    1.95
    """
    first, here = look(size), None
    best, larger = _likeness(first, truth), np.count_nonzero(first) < np.count_nonzero(truth)
    marks = [mark for mark in DIAL_MARKS if (mark > size if larger else mark < size)]
    patience = DIAL_PATIENCE
    for mark in marks if larger else reversed(marks):
        likeness = _likeness(look(mark), truth)
        if likeness > best:
            best, here, patience = likeness, mark, DIAL_PATIENCE
        elif (patience := patience - 1) == 0:
            break
    return here


def _likeness(masks: np.ndarray, truth: np.ndarray) -> float:
    return score_masks(masks, truth).pooled.f1


def is_among_worst(frame: int, wrong: np.ndarray) -> bool:
    """Whether less than a fifth of the frames have more wrong pixels in a (T, H, W) bool map.

    >>> is_among_worst(1, np.array([[[1, 1]], [[1, 0]], [[0, 0]], [[0, 0]], [[0, 0]]], bool))
    False
    """
    counts = wrong.sum(axis=(1, 2))
    return PARTS * int((counts > counts[frame]).sum()) < len(counts)
