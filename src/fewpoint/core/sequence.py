"""The frames of one volume or video."""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from fewpoint.core.geometry import Geometry
from fewpoint.core.given import fault, need, need_real
from fewpoint.core.paging import gather_frames, walk
from fewpoint.core.source import Source
from fewpoint.errors import InputError

NEARLY_SQUARE = 1.02
PIXEL_TYPES = (np.uint8, np.uint16, np.float32)


@dataclass(frozen=True, eq=False)
class ImageSequence:
    """Frames of one volume or video, in the pixel type they were stored in.

    frames: (T, H, W, C) array of uint8, uint16 or float32; may be a memory map, see core/paging.py.
    names: one name per frame, used for the files written for it.
    source: the file they were read from, None for frames made in memory.
    window: the pixel values shown and learnt as black and as white; None to measure them.
    missing: (T, H, W) bool, where no channel had a finite value; no mask holds such pixels. None if there are none.

    >>> ImageSequence.from_array(np.zeros((3, 4, 5), np.uint8)).shape
    (3, 4, 5, 1)
    """

    frames: np.ndarray
    names: tuple[str, ...]
    source: Source | None = None
    window: tuple[float, float] | None = None
    missing: np.ndarray | None = None

    def __repr__(self) -> str:
        frames, height, width, channels = self.shape
        where = "" if self.source is None else f" from {self.source.path}"
        return f"<ImageSequence: {frames} frames of {height} x {width}, {channels} x {self.frames.dtype}{where}>"

    def __post_init__(self) -> None:
        need(self.frames, np.ndarray, "frames", "an array (T, H, W, C)")
        if self.frames.ndim != 4 or 0 in self.frames.shape:
            raise InputError(
                f"frames must be a non-empty (T, H, W, C) array, got shape {self.frames.shape}; "
                "use ImageSequence.from_array for (T, H, W)"
            )
        if self.frames.dtype.type not in PIXEL_TYPES:
            raise InputError(
                f"pixels must be uint8, uint16 or float32, got {self.frames.dtype}; convert the array first"
            )
        if len(need(self.names, tuple, "names", "a tuple of texts")) != len(self.frames):
            raise InputError(f"each frame needs one name: {len(self.frames)} frames, {len(self.names)} names")
        if self.window is not None:
            _check_window(self.window)
        if self.geometry is not None and self.geometry.frames_shape != self.shape[:3]:
            raise InputError(f"frames must fit their geometry: {self.shape[:3]} and {self.geometry.shape}")

    @classmethod
    def from_array(cls, frames: np.ndarray) -> "ImageSequence":
        """Wrap a (T, H, W) or (T, H, W, C) array; names are 0000, 0001, …

        Values other than uint8, uint16 and float32 are widened to the nearest of them; bool becomes 0 and 255. NaN and
        infinity become the smallest finite value of their channel, and are background where all channels have them.
        """
        try:
            frames = np.asarray(frames)
        except (TypeError, ValueError) as error:
            raise InputError(f"frames must be an array (T, H, W) or (T, H, W, C): {error}") from error
        if frames.ndim not in (3, 4):
            raise InputError(f"frames must be an array (T, H, W) or (T, H, W, C), got shape {frames.shape}")
        if frames.ndim == 3:
            frames = frames[..., np.newaxis]
        frames, missing = _fill_missing(_to_pixel_type(frames))
        return cls(frames, numbered_names(len(frames)), missing=missing)

    def crop(self, rows: tuple[int, int], columns: tuple[int, int]) -> "ImageSequence":
        """Every frame cropped to these rows and columns, ends exclusive, with the geometry to match."""
        source = self.source
        if source is not None and source.geometry is not None:
            source = replace(source, geometry=source.geometry.crop(rows, columns))
        missing = None if self.missing is None else self.missing[:, slice(*rows), slice(*columns)]
        return replace(self, frames=self.frames[:, slice(*rows), slice(*columns)], source=source, missing=missing)

    @property
    def notes(self) -> tuple[str, ...]:
        """What a user should know about the frames, a sentence each."""
        if self.source is not None:
            return self.source.notes
        return () if self.missing is None else (describe_missing(self.missing),)

    @property
    def shape(self) -> tuple[int, int, int, int]:
        """Frames, height, width and channels."""
        return self.frames.shape

    @property
    def size(self) -> tuple[int, int]:
        """Height and width in pixels."""
        return self.frames.shape[1:3]

    @property
    def square_size(self) -> tuple[int, int]:
        """Height and width with the side of the coarser spacing widened so that pixels would be square."""
        if self.geometry is None:
            return self.size
        spacing = self.geometry.pixel_spacing_mm
        if max(spacing) < NEARLY_SQUARE * min(spacing):
            return self.size
        height, width = (round(side * step / min(spacing)) for side, step in zip(self.size, spacing, strict=True))
        return height, width

    @property
    def geometry(self) -> Geometry | None:
        """Where the voxels lie, None for frames without a geometry."""
        return None if self.source is None else self.source.geometry

    def __len__(self) -> int:
        return len(self.frames)


def numbered_names(count: int) -> tuple[str, ...]:
    """0000, 0001, …: at least four digits, and as many as the last needs.

    >>> numbered_names(2)
    ('0000', '0001')
    """
    digits = max(4, len(str(count - 1)))
    return tuple(f"{index:0{digits}d}" for index in range(count))


def _check_window(window: Any) -> None:
    try:
        dark, bright = window
    except (TypeError, ValueError) as error:
        raise fault(window, "a window", "two values, the darkest and the brightest") from error
    if not -np.inf < need_real(dark, "a window's end") < need_real(bright, "a window's end") < np.inf:
        raise InputError(f"a window must go from a value to a larger one, got {window}")


def _to_pixel_type(frames: np.ndarray) -> np.ndarray:
    """Widen to the nearest of uint8, uint16, float32 without losing integers below 2**24."""
    if frames.dtype.type in (np.uint8, np.uint16):
        return frames
    if frames.dtype == bool:
        return frames.astype(np.uint8) * np.uint8(255)
    if not np.issubdtype(frames.dtype, np.number) or np.issubdtype(frames.dtype, np.complexfloating):
        raise InputError(f"pixels must be real numbers, got {frames.dtype}; convert the array first")
    return frames.astype(np.float32, copy=False)


def _fill_missing(frames: np.ndarray) -> tuple[np.ndarray, np.ndarray | None]:
    """Frames without NaN and infinity, and (T, H, W) bool where all channels had them; None if there are none."""
    if frames.dtype != np.float32 or all(np.isfinite(frame).all() for frame in walk(frames)):
        return frames, None
    # A channel without any finite value is 0 all over.
    lowest = np.full(frames.shape[-1], np.inf, np.float32)
    for frame in walk(frames):
        lowest = np.minimum(lowest, np.where(np.isfinite(frame), frame, np.inf).min(axis=(0, 1), initial=np.inf))
    if not np.isfinite(lowest).any():
        raise InputError("pixels must hold values, all of them are NaN or infinite; check how the file was made")
    lowest = np.where(np.isfinite(lowest), lowest, 0).astype(np.float32)
    missing = gather_frames((_lacks_all(frame) for frame in walk(frames)), frames.shape[:3], bool)
    finite = (np.where(np.isfinite(frame), frame, lowest) for frame in walk(frames))
    return gather_frames(finite, frames.shape, np.float32), missing if missing.any() else None


def _lacks_all(frame: np.ndarray) -> np.ndarray:
    """(H, W) bool, where no channel has a finite value."""
    return np.logical_not(np.isfinite(frame).any(axis=-1))


def describe_missing(missing: np.ndarray) -> str:
    """What a run says of pixels without a value."""
    count = sum(int(np.count_nonzero(frame)) for frame in walk(missing))
    return f"{count} pixels of all frames are NaN or infinite: they are taken as background, and no mask holds them"
