"""The formats that a result is written in."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from fewpoint.core.job import AUTO, OutputChoice
from fewpoint.core.labels import LabelMap
from fewpoint.core.result import Result
from fewpoint.core.source import Source
from fewpoint.errors import InputError
from fewpoint.io import video, zarr_images
from fewpoint.io.coco import write_coco
from fewpoint.io.dicom_seg import check_dicom_seg, need_series, write_dicom_seg
from fewpoint.io.extras import need
from fewpoint.io.itk import write_meta
from fewpoint.io.masks import MASKS_FOLDER, check_file_names, write_labels, write_masks
from fewpoint.io.nifti import write_nifti
from fewpoint.io.nrrd import write_nrrd
from fewpoint.io.rtstruct import write_rtstruct
from fewpoint.io.tiff import write_tiff

FILM_FILE = "overlay.mp4"
PROBABILITIES = "probabilities"


@dataclass(frozen=True)
class GridFormat:
    """A format that holds any values in the grid of the input.

    mask_value: what a pixel of a single object is written as; of several each has its number.
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
    "rtstruct": "outlines.dcm",
    "coco": "masks.json",
}
# What the masks of an input are written in unless something else is asked for.
OWN = {**{name: name for name in GRIDS}, "dicom": "dicom-seg"}


def choose_format(source: Source | None) -> str:
    """The input's own format; PNG for pictures, arrays and videos, and for DICOM films."""
    if source is None:
        return "png"
    is_film = source.geometry is None or source.geometry.over_time
    return "png" if source.format == "dicom" and is_film else OWN.get(source.format, "png")


def write_in_format(result: Result, name: str, folder: Path) -> Path:
    """Write the masks into a folder in a format of FILES; returns the file.

    Several objects are numbered in the order of their names, 0 being none.
    """
    path = folder / FILES[name]
    write_label_map(result.labels, name, path)
    return path


def write_label_map(labels: LabelMap, name: str, path: Path) -> None:
    """Write a label map to a path in a format of FILES; that of one object as a mask."""
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
        {"dicom-seg": write_dicom_seg, "rtstruct": write_rtstruct, "coco": write_coco}[name](labels, path)


def write_probabilities(result: Result, name: str, folder: Path, stem: str = PROBABILITIES) -> Path:
    """Write the probabilities as 32-bit floats in the grid of the input; formats for masks alone are refused."""
    check_holds_probabilities(name)
    path = folder / (stem + GRIDS[name].suffix)
    GRIDS[name].write(result.probabilities.values.astype(np.float32, copy=False), result.source, path)
    return path


def check_holds_probabilities(name: str) -> None:
    """Raise InputError for a format that holds masks alone."""
    if name not in GRIDS:
        raise InputError(f"probabilities can be written as {', '.join(GRIDS)}, got {name}; choose one with --format")


@dataclass(frozen=True)
class Outputs(OutputChoice):
    """A choice of outputs that can be checked and written; a higher layer draws the film and the report."""

    def resolve(self, source: Source | None) -> tuple[str, ...]:
        """The formats by name, "auto" as the input's own."""
        names = [choose_format(source) if name == AUTO else name for name in self.formats]
        return tuple(dict.fromkeys(names))

    def check(self, source: Source | None, frames: tuple[str, ...] = ()) -> None:
        """Raise InputError for what could not be written, before there is anything to write.

        frames: the names of all frames, which files may be called by.
        """
        names = self.resolve(source)
        if "png" in names:
            check_file_names(frames, len(frames))
        if "dicom-seg" in names:
            check_dicom_seg(source)
        if "rtstruct" in names:
            need_series(source, "RTSTRUCT")
        if "zarr" in names:
            need("zarr", zarr_images.EXTRA)
        if self.film:
            need("av", video.EXTRA)
        if self.probabilities and not any(name in GRIDS for name in names):
            check_holds_probabilities(names[0])

    def write(self, result: Result, folder: Path) -> tuple[Path, ...]:
        """Write all but the film into a folder; returns the files."""
        names = self.resolve(result.source)
        written = [write_in_format(result, name, folder) for name in names]
        for name in names:
            objects = self.name_probabilities(result, name).items()
            written += [write_probabilities(each, name, folder, stem) for stem, each in objects]
        return tuple(written)

    def name_probabilities(self, result: Result, name: str) -> dict[str, Result]:
        """The result of each object whose probabilities are written in a format, by the stem of the file."""
        if not self.probabilities or name not in GRIDS:
            return {}
        if len(result.objects) == 1:
            return {PROBABILITIES: result}
        return {f"{PROBABILITIES}-{number}": each for number, each in enumerate(result.split(), start=1)}

    def is_written(self, result: Result, name: str, folder: Path) -> bool:
        """Whether a folder holds all that would be written in a format."""
        stems = self.name_probabilities(result, name)
        files = [FILES[name], *(stem + GRIDS[name].suffix for stem in stems)]
        return all((folder / file).exists() for file in files)
