"""Drawn masks from files, as outlined frames of the objects that they show."""

from collections.abc import Iterable
from pathlib import Path

import numpy as np

from fewpoint.core.job import OutlineFile
from fewpoint.core.run_lengths import Stretches, encode_mask
from fewpoint.core.saying import EVERY
from fewpoint.core.sequence import ImageSequence
from fewpoint.errors import InputError
from fewpoint.io.masks import read_mask_stack
from fewpoint.io.stacks import NUMPY_SUFFIXES, PICTURE_SUFFIXES, PICTURES, read_picture
from fewpoint.io.volumes import Stack, is_same_place

Outlines = dict[str, dict[int, Stretches]]  # by object and frame


def read_outlines(
    files: Iterable[tuple[str, OutlineFile]], names: tuple[str, ...], sequence: ImageSequence
) -> Outlines:
    """The outlined frames of each object.

    files: each with the object that it shows. Without one it shows the only object of `names` wherever it is not zero,
    or n where the n-th of several is.
    """
    outlines: Outlines = {}
    for name, file in files:
        for own, frame, mask in _read_masks(name, file, names, sequence):
            drawn = outlines.setdefault(own, {})
            if frame in drawn:
                raise InputError(f"{file.path} is for frame {frame}, as another file is; keep one of them")
            drawn[frame] = encode_mask(mask)
    return outlines


def _read_masks(
    name: str, file: OutlineFile, names: tuple[str, ...], sequence: ImageSequence
) -> list[tuple[str, int, np.ndarray]]:
    """Object, frame and (H, W) mask of all that a file shows.

    An empty mask says that the object is not there only if it is given for this frame and this object.
    """
    stack = _read_stack(file, sequence)
    if name == EVERY and len(names) > 1:
        _check_labels(stack, file, names)
        masks = {each: stack.frames[..., 0] == number for number, each in enumerate(names, start=1)}
    else:
        masks = {name or "".join(names): (stack.frames != 0).any(axis=-1)}
        if file.frame is not None:
            return [(each, file.frame, own[0]) for each, own in masks.items()]
    first = file.frame or 0
    found = [(each, frame, mask) for each, own in masks.items() for frame, mask in enumerate(own, first) if mask.any()]
    if not found:
        raise InputError(f"{file.path} must show an object on some frame, it is empty; draw at least one mask")
    return found


def _read_stack(file: OutlineFile, sequence: ImageSequence) -> Stack:
    """The masks at a path, checked to fit the sequence."""
    path, (height, width), count = Path(file.path), sequence.size, len(sequence)
    stack = _read_one(path) if file.frame is not None else _read_all(path, sequence)
    found, *size, _ = stack.frames.shape
    if size != [height, width]:
        raise InputError(
            f"the masks in {path} must be as large as the frames, {height} x {width} (height x width), "
            f"they are {size[0]} x {size[1]}; draw them on the frames themselves"
        )
    if file.frame is None and found != count:
        raise InputError(
            f"{path} must hold a mask for each of the {count} frames, it holds {found}; "
            "leave masks of other frames empty, or give FRAME=MASK"
        )
    if file.frame is not None and found > 1:
        raise InputError(
            f"{path} must hold the mask of frame {file.frame} alone, it holds {found}; leave the frame out"
        )
    if file.frame is not None and not 0 <= file.frame < count:
        raise InputError(
            f"{path} is for frame {file.frame}, but the sequence has frames 0 to {count - 1}; frames count from zero"
        )
    return stack


def _read_one(path: Path) -> Stack:
    """A picture, or any file of masks that holds one."""
    if path.suffix.lower() in PICTURE_SUFFIXES:
        return Stack(read_picture(path)[np.newaxis], (path.stem,), PICTURES)
    return read_mask_stack(path)


def _read_all(path: Path, sequence: ImageSequence) -> Stack:
    """Masks cut as the sequence was, if they are a volume, and in the same place."""
    is_frames = path.is_dir() or path.suffix.lower() in NUMPY_SUFFIXES
    axis = "auto" if sequence.source is None or is_frames else sequence.source.reading.axis
    stack = read_mask_stack(path, axis)
    if not is_same_place(sequence.geometry, stack.geometry):
        raise InputError(f"the masks in {path} must lie where the input does, they do not; draw them on the input")
    return stack


def _check_labels(stack: Stack, file: OutlineFile, names: tuple[str, ...]) -> None:
    """Raise InputError unless every value is the number of an object."""
    values = np.unique(stack.frames)
    wrong = [value for value in values.tolist() if value not in range(len(names) + 1)]
    if stack.frames.shape[-1] != 1 or wrong:
        got = f"{wrong[0]:g}" if wrong else "colours"
        raise InputError(
            f"{file.path} must hold 1 to {len(names)} for {', '.join(names)}, and 0, got {got}; "
            "or give NAME= before the file of one of them"
        )
