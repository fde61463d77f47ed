"""How superpixels are linked through time."""

import math
from dataclasses import dataclass

from fewpoint.errors import SettingsError


@dataclass(frozen=True)
class TrackingSettings:
    """How superpixels are linked through time.

    enabled: whether a run tracks at all; read by the method, not by the functions here.
    radius, reach: a path may start at a superpixel whose centroid is near a point on its frame: at most `radius`
        longer sides of the frame away, as in the paper, or `reach` radii of a disc of the bound's area, if that is
        more.
    prune: superpixels with a lower probability are never visited.
    """

    enabled: bool = True
    radius: float = 0.05
    reach: float = 2.0
    prune: float = 0.4

    def __post_init__(self) -> None:
        if not 0 <= self.radius <= 2:
            raise SettingsError(f"tracking.radius must lie in [0, 2] longer sides of a frame, got {self.radius:g}")
        if not 0 <= self.reach < math.inf:
            raise SettingsError(f"tracking.reach must be 0 or more and finite, got {self.reach:g}")
        if not 0 <= self.prune <= 1:
            raise SettingsError(f"tracking.prune must lie in [0, 1], got {self.prune:g}")

    def entrance_pixels(self, size: tuple[int, int], bound: float) -> float:
        """How far from a point, in pixels of a frame of this height and width, a path may start.

        bound: the largest share of a frame that the object covers.

        >>> round(TrackingSettings(radius=0.1, reach=2).entrance_pixels((100, 200), math.pi / 200), 9)
        20.0
        """
        height, width = size
        return max(self.radius * max(size), self.reach * math.sqrt(bound * height * width / math.pi))
