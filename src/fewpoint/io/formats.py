"""The formats that a result is written in."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from fewpoint.core.segmentation import AnySegmentation, Segmentation
from fewpoint.core.source import Source
from fewpoint.errors import InputError
from fewpoint.io import video, zarr_images
from fewpoint.io.coco import write_coco
from fewpoint.io.dicom_seg import check_dicom_seg, write_dicom_seg
from fewpoint.io.extras import need
from fewpoint.io.itk import write_meta
from fewpoint.io.masks import MASKS_FOLDER, write_labels, write_masks
from fewpoint.io.nifti import write_nifti
from fewpoint.io.nrrd import write_nrrd
from fewpoint.io.tiff import write_tiff

AUTO = "auto"
FILM, FILM_FILE = "mp4", "overlay.mp4"
PROBABILITIES = "probabilities"


@dataclass(frozen=True)
class GridFormat:
    """A format that holds any values in the grid of the input.

    mask_value: what a pixel of the object is written as where there is one; of several each has its number.
    """

    suffix: str
    write: Callable[[np.ndarray, Source | None, Path], None]
    mask_value: int = 1


GRIDS: dict[str, GridFormat] = {
    "nifti": GridFormat(".nii.gz", write_nifti),
    "nrrd": GridFormat(".nrrd", write_nrrd),
    "mha": GridFormat(".mha", write_meta),
    "tiff": GridFormat(".tif", write_tiff, 255),
    "zarr": GridFormat(".ome.zarr", zarr_images.write_zarr),
}
FILES: dict[str, str] = {
    "png": MASKS_FOLDER,
    **{name: MASKS_FOLDER + grid.suffix for name, grid in GRIDS.items()},
    "dicom-seg": "masks.dcm",
    "coco": "masks.json",
}
# What the masks of an input are written in where nothing else is asked for.
OWN = {**{name: name for name in GRIDS}, "dicom": "dicom-seg"}


def choose_format(source: Source | None) -> str:
    """The input's own format; PNG for pictures, arrays and videos, and for DICOM films."""
    if source is None:
        return "png"
    is_film = source.geometry is None or source.geometry.over_time
    return "png" if source.format == "dicom" and is_film else OWN.get(source.format, "png")


def write_in_format(result: AnySegmentation, name: str, folder: Path) -> Path:
    """Write the masks into a folder in a format of FILES; returns the file.

    Several objects are numbered in the order of their names, 0 being none.
    """
    path, labels = folder / FILES[name], result.labels
    if name == "zarr" and len(labels.objects) > 1:
        zarr_images.write_zarr(labels.values, labels.source, path, labels.objects)
    elif name in GRIDS:
        factor = GRIDS[name].mask_value if len(labels.objects) == 1 else 1
        GRIDS[name].write(labels.values * np.uint8(factor), labels.source, path)
    elif name == "png" and len(labels.objects) > 1:
        write_labels(labels, path)
    elif name == "png":
        write_masks(labels.values.view(bool), labels.names, path)
    else:
        {"dicom-seg": write_dicom_seg, "coco": write_coco}[name](labels, path)
    return path


def write_probabilities(segmentation: Segmentation, name: str, folder: Path, stem: str = PROBABILITIES) -> Path:
    """Write the probabilities as 32-bit floats in the grid of the input; formats for masks alone are refused."""
    check_holds_probabilities(name)
    path = folder / (stem + GRIDS[name].suffix)
    GRIDS[name].write(segmentation.probabilities.values.astype(np.float32, copy=False), segmentation.source, path)
    return path


def check_holds_probabilities(name: str) -> None:
    """Raise InputError for a format that holds masks alone."""
    if name not in GRIDS:
        raise InputError(f"probabilities can be written as {', '.join(GRIDS)}, got {name}; choose one with --format")


@dataclass(frozen=True)
class Outputs:
    """What a result is written as.

    formats: names of FILES, or "auto" for the input's own. probabilities: also in the same grid; of several objects a
    file each, with its number in the name.
    film: also every frame with the outline of its mask; report: the page about a run. A higher layer draws both.
    """

    formats: tuple[str, ...] = (AUTO,)
    probabilities: bool = False
    film: bool = False
    report: bool = True

    @classmethod
    def of(cls, names: list[str], *, probabilities: bool = False) -> "Outputs":
        """From what a user names, the film among them; probabilities without a format go into the input's own."""
        formats = tuple(dict.fromkeys(name for name in names if name != FILM))
        if not formats and (probabilities or FILM not in names):
            formats = (AUTO,)
        return cls(formats, probabilities, FILM in names)

    def resolve(self, source: Source | None) -> tuple[str, ...]:
        """The formats by name, "auto" as the input's own."""
        names = [choose_format(source) if name == AUTO else name for name in self.formats]
        return tuple(dict.fromkeys(names))

    def check(self, source: Source | None) -> None:
        """Raise InputError for what could not be written, before there is anything to write."""
        names = self.resolve(source)
        if "dicom-seg" in names:
            check_dicom_seg(source)
        if "zarr" in names:
            need("zarr", zarr_images.EXTRA)
        if self.film:
            need("av", video.EXTRA)
        if self.probabilities and not any(name in GRIDS for name in names):
            check_holds_probabilities(names[0])

    def write(self, result: AnySegmentation, folder: Path) -> tuple[Path, ...]:
        """Write all but the film into a folder; returns the files."""
        names = self.resolve(result.source)
        written = [write_in_format(result, name, folder) for name in names]
        if self.probabilities:
            parts = _name_probabilities(result).items()
            written += [
                write_probabilities(part, name, folder, stem) for name in names if name in GRIDS for stem, part in parts
            ]
        return tuple(written)


def _name_probabilities(result: AnySegmentation) -> dict[str, Segmentation]:
    """Results by the stem of the file that holds their probabilities."""
    if isinstance(result, Segmentation):
        return {PROBABILITIES: result}
    return {f"{PROBABILITIES}-{number}": part for number, part in enumerate(result.parts, start=1)}
