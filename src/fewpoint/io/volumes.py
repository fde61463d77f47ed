"""A stored volume, and the stack of frames that it is cut into."""

from dataclasses import dataclass

import numpy as np

from fewpoint.core.geometry import Geometry
from fewpoint.core.sequence import numbered_names


@dataclass(frozen=True, eq=False)
class Stack:
    """Frames as read, before any conversion.

    frames: (T, H, W, C) of any real type. geometry: None for frames that have no place.
    header: the file's own header, for writing one in the same format; empty where there is none.
    """

    frames: np.ndarray
    names: tuple[str, ...]
    format: str
    geometry: Geometry | None = None
    header: bytes = b""


@dataclass(frozen=True, eq=False)
class Volume:
    """voxels: (I, J, K, C) in the file's own order, with their geometry."""

    voxels: np.ndarray
    geometry: Geometry
    format: str
    header: bytes = b""


def cut_volume(volume: Volume, axis: str) -> Stack:
    """The frames of a volume along an axis of AXIS_CHOICES; frames in time follow each other whatever the spacing."""
    is_fixed = volume.geometry.over_time and axis == "auto"
    geometry = volume.geometry if is_fixed else volume.geometry.cut(axis)
    frames = geometry.to_frames(volume.voxels)
    return Stack(frames, numbered_names(len(frames)), volume.format, geometry, volume.header)
