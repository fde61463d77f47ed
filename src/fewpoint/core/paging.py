"""Arrays with one entry per frame: large ones are in a file, with only the frames in use in memory."""

import mmap
import os
import tempfile
from collections.abc import Iterable, Iterator
from contextlib import suppress
from math import prod
from typing import BinaryIO, Literal

import numpy as np
from numpy.typing import DTypeLike

from fewpoint.core.stopping import check_stop
from fewpoint.errors import OutputError

LARGE_BYTES = 2**27
KEPT_BYTES = 2**25  # how much of a file a walk over its frames keeps in memory


_prepared: list[BinaryIO] | None = None
_mapped: list[tuple[object, int]] = []


def prepare_stores(count: int) -> None:
    """Open so many unnamed files now, for a process that can open none later, and remember what lies in them."""
    global _prepared  # noqa: PLW0603 - such a process does one thing and ends
    _prepared = []
    with suppress(OSError):  # without a place for any there are none
        _prepared += [tempfile.TemporaryFile() for _ in range(count)]  # noqa: SIM115


def open_store() -> BinaryIO:
    """A file without a name, which the system removes; in the folder that the variable TMPDIR can set."""
    return _prepared.pop() if _prepared else tempfile.TemporaryFile()


def map_store(file: BinaryIO, shape: tuple[int, ...], dtype: DTypeLike, mode: Literal["r", "w+"]) -> np.ndarray:
    """What a file without a name holds, as an array; the file may be closed afterwards."""
    array = np.memmap(file, dtype, mode, shape=shape)
    if _prepared is not None:
        _mapped.append((array.base, os.dup(file.fileno())))
    return array


def find_store(array: np.ndarray) -> int | None:
    """A descriptor of the prepared file that holds an array, all of it and nothing else; None if there is none."""
    base = _base_of(array)
    while isinstance(base, np.ndarray):
        base = _base_of(base)
    number = next((number for own, number in _mapped if own is base), None)
    is_all = array.flags.c_contiguous and isinstance(base, mmap.mmap) and len(base) == array.nbytes
    return os.dup(number) if number is not None and is_all else None


def make_frames(shape: tuple[int, ...], dtype: DTypeLike) -> np.ndarray:
    """An array of zeros; from LARGE_BYTES up in an unnamed file, which the system removes.

    The file is in the folder for temporary files, which the variable TMPDIR can set.
    """
    size = prod(shape) * np.dtype(dtype).itemsize
    if size < LARGE_BYTES:
        return np.zeros(shape, dtype)
    try:
        with open_store() as file:
            if hasattr(os, "posix_fallocate"):
                os.posix_fallocate(file.fileno(), 0, size)  # a disk that fills up later would kill the process
            return map_store(file, shape, dtype, "w+")
    except OSError as error:
        raise OutputError(
            f"{size / 2**30:.1f} GiB must fit into {tempfile.gettempdir()}: {error.strerror}; "
            "make room, or set TMPDIR to another folder"
        ) from error


def gather_frames(frames: Iterable[np.ndarray], shape: tuple[int, ...], dtype: DTypeLike) -> np.ndarray:
    """Collect frames that come one after another into one array; there must be shape[0] of them.

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
    """The entries of the first axis, one after another; those in a file leave memory soon after."""
    # Even if the array is cropped, whole frames come into memory.
    step = max(1, KEPT_BYTES // max(1, abs(array.strides[0])))
    for number, entry in enumerate(array, start=1):
        check_stop()
        yield entry
        if number % step == 0:
            let_go(array)
    let_go(array)


def let_go(array: np.ndarray) -> None:
    """Drop an array in a file from memory; it is read again on the next access. Other arrays are left alone."""
    owner, file = array, _base_of(array)
    while isinstance(file, np.ndarray):
        owner, file = file, _base_of(file)
    # Changes in mode "c" exist only in memory.
    is_file = isinstance(owner, np.memmap) and owner.mode != "c"
    if is_file and isinstance(file, mmap.mmap) and hasattr(mmap, "MADV_DONTNEED"):
        file.madvise(mmap.MADV_DONTNEED)


def _base_of(array: np.ndarray) -> object:
    """What holds the array's numbers: another array, a mapped file, or None; NumPy's type hint only has arrays."""
    return array.base
