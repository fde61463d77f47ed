"""NIfTI: voxels in the file's own order, headers kept to the bit."""

import gzip
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO

import numpy as np

from fewpoint.core.geometry import Geometry
from fewpoint.core.source import Source
from fewpoint.errors import InputError
from fewpoint.io.atomic import write_atomically
from fewpoint.io.decoding import explaining_read_errors, naming
from fewpoint.io.sizes import check_declared_size
from fewpoint.io.volumes import Volume, place_or_assume

if TYPE_CHECKING:
    from nibabel.nifti1 import Nifti1Header, Nifti1Image

FORMAT = "nifti"
SUFFIXES = (".nii", ".nii.gz")
MOST_CHANNELS = 16
CHUNK_BYTES = 2**20
SPARE_BYTES = 2**20  # after the voxels, up to which a file is read to its end
LARGEST_NIFTI1_SIDE = 2**15 - 1


def read_nifti(path: Path) -> Volume:
    """Read a volume; a fourth axis is time if there is one slice only, else channels."""
    with explaining_read_errors(path):
        image = _open(path)
        shape = image.header.get_data_shape()
        check_declared_size(path, shape, _item_bytes(image))
        _check_stream(path, image)
        voxels, over_time = _order_axes(_load(image), path)
        with naming(path):
            geometry = _place(image, voxels.shape[:3])
    times = shape[3] if len(shape) > 3 and not over_time else 1
    notes = (f"its {times} time points are taken as channels of one volume",) if times > 1 else ()
    return Volume(voxels, replace(geometry, over_time=over_time), FORMAT, image.header.binaryblock, notes=notes)


def write_nifti(values: np.ndarray, source: Source | None, path: Path) -> None:
    """Write (T, H, W) uint8 or float32 in the source's own grid: affine, qform, sform, units and shape as they came.

    Without a geometry voxels are 1 mm apart. A .nii.gz has the same bytes whenever it is written.
    """
    geometry = place_or_assume(source, values)
    header = _copy_header(source.header) if source is not None and source.format == FORMAT else _make_header(geometry)
    stored, shape = geometry.to_stored(values), header.get_data_shape()
    if stored.size == np.prod(shape):  # it differs if channels were read
        stored = stored.reshape(shape)
    image = _assemble(stored, header)
    write_atomically(path, lambda stream: _write_stream(image, stream, packed=path.name.endswith(".gz")))


def _open(path: Path) -> "Nifti1Image":
    import nibabel
    from nibabel.imageglobals import logger
    from nibabel.nifti1 import Nifti1Image

    kept, logger.disabled = logger.disabled, True  # nibabel prints what it finds odd besides our one line
    try:
        image = nibabel.load(path)
    finally:
        logger.disabled = kept
    if not isinstance(image, Nifti1Image):
        raise InputError(f"{path} must hold voxels, it is a {type(image).__name__}; give a NIfTI volume")
    return image


def _item_bytes(image: "Nifti1Image") -> int:
    """Of a voxel once it is read: one that the header scales becomes a float of eight bytes."""
    is_scaled = image.header.get_slope_inter() not in ((None, None), (1.0, 0.0))
    return max(8 if is_scaled else 1, image.header.get_data_dtype().itemsize)


def _check_stream(path: Path, image: "Nifti1Image") -> None:
    """Read a .gz to its end, which checks its sum; nibabel stops where the voxels do."""
    from nibabel.arrayproxy import ArrayProxy

    if not path.name.lower().endswith(".gz"):
        return
    start = image.dataobj.offset if isinstance(image.dataobj, ArrayProxy) else 0
    left = start + int(np.prod(image.shape)) * image.header.get_data_dtype().itemsize + SPARE_BYTES
    with gzip.open(path, "rb") as stream:
        while left > 0 and (chunk := stream.read(CHUNK_BYTES)):
            left -= len(chunk)


def _place(image: "Nifti1Image", shape: tuple[int, int, int]) -> Geometry:
    if image.affine is None:
        raise InputError("the header must say where the voxels lie; correct it")
    return Geometry.from_affine(image.affine, shape)


def _load(image: "Nifti1Image") -> np.ndarray:
    """Voxels in their stored type, or as floats if the header scales them; colour as a last axis."""
    voxels = np.asanyarray(image.dataobj)
    if voxels.dtype.names:
        voxels = np.stack([voxels[name] for name in voxels.dtype.names if name != "A"], axis=-1)
        return voxels if voxels.ndim != 4 else voxels[:, :, :, np.newaxis]
    return voxels


def _order_axes(voxels: np.ndarray, path: Path) -> tuple[np.ndarray, bool]:
    """(I, J, K, C), and whether K is time. Stored are up to i, j, k, t, channel."""
    sides = [*voxels.shape, *[1] * (5 - voxels.ndim)]
    if len(sides) > 5 or (sides[3] > 1 and sides[4] > 1):
        raise InputError(f"{path} must hold one volume or one video, got shape {voxels.shape}; save one per file")
    columns, rows, slices, times, channels = sides
    if slices == 1 and times > 1:
        return voxels.reshape(columns, rows, times, channels), True
    if times * channels > MOST_CHANNELS:
        raise InputError(
            f"{path} must hold one volume with at most {MOST_CHANNELS} channels, got shape {voxels.shape}; "
            "save one volume per file"
        )
    return voxels.reshape(columns, rows, slices, times * channels), False


def _copy_header(block: bytes) -> "Nifti1Header":
    from nibabel import Nifti1Header, Nifti2Header

    kind = Nifti1Header if len(block) == Nifti1Header.sizeof_hdr else Nifti2Header
    return kind(block)


def _make_header(geometry: Geometry) -> "Nifti1Header":
    from nibabel import Nifti1Header, Nifti2Header

    header = (Nifti1Header if max(geometry.shape) <= LARGEST_NIFTI1_SIDE else Nifti2Header)()
    header.set_data_shape(geometry.shape)
    header.set_xyzt_units("mm")
    header.set_qform(geometry.affine, code="scanner")
    header.set_sform(geometry.affine, code="scanner")
    return header


def _assemble(stored: np.ndarray, header: "Nifti1Header") -> "Nifti1Image":
    from nibabel import Nifti1Image, Nifti2Image

    header.set_data_dtype(stored.dtype)
    header.set_data_shape(stored.shape)
    header.set_slope_inter(1, 0)
    header["cal_min"], header["cal_max"] = 0, 1
    header.set_intent("none")
    kind = Nifti2Image if isinstance(header, Nifti2Image.header_class) else Nifti1Image
    return kind(stored, None, header)  # without an affine, the header's own forms and codes stay as they are


def _write_stream(image: "Nifti1Image", stream: BinaryIO, *, packed: bool) -> None:
    if not packed:
        stream.write(image.to_bytes())
        return
    with gzip.GzipFile(fileobj=stream, mode="wb", mtime=0, filename="", compresslevel=6) as archive:
        archive.write(image.to_bytes())
