"""The frames of one volume or video."""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from fewpoint.core.geometry import Geometry
from fewpoint.core.given import fault, need, need_real
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

    >>> ImageSequence.from_array(np.zeros((3, 4, 5), np.uint8)).shape
    (3, 4, 5, 1)
    """

    frames: np.ndarray
    names: tuple[str, ...]
    source: Source | None = None
    window: tuple[float, float] | None = None

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

        Values other than uint8, uint16 and float32 are widened to the nearest of them; bool becomes 0 and 255.
        """
        try:
            frames = np.asarray(frames)
        except (TypeError, ValueError) as error:
            raise InputError(f"frames must be an array (T, H, W) or (T, H, W, C): {error}") from error
        if frames.ndim not in (3, 4):
            raise InputError(f"frames must be an array (T, H, W) or (T, H, W, C), got shape {frames.shape}")
        if frames.ndim == 3:
            frames = frames[..., np.newaxis]
        frames = _to_pixel_type(frames)
        return cls(frames, numbered_names(len(frames)))

    def crop(self, rows: tuple[int, int], columns: tuple[int, int]) -> "ImageSequence":
        """Every frame cropped to these rows and columns, ends exclusive, with the geometry to match."""
        source = self.source
        if source is not None and source.geometry is not None:
            source = replace(source, geometry=source.geometry.crop(rows, columns))
        return replace(self, frames=self.frames[:, slice(*rows), slice(*columns)], source=source)

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
    converted = frames.astype(np.float32, copy=False)
    if not np.isfinite(converted).all():
        raise InputError("pixels must be finite, got NaN or infinite values; replace them first")
    return converted
