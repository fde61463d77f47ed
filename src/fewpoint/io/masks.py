"""One mask per frame."""

from collections.abc import Iterable
from dataclasses import dataclass
from io import BytesIO
from pathlib import Path

import numpy as np

from fewpoint.core.geometry import Geometry
from fewpoint.core.given import need_path
from fewpoint.core.labels import MOST_OBJECTS, LabelMap
from fewpoint.core.paging import walk
from fewpoint.errors import InputError, RunConflictError
from fewpoint.io.atomic import explaining_write_errors, replace_folder, write_new
from fewpoint.io.stacks import read_stack
from fewpoint.io.volumes import Stack, is_same_place

MASKS_FOLDER = "masks"
TRUTH_FOLDER = "ground_truth-frames"
# What else a run folder may hold its masks in; the last holds them always, with the probabilities.
RESULT_FILE = "probabilities.npz"
MOST_VALUES = 32  # of a mask, or of a label map that is taken as one mask
MASKS_FILES = ("masks.nii.gz", "masks.nrrd", "masks.mha", "masks.tif", "masks.ome.zarr", RESULT_FILE)


@dataclass(frozen=True, eq=False)
class MaskPair:
    """Masks and the truth about them, both (T, H, W), and where their voxels lie, if either says so."""

    masks: np.ndarray
    truth: np.ndarray
    geometry: Geometry | None = None


def read_masks(path: str | Path, *, axis: str = "auto") -> np.ndarray:
    """Read masks as (T, H, W) bool; a pixel that is not zero in any channel shows the object.

    path: a run folder, a dataset folder, a folder of images, a TIFF stack, a volume, or a .npy or .npz.
    axis: along which a volume is cut, as in read_sequence.
    """
    return to_masks(read_mask_stack(path, axis), path)


def read_mask_pair(masks: str | Path, truth: str | Path) -> MaskPair:
    """Read bool masks and the truth about them; two volumes must lie in the same place, voxel by voxel."""
    one, other = read_mask_stack(masks), read_mask_stack(truth)
    return MaskPair(to_masks(one, masks), to_masks(other, truth), _join_places(one, other, masks, truth))


def read_label_pair(masks: str | Path, truth: str | Path) -> MaskPair:
    """Read two int64 label maps in the same place, whole numbers with 0 for no object."""
    masks = Path(masks)
    # The pictures of a run show colours; its arrays hold the numbers.
    is_pictures = (masks / MASKS_FOLDER).is_dir() and (masks / RESULT_FILE).is_file()
    one, other = read_mask_stack(masks / RESULT_FILE if is_pictures else masks), read_mask_stack(truth)
    return MaskPair(to_labels(one, masks), to_labels(other, truth), _join_places(one, other, masks, truth))


def _join_places(one: Stack, other: Stack, masks: str | Path, truth: str | Path) -> Geometry | None:
    """The geometry of either; InputError if they differ."""
    if not is_same_place(one.geometry, other.geometry):
        raise InputError(f"two volumes must lie in the same place, {masks} and {truth} do not; resample one of them")
    return one.geometry if other.geometry is None else other.geometry


def to_labels(stack: Stack, path: str | Path) -> np.ndarray:
    """(T, H, W) int64; InputError that names the path for what is no label map."""
    values = stack.frames[..., 0]
    if stack.frames.shape[-1] != 1 or not (values == np.floor(values)).all() or values.min() < 0:
        raise InputError(f"{path} must hold whole numbers of 0 or more, one channel, for --objects; got others")
    _refuse_image(values, path, MOST_OBJECTS + 1)
    return values.astype(np.int64)


def write_masks(masks: np.ndarray, names: tuple[str, ...], folder: Path) -> None:
    """Write (T, H, W) bool masks as `<name>.png` with pixels 0 and 255.

    The folder appears under its name only when it is complete; an earlier one that holds nothing but PNG files is
    replaced.
    """
    check_file_names(names, len(masks))
    _write_pictures((mask * np.uint8(255) for mask in walk(masks)), names, folder)


def write_labels(labels: LabelMap, folder: Path) -> None:
    """Write a label map as `<name>.png` whose pixels are the objects' numbers, shown in their colours by a palette."""
    palette = [0, 0, 0, *(part for label in labels.objects for part in label.colour)]
    check_file_names(labels.names, len(labels.values))
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
    return read_stack(
        need_path(path, "masks"), inside=(MASKS_FOLDER, *MASKS_FILES, TRUTH_FOLDER), key="masks", axis=axis
    )


def to_masks(stack: Stack, path: str | Path) -> np.ndarray:
    """(T, H, W) bool; InputError that names the path for what is no mask."""
    _refuse_image(stack.frames, path, MOST_VALUES)
    return (stack.frames != 0).any(axis=-1)


def _refuse_image(values: np.ndarray, path: str | Path, most: int) -> None:
    """InputError for frames of more values than masks have, which are pictures or probabilities."""
    seen: set[float] = set()
    for frame in walk(values):
        seen.update(np.unique(frame).tolist())
        if len(seen) > most:
            raise InputError(
                f"{path} must hold masks, of at most {most} different values; it has more, as images and probabilities "
                "do: give masks, or cut it at a threshold"
            )


def _encode(values: np.ndarray, palette: list[int] | None) -> bytes:
    from PIL import Image

    stream = BytesIO()
    image = Image.fromarray(values)
    if palette is not None:
        image.putpalette(palette)
    image.save(stream, "PNG")
    return stream.getvalue()


def check_file_names(names: tuple[str, ...], count: int) -> None:
    """Raise InputError unless each of so many masks has its own name, which a file can have."""
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
