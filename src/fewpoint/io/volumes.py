"""A stored volume, and the stack of frames that it is cut into."""

from dataclasses import dataclass
from pathlib import Path

import numpy as np

from fewpoint.core.geometry import Geometry
from fewpoint.core.sequence import numbered_names
from fewpoint.core.source import Source
from fewpoint.errors import InputError

SAME_PLACE_MM = 1e-2


@dataclass(frozen=True, eq=False)
class Stack:
    """Frames as read, before any conversion.

    frames: (T, H, W, C) of any real type. geometry: None for frames that have no place.
    header: the file's own header, for writing one in the same format; empty if there is none.
    notes: what a user should know about the input, a sentence each.
    unit: of the pixel values, empty if the file does not say.
    """

    frames: np.ndarray
    names: tuple[str, ...]
    format: str
    geometry: Geometry | None = None
    header: bytes = b""
    notes: tuple[str, ...] = ()
    unit: str = ""


@dataclass(frozen=True, eq=False)
class Volume:
    """A volume as read.

    voxels: (I, J, K, C) in the file's own order. geometry: None if the file says nothing of places.
    stacked: the file is a stack of slices along K, which are the frames unless another axis is asked for.
    notes: what a user should know about it, a sentence each.
    unit: of the voxel values, empty if the file does not say.
    """

    voxels: np.ndarray
    geometry: Geometry | None
    format: str
    header: bytes = b""
    stacked: bool = False
    notes: tuple[str, ...] = ()
    unit: str = ""


def cut_volume(volume: Volume, axis: str) -> Stack:
    """The frames of a volume along an axis of AXIS_CHOICES."""
    geometry = volume.geometry
    if axis != "auto" and (geometry is None or geometry.over_time):
        raise InputError(f"--axis {axis} needs a volume, this input holds frames over time; leave it out")
    if geometry is None:
        frames = volume.voxels.transpose(2, 1, 0, 3)
    else:
        is_fixed = axis == "auto" and (volume.stacked or geometry.over_time)
        geometry = geometry if is_fixed else geometry.cut(axis)
        frames = geometry.to_frames(volume.voxels)
    names = numbered_names(len(frames))
    return Stack(frames, names, volume.format, geometry, volume.header, volume.notes, volume.unit)


def is_same_place(one: Geometry | None, other: Geometry | None) -> bool:
    """Whether two volumes have their voxels in the same places; one without a place may be anywhere."""
    if one is None or other is None or one.over_time or other.over_time:
        return True
    same_grid = one.shape == other.shape and one.axes == other.axes
    return same_grid and np.allclose(one.affine, other.affine, rtol=0, atol=SAME_PLACE_MM)


def place_or_assume(source: Source | None, frames: np.ndarray) -> Geometry:
    """The source's geometry; for (T, H, W, …) frames without any, voxels 1 mm apart."""
    if source is not None and source.geometry is not None:
        return source.geometry
    return Geometry.from_affine(np.eye(4), frames.shape[2::-1])


def order_axes(array: np.ndarray, axes: str, path: Path) -> np.ndarray:
    """Order an array as (T, H, W, C); S and C are channels, every other axis besides Y and X counts frames."""
    lengths = dict(enumerate(array.shape))
    frames = [i for i, axis in enumerate(axes) if axis not in "YXSC" and lengths[i] > 1]
    channels = [i for i, axis in enumerate(axes) if axis in "SC" and lengths[i] > 1]
    if len(frames) > 1 or len(channels) > 1 or "Y" not in axes or "X" not in axes:
        raise InputError(
            f"{path} must hold one stack of frames, got axes {axes} of shape {array.shape}; save one volume per file"
        )
    plane = [axes.index("Y"), axes.index("X")]
    single = [i for i in lengths if i not in (*frames, *plane, *channels)]
    count = lengths[frames[0]] if frames else 1
    ordered = array.transpose([*single, *frames, *plane, *channels])
    return ordered.reshape(count, lengths[plane[0]], lengths[plane[1]], -1)
