"""The one number asked of a person: how large the object may be."""

from dataclasses import dataclass

from fewpoint.core.given import need_real, need_whole
from fewpoint.core.plain_text import parse_number
from fewpoint.errors import InputError

ESTIMATED = 0.5  # doubt of a bound made of many clicks, or of a box, which says only how far an object reaches


@dataclass(frozen=True)
class AreaBound:
    """Upper bound on the share of a frame that the object covers, and where it comes from.

    fraction: in (0, 1); the paper's pi_max.
    origin: one sentence for the user, such as "given" or how it was estimated.
    doubt: standard deviation of the logarithm of a size guessed from it; 0 if a person gave it.
    """

    fraction: float
    origin: str = "given"
    doubt: float = 0.0

    def __post_init__(self) -> None:
        need_real(self.doubt, "the uncertainty of a size limit")
        need_real(self.fraction, "the largest share of a frame that the object covers")
        if not 0 < self.fraction < 1:
            raise InputError(
                f"the largest share of a frame that the object covers must lie between 0 and 1, got {self.fraction:g}; "
                "give a generous guess such as 0.1"
            )

    @classmethod
    def from_box(cls, box: tuple[int, int, int, int], size: tuple[int, int]) -> "AreaBound":
        """Share of the frame inside a box (y0, x0, y1, x1), y1 and x1 exclusive, drawn where the object is largest.

        A box has 4/pi = 1.27 times the area of the ellipse in it, so it bounds most objects as is.

        >>> AreaBound.from_box((0, 0, 5, 10), (10, 20)).fraction
        0.25
        """
        try:
            y0, x0, y1, x1 = (need_whole(value, "a side of the box") for value in box)
        except (TypeError, ValueError) as error:
            raise InputError(f"a box must be four whole numbers y0, x0, y1, x1, got {box!r}") from error
        height, width = size
        if not (0 <= y0 < y1 <= height and 0 <= x0 < x1 <= width):
            raise InputError(
                f"the box must lie in the {height} x {width} frame with y0 < y1 and x0 < x1, "
                f"got y0 {y0}, x0 {x0}, y1 {y1}, x1 {x1}"
            )
        if (y1 - y0) * (x1 - x0) == height * width:
            raise InputError("the box covers the whole frame; draw it close around the object")
        return cls((y1 - y0) * (x1 - x0) / (height * width), "box around the object where it is largest", ESTIMATED)


def read_share(text: str) -> float:
    """A share of a frame as people write it; raises ValueError for what is none.

    >>> read_share("5%"), read_share("0.05")
    (0.05, 0.05)
    """
    number, percent, rest = text.strip().partition("%")
    if rest.strip():
        raise ValueError(f"{text} is not a share")
    return parse_number(number) / 100 if percent else parse_number(number)
