"""Frames of one volume or video, from a file or a folder."""

import hashlib
from dataclasses import replace
from pathlib import Path

import numpy as np

from fewpoint.core.sequence import ImageSequence
from fewpoint.core.source import Source
from fewpoint.errors import InputError
from fewpoint.io.stacks import read_stack

FRAMES_FOLDER = "input-frames"

FORMATS: dict[str, str] = {
    "folder of frames": "one .png, .jpg or .tif file a frame, 8 or 16 bits, grey or colour, in natural order",
    "dataset folder": f"a folder that holds the frames in {FRAMES_FOLDER}/ and points in 2dlocs.csv",
    "NIfTI": "a .nii or .nii.gz volume, cut along its coarsest axis or another",
    "TIFF stack": "a .tif with one page a frame, compressed or not",
    "NumPy array": "a .npy of shape (T, H, W) or (T, H, W, C), read as a memory map",
    "NumPy archive": "a .npz with one array, or one called frames",
}


def read_sequence(path: str | Path, *, axis: str = "auto") -> ImageSequence:
    """Read the frames at a path in any of FORMATS, in the pixel type they are stored in.

    Frames of a folder are named by their files without extension, frames of a stack or volume by their number.
    axis: along which a volume is cut: 0, 1 or 2 of its stored axes, sagittal, coronal, axial, or auto for the coarsest.
    """
    path = Path(path)
    stack = read_stack(path, inside=(FRAMES_FOLDER,), key="frames", axis=axis)
    _check_finite(stack.frames, path)
    source = Source(str(path), stack.format, stack.geometry, stack.header)
    return replace(ImageSequence.from_array(stack.frames), names=stack.names, source=source)


def hash_sequence(sequence: ImageSequence) -> str:
    """SHA-256 (hex) of the frames' names, shape, pixel type, place and pixels; reads memory maps a frame at a time."""
    pixel_type = sequence.frames.dtype.newbyteorder("<")
    digest = hashlib.sha256(repr((sequence.names, sequence.shape, pixel_type.name)).encode())
    if sequence.geometry is not None:
        digest.update(repr((sequence.geometry.affine.tolist(), sequence.geometry.axes)).encode())
    for frame in sequence.frames:
        digest.update(frame.astype(pixel_type, copy=False).tobytes())
    return digest.hexdigest()


def _check_finite(frames: np.ndarray, path: Path) -> None:
    if frames.dtype.kind != "f":
        return
    for index, frame in enumerate(frames):
        if not np.isfinite(frame).all():
            raise InputError(
                f"pixels must be finite, frame {index} of {path} holds NaN or infinite values; replace them first"
            )
