"""Frames of one volume or video, from a file or a folder."""

import hashlib
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from fewpoint.core.given import fault, need_path, need_whole
from fewpoint.core.paging import gather_frames, walk
from fewpoint.core.plain_text import parse_number
from fewpoint.core.sequence import ImageSequence
from fewpoint.core.source import Reading, Source
from fewpoint.errors import InputError
from fewpoint.io.pacs.addresses import name_input
from fewpoint.io.pacs.fetching import find_origin, locate
from fewpoint.io.stacks import PICTURES, list_frames, read_stack
from fewpoint.io.volumes import Stack, is_same_place

FRAMES_FOLDER = "input-frames"

FORMATS: dict[str, str] = {
    "folder of frames": "one .png, .jpg or .tif file a frame, 8 or 16 bits, grey or colour, in natural order",
    "dataset folder": f"a folder that holds the frames in {FRAMES_FOLDER}/ and points in 2dlocs.csv",
    "NIfTI": "a .nii or .nii.gz volume, cut along its coarsest axis or another",
    "NRRD": "a .nrrd or .nhdr volume",
    "MetaImage": "an .mha or .mhd volume",
    "DICOM": "a folder that holds one series, one image of a series, or a multi-frame image; needs fewpoint[dicom]",
    "DICOMweb": "a series on a PACS, dicomweb[s]://HOST/ROOT/studies/UID/series/UID; needs fewpoint[dicom]",
    "video": "an .mp4, .avi, .mov, .mkv or other video; needs fewpoint[video]",
    "TIFF stack": "a .tif with one page per frame, compressed or not; OME-TIFF with its spacing",
    "OME-Zarr": "a .zarr folder, at its finest level; needs fewpoint[zarr]",
    "NumPy array": "a .npy of shape (T, H, W) or (T, H, W, C), read as a memory map",
    "NumPy archive": "a .npz with one array, or one called frames",
}
# Level and width in Hounsfield units.
WINDOWS = {"lung": (-600.0, 1500.0), "bone": (400.0, 1800.0), "brain": (40.0, 80.0), "soft": (40.0, 400.0)}


def read_sequence(
    path: str | Path,
    *,
    axis: str = "auto",
    channels: tuple[int, ...] = (),
    added: tuple[str | Path, ...] = (),
    window: tuple[float, float] | str | None = None,
) -> ImageSequence:
    """Read the frames at a path in any of FORMATS, or at dicomweb://HOST/…, in the pixel type they are stored in.

    Frames of a folder are named by their files without extension, frames of a stack or volume by their number.
    axis: along which a volume is cut: 0, 1 or 2 of its stored axes, sagittal, coronal, axial, or auto for the coarsest.
    added: further files on the same grid, whose channels follow those of the first.
    channels: the channels to keep, counted from zero over all files; all if empty.
    window: pixel values that become black and white, or text as parse_window reads it, such as "lung"; measured if it
    is None.
    """
    window = parse_window(window) if isinstance(window, str) else window
    channels = _as_channels(channels)
    path, others = locate(need_path(path, "the input")), tuple(map(name_input, added))
    stack = _add_channels(_read_frames(path, axis), [_read_frames(locate(other), axis) for other in others], others)
    try:
        sequence = ImageSequence.from_array(_choose_channels(stack.frames, channels))
    except InputError as error:
        raise InputError(f"{path}: {error}") from error
    reading = Reading(axis, channels, others, window)
    place, origin = str(path.absolute()), find_origin(path)
    notes = (*stack.notes, *sequence.notes)
    source = Source(place, stack.format, stack.geometry, stack.header, reading, notes, stack.unit, origin)
    return replace(sequence, names=stack.names, source=source, window=window)


def parse_window(text: str) -> tuple[float, float]:
    """Darkest and brightest value of a window given as LEVEL,WIDTH or by a name of WINDOWS.

    >>> parse_window("40,400"), parse_window("brain")
    ((-160.0, 240.0), (0.0, 80.0))
    """
    try:
        level, width = WINDOWS.get(text.lower()) or map(parse_number, text.split(","))
    except ValueError:
        level, width = 0.0, 0.0
    if not (0 < width < np.inf and abs(level) < np.inf):
        raise InputError(
            f"a window must be LEVEL,WIDTH with a width above 0 or one of {', '.join(WINDOWS)}, got {text[:40]}"
        )
    return level - width / 2, level + width / 2


def hash_sequence(sequence: ImageSequence) -> str:
    """SHA-256 (hex) of names, shape, pixel type, place, window and pixels; reads memory maps a frame at a time."""
    pixel_type = sequence.frames.dtype.newbyteorder("<")
    digest = hashlib.sha256(repr((sequence.names, sequence.shape, pixel_type.name)).encode())
    if sequence.geometry is not None:
        digest.update(repr((sequence.geometry.affine.tolist(), sequence.geometry.axes)).encode())
    if sequence.window is not None:
        digest.update(repr(sequence.window).encode())
    if sequence.missing is not None:
        digest.update(np.packbits(sequence.missing).tobytes())
    for frame in walk(sequence.frames):
        digest.update(frame.astype(pixel_type, copy=False).tobytes())
    return digest.hexdigest()


def _read_frames(path: Path, axis: str) -> Stack:
    return read_stack(path, inside=(FRAMES_FOLDER,), key="frames", axis=axis)


def _add_channels(first: Stack, others: list[Stack], paths: tuple[str, ...]) -> Stack:
    """Put the channels of stacks on one grid side by side."""
    for other, path in zip(others, paths, strict=True):
        if other.frames.shape[:3] != first.frames.shape[:3]:
            raise InputError(
                f"an added file must have the first one's frames, height and width {first.frames.shape[:3]}, "
                f"{path} has {other.frames.shape[:3]}; resample it first"
            )
        if not is_same_place(first.geometry, other.geometry):
            raise InputError(f"an added file must lie where the first one does, {path} does not; resample it first")
    if not others:
        return first
    return replace(first, frames=np.concatenate([stack.frames for stack in (first, *others)], axis=-1))


def _as_channels(channels: Any) -> tuple[int, ...]:
    if isinstance(channels, str) or not isinstance(channels, Iterable):
        raise fault(channels, "channels", "whole numbers that count from zero")
    return tuple(need_whole(channel, "a channel") for channel in channels)


def _choose_channels(frames: np.ndarray, channels: tuple[int, ...]) -> np.ndarray:
    if not channels:
        return frames
    if not all(0 <= channel < frames.shape[-1] for channel in channels):
        raise InputError(
            f"channels must lie between 0 and {frames.shape[-1] - 1}, got {','.join(map(str, channels))}; "
            "they count from zero"
        )
    kept = (frame[..., list(channels)] for frame in walk(frames))
    return gather_frames(kept, (*frames.shape[:3], len(channels)), frames.dtype)


def list_pictures(source: Source) -> dict[str, Path]:
    """The file of each frame of a folder of pictures, by the frame's name; none for other inputs, or if it is gone."""
    if source.format != PICTURES:
        return {}
    folder, below = Path(source.path), Path(source.path) / FRAMES_FOLDER
    try:
        return {path.stem: path for path in list_frames(below if below.is_dir() else folder)}
    except InputError:
        return {}
