"""How superpixels are linked through time."""

from dataclasses import dataclass

from fewpoint.errors import SettingsError


@dataclass(frozen=True)
class TrackingSettings:
    """How superpixels are linked through time.

    enabled: whether a run tracks at all; read by the method, not by the functions here.
    radius: a path may start at a superpixel whose centroid is at most this share of the frame's longer side away
        from a point on its frame.
    prune: superpixels with a lower probability are never visited.
    """

    enabled: bool = True
    radius: float = 0.05
    prune: float = 0.4

    def __post_init__(self) -> None:
        if not 0 <= self.radius <= 2:
            raise SettingsError(f"tracking.radius must lie in [0, 2] longer sides of a frame, got {self.radius:g}")
        if not 0 <= self.prune <= 1:
            raise SettingsError(f"tracking.prune must lie in [0, 1], got {self.prune:g}")
