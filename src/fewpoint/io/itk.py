"""NRRD, MHA and MHD: read by SimpleITK, in its own units of place (LPS) turned to ours (RAS)."""

import re
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from fewpoint.core.geometry import Geometry
from fewpoint.core.source import Source
from fewpoint.errors import InputError, OutputError
from fewpoint.io.apart.calls import DETACHED
from fewpoint.io.atomic import write_file_atomically
from fewpoint.io.decoding import explaining_read_errors, naming, quiet
from fewpoint.io.sizes import check_declared_size
from fewpoint.io.volumes import Volume, place_or_assume

if TYPE_CHECKING:
    from SimpleITK import Image, ImageFileReader

META, META_SUFFIXES = "mha", (".mha", ".mhd")
NRRD, NRRD_SUFFIXES = "nrrd", (".nrrd", ".nhdr")
DATA_FIELD = re.compile(r"\s*(?:ElementDataFile\s*[=:]|data ?file:)(.*)", re.IGNORECASE)
LARGEST_HEADER = 2**24
TO_RAS = np.array([-1.0, -1.0, 1.0])
LARGEST_ITEM_BYTES = 8


def read_meta(path: Path) -> Volume:
    """Read an .mha or .mhd volume."""
    voxels, geometry = _read(path)
    return Volume(voxels, geometry, META)


def read_nrrd(path: Path) -> Volume:
    """Read an .nrrd or .nhdr volume; its header is kept for writing its place again, digit by digit."""
    voxels, geometry = _read(path)
    with explaining_read_errors(path):
        header = path.read_bytes().partition(b"\n\n")[0]
    return Volume(voxels, geometry, NRRD, header)


def write_meta(values: np.ndarray, source: Source | None, path: Path) -> None:
    """Write (T, H, W) uint8 or float32 in the source's own grid: spacing, origin and direction as they came."""
    import SimpleITK

    geometry = place_or_assume(source, values)
    image = SimpleITK.GetImageFromArray(geometry.to_stored(values).transpose(2, 1, 0))
    image.SetSpacing(geometry.spacing_mm)
    image.SetOrigin((TO_RAS * geometry.origin_mm).tolist())
    image.SetDirection((TO_RAS[:, np.newaxis] * geometry.direction).ravel().tolist())

    def write(temporary: Path) -> None:
        try:
            with quiet():
                SimpleITK.WriteImage(image, str(temporary), useCompression=True)
        except RuntimeError as error:
            raise OutputError(f"cannot write {path}: ITK could not; free some space and run again") from error

    write_file_atomically(path, write)


def _read(path: Path) -> tuple[np.ndarray, Geometry]:
    import SimpleITK

    with explaining_read_errors(path), quiet():
        if path.suffix.lower() in DETACHED:
            _refuse_data_elsewhere(path)
        reader = SimpleITK.ImageFileReader()
        reader.SetFileName(str(path))
        try:
            reader.ReadImageInformation()
            _check_size(path, reader)
            image = reader.Execute()
        except RuntimeError as error:  # its own text is a trace of C++ sources
            where = "its data must lie next to it, or " if path.suffix.lower() in DETACHED else ""
            raise InputError(
                f"cannot read {path}: {where}it may be truncated or damaged, export or copy it again"
            ) from error
        voxels, over_time = _order_axes(image, path)
        with naming(path):
            return voxels, _place(image, voxels.shape[:3], over_time)


def _refuse_data_elsewhere(path: Path) -> None:
    """InputError unless the voxels of a header lie in regular files of its own folder, links resolved."""
    folder = path.parent.resolve()
    for name in _list_data(path):
        place = (path.parent / name).resolve()
        if place.parent != folder or (place.exists() and not place.is_file()):
            raise InputError(
                f"cannot read {path}: its data must lie next to it, in a regular file of its own folder, "
                f"{name[:80]} does not; copy it there"
            )


def _list_data(path: Path) -> list[str]:
    """The files that a header names for its voxels; all links beside it if it gives a pattern of names."""
    with open(path, "rb") as stream:
        lines = stream.read(LARGEST_HEADER).decode("utf-8", "replace").splitlines()
    for number, line in enumerate(lines):
        field = DATA_FIELD.match(line)
        if field is None:
            continue
        name = field[1].strip()
        if name.upper().startswith("LIST"):
            return [each.strip() for each in lines[number + 1 :] if each.strip()]
        return [entry.name for entry in path.parent.iterdir() if entry.is_symlink()] if "%" in name else [name]
    return []


def _check_size(path: Path, reader: "ImageFileReader") -> None:
    shape = (*reader.GetSize(), reader.GetNumberOfComponents())
    stored = path.stat().st_size
    if path.suffix.lower() in DETACHED:
        stored = sum(entry.stat().st_size for entry in path.parent.iterdir() if entry.is_file())
    check_declared_size(path, shape, LARGEST_ITEM_BYTES, stored)


def _order_axes(image: "Image", path: Path) -> tuple[np.ndarray, bool]:
    """(I, J, K, C), and whether K is time."""
    import SimpleITK

    array = SimpleITK.GetArrayFromImage(image)
    if image.GetNumberOfComponentsPerPixel() == 1:
        array = array[..., np.newaxis]
    sides = [*image.GetSize(), 1, 1][:4]
    if image.GetDimension() > 4 or min(sides[2:]) > 1:
        raise InputError(f"{path} must hold one volume or one video, got size {image.GetSize()}; save one per file")
    columns, rows, slices, times = sides
    frames = array.reshape(slices * times, rows, columns, array.shape[-1])
    return frames.transpose(2, 1, 0, 3), times > 1


def _place(image: "Image", shape: tuple[int, int, int], over_time: bool) -> Geometry:
    """Spacing, origin and direction of up to three dimensions; a picture lies in the plane z = 0."""
    dimension = image.GetDimension()
    n = min(dimension, 3)
    spacing, origin, direction = np.ones(3), np.zeros(3), np.eye(3)
    spacing[:n] = image.GetSpacing()[:n]
    origin[:n] = image.GetOrigin()[:n]
    direction[:n, :n] = np.reshape(image.GetDirection(), (dimension, dimension))[:n, :n]
    along_i, along_j, along_k = spacing.tolist()
    return Geometry(
        shape,
        (along_i, along_j, along_k),
        TO_RAS[:, np.newaxis] * direction,
        tuple((TO_RAS * origin).tolist()),
        over_time=over_time,
    )
