"""What the page shows of a run, in files of which one frame can be read at a time.

masks.npy           (T, H, W / 8) uint8, one bit per pixel
probabilities.npy   (T, H, W) uint8, 255 where the object is certain
uncertainty.json    how much a look at each frame is worth
preview.npy         the masks as they are in the middle of training, like masks.npy
view-FRAME.npy      the mask of a frame that was answered before all others, (H, W / 8), until masks.npy is as new
"""

import os
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO

import numpy as np

from fewpoint.core import ObjectResult, PointSet, Result
from fewpoint.core.paging import gather_frames, walk
from fewpoint.io.atomic import read_json, save_array, write_atomically, write_json

if TYPE_CHECKING:
    from fewpoint.runs.partial import ObjectLook  # would bring torch into the server

BITS = np.array([value.bit_count() for value in range(256)], np.int64)  # set in a byte
MASKS, PROBABILITIES, UNCERTAINTY, PREVIEW = "masks.npy", "probabilities.npy", "uncertainty.json", "preview.npy"


def write_shown(result: Result, worths: list[float], folder: Path) -> None:
    """Write all that the page shows of a result. worths: how much a look at each frame is worth."""
    folder.mkdir(parents=True, exist_ok=True)
    shades = (np.round(frame.astype(np.float32) * 255) for frame in walk(result.probabilities.values))
    values = gather_frames(shades, result.masks.shape, np.uint8)
    write_atomically(folder / PROBABILITIES, lambda file: save_array(values, file))
    write_json(folder / UNCERTAINTY, {"frames": worths})
    _write_masks(walk(result.masks), result.masks.shape, folder / MASKS)


def write_preview(look: "ObjectLook", folder: Path) -> None:
    """Write the masks as the network now sees them."""
    folder.mkdir(parents=True, exist_ok=True)
    shape = look.superpixels.labels.shape
    _write_masks((look.mask(frame) for frame in range(shape[0])), shape, folder / PREVIEW)


def write_found(found: ObjectResult, folder: Path) -> None:
    """Write masks that will not change any more in place of previews."""
    folder.mkdir(parents=True, exist_ok=True)
    _write_masks(walk(found.masks), found.masks.shape, folder / PREVIEW)


def keep_preview(folder: Path, points: PointSet) -> None:
    """Let the last preview be the masks, if there are no others, with clicks. points: on this object alone."""
    if not (folder / PREVIEW).exists() or (folder / MASKS).exists():
        return
    packed = np.load(folder / PREVIEW, allow_pickle=False)
    for places, is_inside in ((points.coordinates, True), (points.negatives, False)):
        for frame, y, x in places.tolist():
            bit = np.uint8(128 >> x % 8)
            packed[frame, y, x // 8] = packed[frame, y, x // 8] | bit if is_inside else packed[frame, y, x // 8] & ~bit
    write_packed(packed, folder)


def write_answer(masks: np.ndarray, folder: Path, first: int = 0, total: int | None = None) -> None:
    """Write (n, H, W) bool masks that were asked for at once: of all frames, or of some from the first of so many."""
    folder.mkdir(parents=True, exist_ok=True)
    _write_masks(walk(masks), (total or len(masks), *masks.shape[1:]), folder / MASKS, first)
    for path in folder.glob(_name_view("*")):
        path.unlink()


def write_packed(packed: np.ndarray, folder: Path) -> None:
    """Write masks of all frames, (T, H, W / 8) uint8 with one bit per pixel."""
    folder.mkdir(parents=True, exist_ok=True)
    write_atomically(folder / MASKS, lambda file: save_array(packed, file))


def write_view(mask: np.ndarray, folder: Path, frame: int) -> None:
    """Write the (H, W) bool mask of a frame that was asked for at once, while those of all are still to come."""
    folder.mkdir(parents=True, exist_ok=True)
    packed = np.packbits(mask, axis=-1)
    write_atomically(folder / _name_view(frame), lambda file: save_array(packed, file))


def read_view(folder: Path, frame: int, size: tuple[int, int]) -> np.ndarray | None:
    """(H, W) bool; None if the frame is not newer than the others."""
    with suppress(FileNotFoundError):  # all others may have come just now
        packed = np.load(folder / _name_view(frame), allow_pickle=False)
        return np.unpackbits(packed, axis=-1, count=size[1]).astype(bool)
    return None


def _name_view(frame: int | str) -> str:
    return f"view-{frame}.npy"


def read_plane(path: Path, axis: int, index: int, size: tuple[int, int]) -> np.ndarray | None:
    """(rows, columns) bool of a frame, or across the frames at a row (axis 1) or column (axis 2)."""
    packed = _map(path)
    if packed is None:
        return None
    if axis == 2:
        return (packed[:, :, index // 8] >> (7 - index % 8) & 1).astype(bool)
    return np.unpackbits(np.take(packed, index, axis=axis), axis=-1, count=size[1]).astype(bool)


def count_pixels(path: Path) -> np.ndarray | None:
    """(T,) int64 pixels of each mask."""
    packed = _map(path)
    return None if packed is None else np.array([BITS[frame].sum() for frame in packed], np.int64)


def read_probability(folder: Path, axis: int, index: int) -> np.ndarray | None:
    """(rows, columns) uint8 of a frame, or across the frames at a row (axis 1) or column (axis 2)."""
    values = map_probabilities(folder)
    return None if values is None else np.take(values, index, axis=axis)


def map_probabilities(folder: Path) -> np.ndarray | None:
    """(T, H, W) uint8, read as it is looked at."""
    return _map(folder / PROBABILITIES)


def read_uncertainty(folder: Path) -> np.ndarray | None:
    """(T,) float64 in [0, 1]."""
    path = folder / UNCERTAINTY
    return np.array(read_json(path)["frames"], np.float64) if path.exists() else None


def _write_masks(masks: Iterable[np.ndarray], shape: tuple[int, ...], path: Path, first: int = 0) -> None:
    """Write masks of consecutive frames; shape: (T, H, W) of all, whose others are empty and take no room."""
    frames, height, width = shape
    row = -(-width // 8)

    def write(file: BinaryIO) -> None:
        header = {"descr": "|u1", "fortran_order": False, "shape": (frames, height, row)}
        np.lib.format.write_array_header_1_0(file, header)
        start = file.tell()
        file.seek(first * height * row, os.SEEK_CUR)
        for mask in masks:
            file.write(np.packbits(mask, axis=-1).tobytes())
        file.truncate(start + frames * height * row)

    write_atomically(path, write)


def _map(path: Path) -> np.ndarray | None:
    return np.load(path, mmap_mode="r", allow_pickle=False) if path.exists() else None
