"""A file or a folder -> one stack of frames, each with its name."""

import os
import re
from collections.abc import Callable, Iterable
from dataclasses import replace
from itertools import islice, pairwise
from pathlib import Path

import numpy as np

from fewpoint.core.paging import gather_frames, let_go, make_frames, walk
from fewpoint.core.plain_text import is_encodable
from fewpoint.core.sequence import numbered_names
from fewpoint.errors import InputError
from fewpoint.io import dicom, itk, nifti, tiff, video, zarr_images
from fewpoint.io.apart.calls import call
from fewpoint.io.decoding import check_exists, decode_image, explaining_read_errors, load_array
from fewpoint.io.volumes import Stack, Volume, cut_volume

PICTURE_SUFFIXES = (".png", ".jpg", ".jpeg")
NUMPY_SUFFIXES = (".npy", ".npz")
FRAME_SUFFIXES = PICTURE_SUFFIXES + tiff.SUFFIXES
PICTURES, NUMPY = "png", "numpy"
MOST_TRIED = 20  # files looked into for DICOM, whose names often say nothing

READERS: dict[tuple[str, ...], Callable[[Path], Volume]] = {
    nifti.SUFFIXES: nifti.read_nifti,
    itk.NRRD_SUFFIXES: itk.read_nrrd,
    itk.META_SUFFIXES: itk.read_meta,
    dicom.SUFFIXES: dicom.read_dicom,
    tiff.SUFFIXES: tiff.read_tiff,
    video.SUFFIXES: video.read_video,
    zarr_images.SUFFIXES: zarr_images.read_zarr,
}


def read_stack(path: Path, *, inside: tuple[str, ...], key: str, axis: str = "auto") -> Stack:
    """Read all frames at a path, in a process apart.

    inside: folders and files to look for in a folder; the first that is there is read in its place.
    key: name of the array in a .npz that holds several.
    axis: along which a volume is cut, one of AXIS_CHOICES.
    """
    check_exists(path)
    return call(decode_stack, path, inside, key, axis)


def decode_stack(path: Path, inside: tuple[str, ...], key: str, axis: str) -> Stack:
    """What read_stack reads, in this process."""
    if path.is_dir():
        path = next((path / name for name in inside if (path / name).exists()), path)
    reader = _find_reader(path)
    if reader is not None:
        stack = cut_volume(reader(path), axis)
    elif axis != "auto":
        raise InputError(f"--axis {axis} needs a volume such as NIfTI, {path} holds frames; leave it out")
    else:
        stack = _read_folder(path) if path.is_dir() else _read_array(path, key)
    return replace(stack, frames=_to_native(stack.frames))


def _find_reader(path: Path) -> Callable[[Path], Volume] | None:
    """The reader by the name of a file, by what it holds if the name says nothing; None for frames and arrays."""
    name = path.name.lower()
    for suffixes, reader in READERS.items():
        if name.endswith(suffixes) and path.is_dir() == (suffixes is zarr_images.SUFFIXES):
            return reader
    is_named = path.suffix.lower() in PICTURE_SUFFIXES + NUMPY_SUFFIXES
    is_series = _holds_dicom(path) if path.is_dir() else not is_named and dicom.is_dicom(path)
    return dicom.read_dicom if is_series else None


def _holds_dicom(folder: Path) -> bool:
    """Whether a folder, or one below, holds DICOM; one that holds pictures is a folder of frames."""
    with explaining_read_errors(folder):
        files = [entry for entry in sorted(folder.iterdir()) if entry.is_file() and not entry.name.startswith(".")]
    if any(file.suffix.lower() in dicom.SUFFIXES for file in files):
        return True
    if any(file.suffix.lower() in FRAME_SUFFIXES for file in files):
        return False
    below = (Path(root) / name for root, _, names in os.walk(folder) for name in sorted(names))
    return any(dicom.is_dicom(file) for file in islice(below, MOST_TRIED) if file.is_file())


def _read_array(path: Path, key: str) -> Stack:
    if path.suffix.lower() not in NUMPY_SUFFIXES:
        raise InputError(_describe_unsupported(path))
    frames = _check_array(load_array(path, key), path)
    return Stack(frames, numbered_names(len(frames)), NUMPY)


def natural_order(name: str) -> tuple[tuple[int | str, ...], str]:
    """Sort key under which numbers inside names count as numbers.

    >>> sorted(["f10", "f2", "f1"], key=natural_order)
    ['f1', 'f2', 'f10']
    """
    parts = re.split(r"([0-9]+)", name.casefold())
    return tuple(int(part) if index % 2 else part for index, part in enumerate(parts)), name


def stack_frames(frames: Iterable[tuple[str, np.ndarray]], count: int) -> np.ndarray:
    """Stack (name, (H, W, C)) frames of one size and type; grey ones among colour ones are widened to colour."""
    stack, first = None, ""
    for index, (name, frame) in enumerate(frames):
        if stack is None:
            stack, first = make_frames((count, *frame.shape), frame.dtype), name
        _check_alike(stack, first, frame, name)
        if (stack.shape[-1], frame.shape[-1]) == (1, 3):
            stack = gather_frames(walk(stack), (*stack.shape[:-1], 3), stack.dtype)
        stack[index] = frame  # a grey (H, W, 1) frame spreads over the three channels
        let_go(stack)
    if stack is None:
        raise InputError("a sequence must have at least one frame, got none; give the files of its frames")
    return stack


def read_picture(path: Path) -> np.ndarray:
    """One PNG or JPEG as (H, W, 1) or (H, W, 3), in a process apart."""
    check_exists(path)
    return call(decode_image, path)


def _read_folder(folder: Path) -> Stack:
    paths = list_frames(folder)
    names = tuple(path.stem for path in paths)
    for earlier, later in pairwise(paths):
        if earlier.stem == later.stem:
            raise InputError(
                f"each frame needs its own name, but {folder} has {earlier.name} and {later.name}; remove one"
            )
    frames = stack_frames(((path.name, _decode_frame(path)) for path in paths), len(paths))
    return Stack(frames, names, PICTURES)


def list_frames(folder: Path) -> list[Path]:
    """The pictures of a folder in the order of its frames; InputError if there are none."""
    with explaining_read_errors(folder):
        entries = [entry for entry in folder.iterdir() if entry.is_file() and not entry.name.startswith(".")]
    paths = [entry for entry in entries if entry.suffix.lower() in FRAME_SUFFIXES]
    if not paths:
        raise InputError(
            f"no frames in {folder}: looked for files ending in {', '.join(FRAME_SUFFIXES)}; "
            "give the folder that holds the frames themselves"
        )
    for path in paths:
        if not is_encodable(path.name):
            raise InputError(f"names of frames must be valid UTF-8, {folder} has {path.name!a}; rename it")
    return sorted(paths, key=lambda path: (natural_order(path.stem), path.name))


def _decode_frame(path: Path) -> np.ndarray:
    if path.suffix.lower() in PICTURE_SUFFIXES:
        return decode_image(path)
    pages = tiff.decode_tiff(path)
    if len(pages) > 1:
        raise InputError(
            f"a TIFF in a folder of frames must hold one frame, {path} holds {len(pages)}; give that file itself"
        )
    return pages[0]


def _check_alike(stack: np.ndarray, first: str, frame: np.ndarray, name: str) -> None:
    size, other = stack.shape[1:3], frame.shape[:2]
    if size != other:
        raise InputError(
            f"all frames must have one size (height x width), {first} is {size[0]} x {size[1]} and {name} is "
            f"{other[0]} x {other[1]}; resize or remove the odd ones"
        )
    if stack.dtype != frame.dtype:
        raise InputError(
            f"all frames must have one pixel type, {first} is {stack.dtype} and {name} is {frame.dtype}; "
            "convert them to one bit depth"
        )
    channels = {stack.shape[-1], frame.shape[-1]}
    if len(channels) > 1 and channels != {1, 3}:
        raise InputError(
            f"all frames must be grey or colour, {first} has {stack.shape[-1]} channels and {name} has "
            f"{frame.shape[-1]}; convert them to one kind"
        )


def _check_array(array: np.ndarray, path: Path) -> np.ndarray:
    if array.ndim not in (3, 4) or 0 in array.shape:
        raise InputError(
            f"the array in {path} must be (T, H, W) or (T, H, W, C) and not empty, got shape {array.shape}; reshape it"
        )
    if array.dtype.kind not in "biuf":
        raise InputError(f"the array in {path} must hold real numbers, got {array.dtype}; convert it to uint8")
    return array if array.ndim == 4 else array[..., np.newaxis]


def _to_native(frames: np.ndarray) -> np.ndarray:
    """Big-endian files give arrays that few libraries take."""
    return frames if frames.dtype.isnative else frames.astype(frames.dtype.newbyteorder("="))


def _describe_unsupported(path: Path) -> str:
    if path.suffix.lower() in PICTURE_SUFFIXES:
        return f"{path} is one frame; give the folder that holds all frames"
    known = [suffix for suffixes in READERS for suffix in suffixes]
    return (
        f"{path} is of no supported kind; give a folder of {', '.join(FRAME_SUFFIXES)} frames or of DICOM images, "
        f"or a {', '.join([*NUMPY_SUFFIXES, *known])} file"
    )
