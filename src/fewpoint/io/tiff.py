"""TIFF and OME-TIFF: all pages of one size, with the spacing that microscopes write down."""

import logging
import xml.etree.ElementTree as ElementTree
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO

import numpy as np

from fewpoint.core.geometry import Geometry
from fewpoint.core.source import Source
from fewpoint.errors import InputError
from fewpoint.io.atomic import write_atomically
from fewpoint.io.decoding import explaining_read_errors
from fewpoint.io.sizes import check_declared_size
from fewpoint.io.volumes import Volume, order_axes

if TYPE_CHECKING:
    from tifffile import TiffFile

# tifffile logs what it stumbles over; without a handler Python prints that besides our one-line error.
logging.getLogger("tifffile").addHandler(logging.NullHandler())

FORMAT = "tiff"
SUFFIXES = (".tif", ".tiff")
DENSEST = 50_000  # zstd and the like pack blank pages far denser than deflate does
MILLIMETRES = {"nm": 1e-6, "µm": 1e-3, "micron": 1e-3, "um": 1e-3, "mm": 1.0, "cm": 10.0, "m": 1000.0}


def read_tiff(path: Path) -> Volume:
    """Read a stack of pages; an OME-TIFF may say how far its voxels lie apart."""
    frames = decode_tiff(path)
    with explaining_read_errors(path):
        geometry = _find_place(path, frames.shape)
    return Volume(frames.transpose(2, 1, 0, 3), geometry, FORMAT, stacked=True)


def write_tiff(values: np.ndarray, source: Source | None, path: Path) -> None:
    """Write (T, H, W) uint8 or float32 as pages in the order of the input, with its spacing if it has one."""
    import tifffile

    geometry = None if source is None else source.geometry
    pages = values if geometry is None else geometry.to_stored(values).transpose(2, 1, 0)
    metadata = {"axes": "TYX" if geometry is None or geometry.over_time else "ZYX"}
    if geometry is not None:
        for name, length in zip("XYZ", geometry.spacing_mm, strict=True):
            if name != "Z" or not geometry.over_time:
                metadata |= {f"PhysicalSize{name}": length, f"PhysicalSize{name}Unit": "mm"}

    def write(stream: BinaryIO) -> None:
        options = {"photometric": "minisblack", "compression": "zlib", "ome": True, "metadata": metadata}
        tifffile.imwrite(stream, np.ascontiguousarray(pages), **options)

    write_atomically(path, write)


def decode_tiff(path: Path) -> np.ndarray:
    """Read all pages of a TIFF as (T, H, W, C), without an alpha channel; pages of unlike shape are an error."""
    import tifffile

    with explaining_read_errors(path), tifffile.TiffFile(path) as tiff:
        _check_complete(tiff)
        _check_pages_alike(tiff, path)
        series = tiff.series[0]
        check_declared_size(path, series.shape, series.dtype.itemsize, densest=DENSEST)
        frames = order_axes(series.asarray(), series.axes, path)
        return _to_colour_samples(frames, tiff)


def _find_place(path: Path, shape: tuple[int, ...]) -> Geometry | None:
    """Spacing of an OME-TIFF in millimetres; None if it gives none, or not with a unit of length."""
    import tifffile

    with tifffile.TiffFile(path) as tiff:
        description = tiff.ome_metadata
    if not description:
        return None
    pixels = next((node for node in ElementTree.fromstring(description).iter() if node.tag.endswith("}Pixels")), None)
    if pixels is None:
        return None
    across, down, deep = (_find_spacing(pixels.attrib, axis) for axis in "XYZ")
    if across is None or down is None:
        return None
    over_time = deep is None or int(pixels.attrib.get("SizeZ", 1)) == 1
    distances = (across, down, 1.0 if deep is None or over_time else deep)
    frames, height, width = shape[:3]
    return Geometry((width, height, frames), distances, np.eye(3), (0.0, 0.0, 0.0), over_time=over_time)


def _find_spacing(attributes: dict[str, str], axis: str) -> float | None:
    """OME counts in micrometres if it names no unit."""
    unit = MILLIMETRES.get(attributes.get(f"PhysicalSize{axis}Unit", "µm"))
    length = float(attributes.get(f"PhysicalSize{axis}", 0))
    return length * unit if unit and 0 < length < np.inf else None


def _check_complete(tiff: "TiffFile") -> None:
    """Where pages or strips lie past the end of the file, tifffile leaves them out or fills in zeros."""
    handle, offset = tiff.filehandle, tiff.pages.next_page_offset
    if offset is None:
        raise ValueError("the file does not say where its pages end")
    handle.seek(offset)
    if handle.read(tiff.tiff.offsetsize) != bytes(tiff.tiff.offsetsize):
        raise ValueError(f"the file ends after page {len(tiff.pages)} although more follow")
    for index, page in enumerate(tiff.pages):
        ends = [start + length for start, length in zip(page.dataoffsets, page.databytecounts, strict=True)]
        if not ends or max(ends) > handle.size:
            raise ValueError(f"the file ends before the pixels of page {index}")


def _check_pages_alike(tiff: "TiffFile", path: Path) -> None:
    """tifffile puts pages that differ in shape or type into several series."""
    if len(tiff.series) == 1:
        return
    first = tiff.pages[0]
    for index, page in enumerate(tiff.pages):
        if (page.shape, page.dtype) != (first.shape, first.dtype):
            raise InputError(
                f"all pages of {path} must have one size and pixel type, page 0 is {first.dtype} {first.shape} and "
                f"page {index} is {page.dtype} {page.shape}; save them as separate stacks"
            )
    raise InputError(f"{path} must hold one stack, it holds {len(tiff.series)} images; save each to its own file")


def _to_colour_samples(frames: np.ndarray, tiff: "TiffFile") -> np.ndarray:
    """Drop the alpha sample, look up a palette.

    MINISWHITE is left as stored: tifffile itself writes boolean masks so, without turning them over.
    """
    page = tiff.pages.first
    if page.colormap is not None and frames.shape[-1] == 1:
        palette = (page.colormap.T >> 8).astype(np.uint8)
        return palette[frames[..., 0]]
    has_alpha = bool(page.extrasamples) and page.extrasamples[-1] in (1, 2)
    return frames[..., :-1] if has_alpha and frames.shape[-1] == page.samplesperpixel else frames
