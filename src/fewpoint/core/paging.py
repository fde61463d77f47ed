"""Arrays with an entry a frame: large ones lie in a file, and in memory only the frames that are being looked at."""

import mmap
import os
import tempfile
from collections.abc import Iterable, Iterator
from math import prod

import numpy as np
from numpy.typing import DTypeLike

from fewpoint.errors import OutputError

LARGE_BYTES = 2**27
KEPT_BYTES = 2**25  # of a file, that a walk over its frames keeps in memory


def make_frames(shape: tuple[int, ...], dtype: DTypeLike) -> np.ndarray:
    """An array of zeros; from LARGE_BYTES on in a file without a name, which the system removes.

    Such a file lies in the folder for temporary files, where the variable TMPDIR names another.
    """
    size = prod(shape) * np.dtype(dtype).itemsize
    if size < LARGE_BYTES:
        return np.zeros(shape, dtype)
    try:
        with tempfile.TemporaryFile() as file:
            if hasattr(os, "posix_fallocate"):
                os.posix_fallocate(file.fileno(), 0, size)  # a disk that fills up later would kill the process
            return np.memmap(file, dtype, "w+", shape=shape)
    except OSError as error:
        raise OutputError(
            f"{size / 2**30:.1f} GiB must fit into {tempfile.gettempdir()}: {error.strerror}; "
            "make room, or set TMPDIR to another folder"
        ) from error


def gather_frames(frames: Iterable[np.ndarray], shape: tuple[int, ...], dtype: DTypeLike) -> np.ndarray:
    """One array of frames that come one after another, as many as its first side is long.

    >>> gather_frames((np.full(2, number) for number in range(3)), (3, 2), np.uint8).tolist()
    [[0, 0], [1, 1], [2, 2]]
    """
    gathered = make_frames(shape, dtype)
    for place, frame in zip(walk(gathered), frames, strict=True):
        place[...] = frame
    return gathered


def stack_arrays(arrays: list[np.ndarray], dtype: DTypeLike) -> np.ndarray:
    """Arrays of frames (T, …), of one shape, as one of shape (K, T, …).

    >>> stack_arrays([np.zeros((2, 3)), np.ones((2, 3))], np.uint8).shape
    (2, 2, 3)
    """
    frames = (frame for array in arrays for frame in walk(array))
    count, *rest = arrays[0].shape
    return gather_frames(frames, (len(arrays) * count, *rest), dtype).reshape(len(arrays), count, *rest)


def walk(array: np.ndarray) -> Iterator[np.ndarray]:
    """The entries of the first axis, one after another; those of a file leave memory soon after."""
    # Of a part of each frame, whole frames come into memory.
    step = max(1, KEPT_BYTES // max(1, abs(array.strides[0])))
    for number, entry in enumerate(array, start=1):
        yield entry
        if number % step == 0:
            let_go(array)
    let_go(array)


def let_go(array: np.ndarray) -> None:
    """Let what lies in a file leave memory, from where it comes again when it is looked at; else do nothing."""
    while isinstance(array, np.ndarray) and not isinstance(array.base, mmap.mmap):
        array = array.base
    # Changes to a mode "c" are nowhere but in memory.
    if isinstance(array, np.memmap) and array.mode != "c" and hasattr(mmap, "MADV_DONTNEED"):
        array.base.madvise(mmap.MADV_DONTNEED)
