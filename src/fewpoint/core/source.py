"""Where a sequence came from, so that its masks can go back there."""

from dataclasses import dataclass

from fewpoint.core.geometry import Geometry


@dataclass(frozen=True)
class Reading:
    """How a file was read, so that it can be read the same way again.

    axis: one of AXIS_CHOICES. channels: those kept, all if empty. added: files whose channels were added.
    window: the values that are black and white, None if they are measured.
    """

    axis: str = "auto"
    channels: tuple[int, ...] = ()
    added: tuple[str, ...] = ()
    window: tuple[float, float] | None = None


@dataclass(frozen=True, eq=False)
class Source:
    """The file or folder that frames were read from.

    format: a name such as "nifti"; masks are written in it unless another is asked for.
    geometry: where the voxels lie; None for pictures and videos that have none.
    header: the file's own header, from which one in the same format is written; empty if there is none.
    notes: what a user should know about the input, one sentence each.
    unit: of the pixel values, such as "HU"; empty if the file does not say.
    origin: the address on a PACS that it was fetched from; empty if it was not.
    """

    path: str
    format: str
    geometry: Geometry | None = None
    header: bytes = b""
    reading: Reading = Reading()
    notes: tuple[str, ...] = ()
    unit: str = ""
    origin: str = ""
