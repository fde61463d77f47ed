"""NRRD files: a short header as text, then the voxels."""

import gzip
from pathlib import Path
from typing import BinaryIO

import numpy as np

from fewpoint.core.geometry import Geometry
from fewpoint.core.source import Source
from fewpoint.io.atomic import write_atomically
from fewpoint.io.itk import NRRD, TO_RAS
from fewpoint.io.volumes import place_or_assume

PLACE_FIELDS = ("space", "space directions", "space origin", "space units", "measurement frame")
TYPES = {"uint8": "uchar", "float32": "float"}


def write_nrrd(values: np.ndarray, source: Source | None, path: Path) -> None:
    """Write (T, H, W) uint8 or float32 in the source's own grid; of an NRRD source the very digits of its place."""
    geometry = place_or_assume(source, values)
    stored = geometry.to_stored(values)
    place = _copy_place(source.header) if source is not None and source.format == NRRD else {}
    header = "\n".join(
        [
            "NRRD0005",
            f"type: {TYPES[values.dtype.name]}",
            "dimension: 3",
            f"sizes: {' '.join(map(str, stored.shape))}",
            *(f"{field}: {text}" for field, text in (place or _describe_place(geometry)).items()),
            "kinds: domain domain domain",
            "endian: little",
            "encoding: gzip",
        ]
    )

    def write(stream: BinaryIO) -> None:
        stream.write(f"{header}\n\n".encode())
        with gzip.GzipFile(fileobj=stream, mode="wb", mtime=0, filename="", compresslevel=6) as archive:
            archive.write(stored.astype(stored.dtype.newbyteorder("<"), copy=False).tobytes(order="F"))

    write_atomically(path, write)


def _copy_place(header: bytes) -> dict[str, str]:
    """The fields of place of a header over three axes in space; empty if it has others, such as channels."""
    lines = header.decode("ascii", "replace").splitlines()
    fields = dict(line.split(": ", 1) for line in lines if ": " in line and not line.startswith("#"))
    place = {field: fields[field].strip() for field in PLACE_FIELDS if field in fields}
    is_plain = fields.get("dimension", "").strip() == "3" and {"space", "space directions", "space origin"} <= set(
        place
    )
    return place if is_plain and "none" not in place["space directions"] else {}


def _describe_place(geometry: Geometry) -> dict[str, str]:
    columns = (TO_RAS[:, np.newaxis] * geometry.affine[:3, :3]).T
    return {
        "space": "left-posterior-superior",
        "space directions": " ".join(map(_write_vector, columns)),
        "space origin": _write_vector(TO_RAS * geometry.origin_mm),
    }


def _write_vector(vector: np.ndarray) -> str:
    """
    >>> _write_vector(np.array([0.1, 2, 0]))
    '(0.1,2.0,0.0)'
    """
    return "(" + ",".join(repr(number) for number in vector.tolist()) + ")"
