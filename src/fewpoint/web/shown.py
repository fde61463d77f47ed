"""What the page shows of a run, in files of which one frame can be read at a time.

masks.npy           (T, H, W / 8) uint8, one bit per pixel
probabilities.npy   (T, H, W) uint8, 255 where the object is certain
uncertainty.json    how much a look at each frame is worth
preview.npy         the masks as they are in the middle of training, like masks.npy
"""

from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from fewpoint.core import Result
from fewpoint.core.paging import gather_frames, walk
from fewpoint.io.atomic import read_json, save_array, write_atomically, write_json
from fewpoint.report.uncertainty import rank_frames

if TYPE_CHECKING:
    from fewpoint.runs.partial import ObjectLook  # would bring torch into the server

MASKS, PROBABILITIES, UNCERTAINTY, PREVIEW = "masks.npy", "probabilities.npy", "uncertainty.json", "preview.npy"


def write_shown(result: Result, folder: Path) -> None:
    """Write all that the page shows of a result."""
    folder.mkdir(parents=True, exist_ok=True)
    shades = (np.round(frame.astype(np.float32) * 255) for frame in walk(result.probabilities.values))
    values = gather_frames(shades, result.masks.shape, np.uint8)
    write_atomically(folder / PROBABILITIES, lambda file: save_array(values, file))
    doubts = {entry.frame: entry.worth for entry in rank_frames(result)}
    write_json(folder / UNCERTAINTY, {"frames": [doubts[frame] for frame in range(len(result.masks))]})
    _write_masks(walk(result.masks), folder / MASKS)


def write_preview(look: "ObjectLook", folder: Path) -> None:
    """Write the masks as the network now sees them."""
    folder.mkdir(parents=True, exist_ok=True)
    frames = range(len(look.superpixels.labels))
    _write_masks((look.mask(frame) for frame in frames), folder / PREVIEW)


def write_answer(masks: np.ndarray, folder: Path) -> None:
    """Write (T, H, W) bool masks that were asked for at once."""
    folder.mkdir(parents=True, exist_ok=True)
    _write_masks(masks, folder / MASKS)


def read_mask(path: Path, frame: int, size: tuple[int, int]) -> np.ndarray | None:
    """(H, W) bool of one frame; None if the file is not there yet."""
    packed = _map(path)
    return None if packed is None else np.unpackbits(packed[frame], axis=-1, count=size[1]).astype(bool)


def read_probability(folder: Path, frame: int) -> np.ndarray | None:
    """(H, W) uint8 of one frame."""
    values = _map(folder / PROBABILITIES)
    return None if values is None else np.asarray(values[frame])


def read_uncertainty(folder: Path) -> np.ndarray | None:
    """(T,) float64 in [0, 1]."""
    path = folder / UNCERTAINTY
    return np.array(read_json(path)["frames"], np.float64) if path.exists() else None


def _write_masks(masks: Iterable[np.ndarray], path: Path) -> None:
    packed = np.stack([np.packbits(mask, axis=-1) for mask in masks])
    write_atomically(path, lambda file: np.save(file, packed))


def _map(path: Path) -> np.ndarray | None:
    return np.load(path, mmap_mode="r", allow_pickle=False) if path.exists() else None
