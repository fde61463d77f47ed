"""Which object each pixel shows, with the objects' names and colours."""

import colorsys
from dataclasses import dataclass

import numpy as np

from fewpoint.core.paging import walk
from fewpoint.core.source import Source
from fewpoint.errors import InputError

MOST_OBJECTS = 255
# Distinguishable on grey frames, for colour-blind readers too; further objects get colours round the wheel.
COLOURS = ((0, 210, 255), (255, 140, 0), (0, 200, 120), (240, 100, 190), (240, 228, 66), (110, 130, 255), (213, 70, 40))
GOLDEN_TURN = 0.618  # of the wheel, after which colours hardly ever come near each other again


@dataclass(frozen=True)
class Code:
    """A concept of a coding scheme, such as SCT (SNOMED CT) 10200004, meaning "Liver".

    category: what kind of thing it is, itself a code; None for an anatomical structure.
    """

    scheme: str
    value: str
    meaning: str
    category: "Code | None" = None

    def __post_init__(self) -> None:
        parts = {"scheme": self.scheme, "value": self.value, "meaning": self.meaning}
        for name, text in parts.items():
            longest = 64 if name == "meaning" else 16
            if not (isinstance(text, str) and 0 < len(text.strip()) <= longest):
                raise InputError(f"the {name} of a code must be text of 1 to {longest} letters, got {text!r}")

    @classmethod
    def parse(cls, text: str) -> "Code":
        """From SCHEME:VALUE:MEANING, or the same of its category, a slash, and its own.

        >>> Code.parse("SCT:49755003:Morphologically abnormal structure/SCT:108369006:Neoplasm").category.value
        '49755003'
        """
        category, slash, own = text.rpartition("/")
        parts = [part.strip() for part in own.split(":")]
        if len(parts) != 3:
            raise InputError(f"a code must be SCHEME:VALUE:MEANING, as SCT:10200004:Liver, got {text[:60]}")
        scheme, value, meaning = parts
        return cls(scheme, value, meaning, cls.parse(category) if slash else None)


@dataclass(frozen=True)
class ObjectLabel:
    """An object's name, its colour as red, green and blue 0 … 255, and its code in DICOM, None to find one by name."""

    name: str
    colour: tuple[int, int, int] = COLOURS[0]
    code: Code | None = None


@dataclass(frozen=True, eq=False)
class LabelMap:
    """The objects of every frame as numbers.

    values: (T, H, W) uint8, 0 where there is no object, n for the n-th of the objects.
    names, source: as in Result.
    """

    values: np.ndarray
    objects: tuple[ObjectLabel, ...]
    names: tuple[str, ...]
    source: Source | None = None

    def __post_init__(self) -> None:
        is_map = self.values.ndim == 3 and self.values.dtype == np.uint8
        if not is_map or max((frame.max() for frame in walk(self.values)), default=0) > len(self.objects):
            raise InputError(
                f"labels must be (T, H, W) uint8 of 0 to {len(self.objects)}, "
                f"got {self.values.dtype} {self.values.shape}"
            )

    def mask(self, number: int) -> np.ndarray:
        """(T, H, W) bool of the object with that number."""
        return self.values == number


def label_objects(names: tuple[str, ...]) -> tuple[ObjectLabel, ...]:
    """Each name with its own colour, in order.

    >>> label_objects(("liver", "spleen"))[1].colour
    (255, 140, 0)
    """
    if len(names) > MOST_OBJECTS:
        raise InputError(f"at most {MOST_OBJECTS} objects fit into one run, got {len(names)}; use several runs")
    return tuple(ObjectLabel(name, _choose_colour(number)) for number, name in enumerate(names))


def share_pixels(claims: tuple[np.ndarray, ...]) -> tuple[np.ndarray, int]:
    """(H, W) uint8 number from 1 of the object with the largest claim, and how many pixels two claim equally.

    claims: (H, W) float32 of each object on one frame, -inf outside its mask. Ties go to the first object.

    >>> labels, ties = share_pixels((np.float32([[0.6, 0.7, -np.inf]]), np.float32([[0.8, 0.7, -np.inf]])))
    >>> labels.tolist(), ties
    ([[2, 1, 0]], 1)
    """
    best = np.full(claims[0].shape, -np.inf, np.float32)
    labels, tied = np.zeros(best.shape, np.uint8), np.zeros(best.shape, bool)
    for number, own in enumerate(claims, start=1):
        better = own > best
        tied = ~better & (tied | (np.isfinite(own) & (own == best)))
        labels[better] = number
        np.maximum(best, own, out=best)
    return labels, int(tied.sum())


def describe_ties(ties: int) -> tuple[str, ...]:
    """A note about pixels that two objects claim equally."""
    return (f"{ties} pixels are as likely one object as another: they went to the first by name",) if ties else ()


def _choose_colour(number: int) -> tuple[int, int, int]:
    if number < len(COLOURS):
        return COLOURS[number]
    red, green, blue = colorsys.hsv_to_rgb(GOLDEN_TURN * number % 1, 0.7, 1.0)
    return round(255 * red), round(255 * green), round(255 * blue)
