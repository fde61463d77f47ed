"""One mask per frame."""

from collections.abc import Iterable
from io import BytesIO
from pathlib import Path

import numpy as np

from fewpoint.core.labels import LabelMap
from fewpoint.core.paging import walk
from fewpoint.errors import InputError, RunConflictError
from fewpoint.io.atomic import explaining_write_errors, replace_folder, write_new
from fewpoint.io.stacks import read_stack
from fewpoint.io.volumes import Stack, is_same_place

MASKS_FOLDER = "masks"
TRUTH_FOLDER = "ground_truth-frames"
# What else a run folder may hold its masks in; the last holds them always, with the probabilities.
RESULT_FILE = "probabilities.npz"
MASKS_FILES = ("masks.nii.gz", "masks.nrrd", "masks.mha", "masks.tif", "masks.ome.zarr", RESULT_FILE)


def read_masks(path: str | Path, *, axis: str = "auto") -> np.ndarray:
    """Read masks as (T, H, W) bool; a pixel that is not zero in any channel shows the object.

    path: a run folder, a dataset folder, a folder of images, a TIFF stack, a volume, or a .npy or .npz.
    axis: along which a volume is cut, as in read_sequence.
    """
    return _to_masks(read_mask_stack(path, axis))


def read_mask_pair(masks: str | Path, truth: str | Path) -> tuple[np.ndarray, np.ndarray]:
    """Read masks and the truth about them; two volumes must lie in the same place, voxel by voxel."""
    one, other = read_mask_stack(masks), read_mask_stack(truth)
    if not is_same_place(one.geometry, other.geometry):
        raise InputError(f"two volumes must lie in the same place, {masks} and {truth} do not; resample one of them")
    return _to_masks(one), _to_masks(other)


def read_label_pair(masks: str | Path, truth: str | Path) -> tuple[np.ndarray, np.ndarray]:
    """Read two (T, H, W) int64 label maps in the same place, whole numbers with 0 for no object."""
    masks = Path(masks)
    # The pictures of a run show colours; its arrays hold the numbers.
    is_pictures = (masks / MASKS_FOLDER).is_dir() and (masks / RESULT_FILE).is_file()
    one, other = read_mask_stack(masks / RESULT_FILE if is_pictures else masks), read_mask_stack(truth)
    if not is_same_place(one.geometry, other.geometry):
        raise InputError(f"two volumes must lie in the same place, {masks} and {truth} do not; resample one of them")
    return _to_labels(one, masks), _to_labels(other, truth)


def _to_labels(stack: Stack, path: str | Path) -> np.ndarray:
    values = stack.frames[..., 0]
    if stack.frames.shape[-1] != 1 or not (values == np.floor(values)).all() or values.min() < 0:
        raise InputError(f"{path} must hold whole numbers of 0 or more, one channel, for --objects; got others")
    return values.astype(np.int64)


def write_masks(masks: np.ndarray, names: tuple[str, ...], folder: Path) -> None:
    """Write (T, H, W) bool masks as `<name>.png` with pixels 0 and 255.

    The folder appears under its name only when it is complete; an earlier one that holds nothing but PNG files is
    replaced.
    """
    _check_names(names, len(masks))
    _write_pictures((mask * np.uint8(255) for mask in walk(masks)), names, folder)


def write_labels(labels: LabelMap, folder: Path) -> None:
    """Write a label map as `<name>.png` whose pixels are the objects' numbers, shown in their colours by a palette."""
    palette = [0, 0, 0, *(part for label in labels.objects for part in label.colour)]
    _check_names(labels.names, len(labels.values))
    _write_pictures(walk(labels.values), labels.names, folder, palette)


def _write_pictures(
    values: Iterable[np.ndarray], names: tuple[str, ...], folder: Path, palette: list[int] | None = None
) -> None:
    _refuse_foreign(folder)

    def fill(temporary: Path) -> None:
        for name, picture in zip(names, values, strict=True):
            data = _encode(picture, palette)
            write_new(temporary / f"{name}.png", lambda stream, data=data: stream.write(data))

    replace_folder(folder, fill)


def read_mask_stack(path: str | Path, axis: str = "auto") -> Stack:
    """Masks as they are stored, from whatever read_masks takes."""
    return read_stack(Path(path), inside=(MASKS_FOLDER, *MASKS_FILES, TRUTH_FOLDER), key="masks", axis=axis)


def _to_masks(stack: Stack) -> np.ndarray:
    return (stack.frames != 0).any(axis=-1)


def _encode(values: np.ndarray, palette: list[int] | None) -> bytes:
    from PIL import Image

    stream = BytesIO()
    image = Image.fromarray(values)
    if palette is not None:
        image.putpalette(palette)
    image.save(stream, "PNG")
    return stream.getvalue()


def _check_names(names: tuple[str, ...], count: int) -> None:
    if len(names) != count or len(set(names)) != count:
        raise InputError(f"each mask needs its own name: {count} masks, {len(set(names))} different names")
    for name in names:
        if name in ("", ".", "..") or "/" in name or "\\" in name or "\0" in name:
            raise InputError(f"a frame's name must be usable as a file name, got {name!r}; rename the frame")


def _refuse_foreign(folder: Path) -> None:
    with explaining_write_errors(folder):
        is_ours = not folder.exists() or (folder.is_dir() and all(entry.suffix == ".png" for entry in folder.iterdir()))
    if not is_ours:
        raise RunConflictError(f"{folder} must hold nothing but masks to be replaced; give another folder")
