"""The one number asked of a person: how large the object may be."""

from dataclasses import dataclass

from fewpoint.errors import InputError


@dataclass(frozen=True)
class AreaBound:
    """Upper bound on the share of a frame that the object covers, and where it comes from.

    fraction: in (0, 1); the paper's pi_max.
    origin: one sentence for the user, such as "given" or how it was estimated.
    trusted: whether a person said how large the object may be; a box says only how far it reaches.
    """

    fraction: float
    origin: str = "given"
    trusted: bool = True

    def __post_init__(self) -> None:
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
        y0, x0, y1, x1 = box
        height, width = size
        if not (0 <= y0 < y1 <= height and 0 <= x0 < x1 <= width):
            raise InputError(
                f"the box must lie in the {height} x {width} frame with y0 < y1 and x0 < x1, "
                f"got y0 {y0}, x0 {x0}, y1 {y1}, x1 {x1}"
            )
        if (y1 - y0) * (x1 - x0) == height * width:
            raise InputError("the box covers the whole frame; draw it close round the object")
        return cls((y1 - y0) * (x1 - x0) / (height * width), "box round the object where it is largest", False)
