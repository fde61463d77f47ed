"""Where a sequence came from, so that its masks can go back there."""

from dataclasses import dataclass

from fewpoint.core.geometry import Geometry


@dataclass(frozen=True, eq=False)
class Source:
    """The file or folder that frames were read from.

    format: a name such as "nifti"; masks are written in it unless another is asked for.
    geometry: place of the voxels; None for pictures and videos that have none.
    header: the file's own header, from which one in the same format is written; empty where there is none.
    """

    path: str
    format: str
    geometry: Geometry | None = None
    header: bytes = b""
